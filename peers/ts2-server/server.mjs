// A server with the TypeScript SDK of the second generation: `server.mjs stdio`, or `server.mjs http PORT`. Over HTTP it serves the
// legacy era with sessions and the modern one beside it, as the SDK's guide for that says.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { McpServer, ResourceTemplate, completable, createMcpHandler, inputRequired, inputResponse, isLegacyRequest } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { FORM, LOGO, failing, media, said, wait } from '../lib/content.mjs';
import { inSession } from '../lib/sessions.mjs';

let cancelled = 0;
// Over HTTP each modern request has an instance of its own; who listens hears of changes from the handler.
let notify;
let isOpen = false;

function demo() {
  const mcp = new McpServer(
    { name: 'served-ts2', version: '1.0.0' },
    { capabilities: { logging: {}, tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } }, instructions: 'Ask away.' },
  );
  const tool = (name, config, run) => mcp.registerTool(name, config, run);
  // One way for both eras: the SDK asks a legacy client by requests of its own.
  const asking = (name, config, question, then) =>
    tool(name, config, async (...given) => {
      const ctx = given.at(-1);
      const answer = inputResponse(ctx.mcpReq.inputResponses, 'it');
      return answer.kind === 'missing' ? inputRequired({ inputRequests: { it: question(given[0]) } }) : then(answer);
    });
  const input = z.object({ text: z.string(), times: z.number().int().min(1).default(1), tags: z.array(z.string()).optional(), nested: z.object({ deep: z.boolean() }).optional() });
  tool('echo', { inputSchema: input }, async given => said(given.text.repeat(given.times), JSON.stringify(given)));
  const outputSchema = z.object({ sum: z.number() });
  tool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema }, async ({ a, b }) => ({
    ...said(String(a + b)),
    structuredContent: { sum: a + b },
  }));
  tool('fail', { inputSchema: z.object({ message: z.string() }) }, async ({ message }) => failing(message));
  tool('media', {}, async () => media());
  tool('count', { inputSchema: z.object({ to: z.number().int() }) }, async ({ to }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= to; progress++) {
      const params = { progressToken, progress, total: to, message: `at ${progress}` };
      if (progressToken !== undefined) await ctx.mcpReq.notify({ method: 'notifications/progress', params });
      await ctx.mcpReq.log('info', `at ${progress}`, 'count');
      await wait(0.05);
    }
    return said(`counted to ${to}`);
  });
  asking('order', {}, () => inputRequired.elicit(FORM), ({ action, content }) =>
    action === 'accept' ? said(`${content.cups} x ${content.drink}`) : failing(`the user said ${action}`),
  );
  asking('visit', {}, () => inputRequired.elicitUrl({ message: 'Go there?', url: 'https://example.com/' }), ({ action }) => said(action));
  const haiku = ({ about }) => {
    const content = { type: 'text', text: `Write a haiku about ${about}.` };
    return inputRequired.createMessage({ messages: [{ role: 'user', content }], maxTokens: 100 });
  };
  asking('haiku', { inputSchema: z.object({ about: z.string() }) }, haiku, ({ result }) => said(result.content.text));
  asking('folders', {}, () => inputRequired.listRoots(), ({ roots }) => said(roots.map(root => root.uri).join('\n')));
  tool('wait', { inputSchema: z.object({ seconds: z.number() }) }, async ({ seconds }, ctx) => {
    ctx.mcpReq.signal.addEventListener('abort', () => cancelled++);
    await wait(seconds);
    return said('waited');
  });
  tool('cancelled', {}, async () => said(String(cancelled)));
  const treasure = tool('treasure', {}, async () => said('gold'));
  if (!isOpen) treasure.disable();
  tool('door', { inputSchema: z.object({ open: z.boolean() }) }, async ({ open }, ctx) => {
    isOpen = open;
    treasure.update({ enabled: open });
    if (ctx.mcpReq.envelope) notify?.toolsChanged();
    return said(open ? 'open' : 'shut');
  });
  tool('die', {}, async () => {
    process.stderr.write('it dies now\n');
    setTimeout(() => process.exit(3), 20);
    await wait(5);
    return said('alive');
  });

  const subscribed = new Set();
  mcp.server.setRequestHandler('resources/subscribe', ({ params }) => (subscribed.add(params.uri), {}));
  mcp.server.setRequestHandler('resources/unsubscribe', ({ params }) => (subscribed.delete(params.uri), {}));
  tool('tick', {}, async ctx => {
    const uri = 'demo://counter';
    if (ctx.mcpReq.envelope && notify) notify.resourceUpdated(uri);
    else if (ctx.mcpReq.envelope || subscribed.has(uri)) await mcp.server.sendResourceUpdated({ uri });
    return said('ticked');
  });
  const text = body => async uri => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: body }] });
  mcp.registerResource('greeting', 'demo://greeting', { mimeType: 'text/plain', title: 'A greeting' }, text('Hello!'));
  mcp.registerResource('counter', 'demo://counter', {}, text('0'));
  mcp.registerResource('logo', 'demo://logo', { mimeType: 'image/png' }, async uri => ({
    contents: [{ uri: uri.href, mimeType: 'image/png', blob: LOGO }],
  }));
  const names = value => ['Ada', 'Alan', 'Grace'].filter(name => name.startsWith(value));
  const template = new ResourceTemplate('demo://greeting/{name}', { list: undefined, complete: { name: names } });
  mcp.registerResource('greeting to', template, {}, async (uri, { name }) => ({
    contents: [{ uri: uri.href, text: `Hello, ${decodeURIComponent(name)}!` }],
  }));
  const language = completable(z.string(), value => ['rust', 'ruby', 'go'].filter(name => name.startsWith(value)));
  mcp.registerPrompt('review', { argsSchema: z.object({ code: z.string(), language }) }, ({ code, language }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Review this ${language}: ${code}` } }],
  }));
  return mcp;
}

const legacy = (request, response, body) => inSession(NodeStreamableHTTPServerTransport, demo, request, response, body);

const [way, port] = process.argv.slice(2);
if (way === 'stdio') {
  serveStdio(demo);
} else {
  const handler = createMcpHandler(demo, { legacy: 'reject' });
  const modern = toNodeHandler(handler);
  notify = handler.notify;
  createServer(async (request, response) => {
    const body = request.method === 'POST' ? await json(request) : undefined;
    const isLegacy = await isLegacyRequest(await toWebRequest(request, body));
    await (isLegacy ? legacy : modern)(request, response, body);
  }).listen(Number(port), '127.0.0.1');
}
