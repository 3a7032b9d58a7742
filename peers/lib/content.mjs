// What the Node servers have to give, whichever SDK they are written with.
import { setTimeout as sleep } from 'node:timers/promises';

export const LOGO =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const SOUND = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

export const FORM = {
  message: 'What may it be?',
  requestedSchema: {
    type: 'object',
    properties: {
      drink: { type: 'string', enum: ['coffee', 'tea'] },
      cups: { type: 'integer', minimum: 1, maximum: 12 },
    },
    required: ['drink', 'cups'],
  },
};

export const wait = seconds => sleep(seconds * 1000);
export const said = (...texts) => ({ content: texts.map(text => ({ type: 'text', text })) });
export const failing = message => ({ ...said(message), isError: true });
export const media = () => ({
  content: [
    { type: 'image', mimeType: 'image/png', data: LOGO },
    { type: 'audio', mimeType: 'audio/wav', data: SOUND },
    { type: 'resource_link', uri: 'demo://greeting', name: 'greeting' },
    { type: 'resource', resource: { uri: 'demo://greeting', mimeType: 'text/plain', text: 'Hello!' } },
  ],
});
