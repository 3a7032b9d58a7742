// A server with the TypeScript SDK of the first generation: `server.mjs stdio`, or `server.mjs http|sse PORT`.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema, SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { FORM, LOGO, SOUND, failing, media, said, wait } from '../lib/content.mjs';
import { inSession } from '../lib/sessions.mjs';

let cancelled = 0;
const TASKS = { cancel: {}, list: {}, requests: { tools: { call: {} } } };

// What goes on by itself: `run` gives its result in the end.
function later(mcp, name, taskSupport, inputSchema, run) {
  mcp.experimental.tasks.registerToolTask(name, { inputSchema, execution: { taskSupport } }, {
    async createTask(given, extra) {
      const store = extra.taskStore;
      const task = await store.createTask({ ttl: extra.taskRequestedTtl, pollInterval: 50 });
      const keep = result => store.storeTaskResult(task.taskId, 'completed', result);
      // One that was cancelled takes no result any more.
      run(given, extra, task).then(keep).catch(() => {});
      return { task };
    },
    getTask: (given, { taskId, taskStore }) => taskStore.getTask(taskId),
    getTaskResult: (given, { taskId, taskStore }) => taskStore.getTaskResult(taskId),
  });
}

function demo() {
  const mcp = new McpServer(
    { name: 'served-ts1', version: '1.0.0' },
    {
      capabilities: { logging: {}, resources: { subscribe: true }, tasks: TASKS },
      instructions: 'Ask away.',
      taskStore: new InMemoryTaskStore(),
      taskMessageQueue: new InMemoryTaskMessageQueue(),
    },
  );
  const tool = (name, config, run) => mcp.registerTool(name, config, run);
  const ask = extra => ({ relatedRequestId: extra.requestId });
  tool('echo', { inputSchema: { text: z.string(), times: z.number().int().min(1).default(1), tags: z.array(z.string()).optional(), nested: z.object({ deep: z.boolean() }).optional() } }, async given =>
    said(given.text.repeat(given.times), JSON.stringify(given)),
  );
  tool('add', { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } }, async ({ a, b }) => ({
    ...said(String(a + b)),
    structuredContent: { sum: a + b },
  }));
  tool('fail', { inputSchema: { message: z.string() } }, async ({ message }) => failing(message));
  tool('media', {}, async () => media());
  tool('count', { inputSchema: { to: z.number().int() } }, async ({ to }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let progress = 1; progress <= to; progress++) {
      const params = { progressToken, progress, total: to, message: `at ${progress}` };
      if (progressToken !== undefined) await extra.sendNotification({ method: 'notifications/progress', params });
      const log = { level: 'info', logger: 'count', data: `at ${progress}` };
      await extra.sendNotification({ method: 'notifications/message', params: log });
      await wait(0.05);
    }
    return said(`counted to ${to}`);
  });
  tool('order', {}, async extra => {
    const { action, content } = await mcp.server.elicitInput(FORM, ask(extra));
    return action === 'accept' ? said(`${content.cups} x ${content.drink}`) : failing(`the user said ${action}`);
  });
  tool('visit', {}, async extra => {
    const page = { mode: 'url', message: 'Go there?', url: 'https://example.com/', elicitationId: randomUUID() };
    return said((await mcp.server.elicitInput(page, ask(extra))).action);
  });
  tool('haiku', { inputSchema: { about: z.string() } }, async ({ about }, extra) => {
    const content = { type: 'text', text: `Write a haiku about ${about}.` };
    const asked = { messages: [{ role: 'user', content }], maxTokens: 100 };
    return said((await mcp.server.createMessage(asked, ask(extra))).content.text);
  });
  tool('folders', {}, async extra => {
    const { roots } = await mcp.server.listRoots(undefined, ask(extra));
    return said(roots.map(root => root.uri).join('\n'));
  });
  tool('wait', { inputSchema: { seconds: z.number() } }, async ({ seconds }, extra) => {
    extra.signal.addEventListener('abort', () => cancelled++);
    await wait(seconds);
    return said('waited');
  });
  tool('cancelled', {}, async () => said(String(cancelled)));
  const treasure = tool('treasure', {}, async () => said('gold'));
  treasure.disable();
  tool('door', { inputSchema: { open: z.boolean() } }, async ({ open }) => {
    treasure.update({ enabled: open });
    return said(open ? 'open' : 'shut');
  });
  tool('die', {}, async () => {
    process.stderr.write('it dies now\n');
    setTimeout(() => process.exit(3), 20);
    await wait(5);
  });

  later(mcp, 'brew', 'optional', { seconds: z.number() }, async ({ seconds }) => {
    await wait(seconds);
    return said('brewed');
  });
  later(mcp, 'order-later', 'required', {}, async (given, extra, { taskId }) => {
    await extra.taskStore.updateTaskStatus(taskId, 'input_required');
    const asked = { method: 'elicitation/create', params: { mode: 'form', ...FORM } };
    const { content } = await extra.sendRequest(asked, ElicitResultSchema, { relatedTask: { taskId } });
    return said(`${content.cups} x ${content.drink}`);
  });

  const subscribed = new Set();
  mcp.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => (subscribed.add(params.uri), {}));
  mcp.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => (subscribed.delete(params.uri), {}));
  tool('tick', {}, async () => {
    if (subscribed.has('demo://counter')) await mcp.server.sendResourceUpdated({ uri: 'demo://counter' });
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
  mcp.registerPrompt('review', { argsSchema: { code: z.string(), language } }, ({ code, language }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Review this ${language}: ${code}` } }],
  }));
  return mcp;
}

const sessions = new Map();

const streamable = (request, response) => inSession(StreamableHTTPServerTransport, demo, request, response);

async function pair(request, response) {
  if (request.method === 'GET') {
    const transport = new SSEServerTransport('/message', response);
    sessions.set(transport.sessionId, transport);
    response.on('close', () => sessions.delete(transport.sessionId));
    return demo().connect(transport);
  }
  const session = sessions.get(new URL(request.url, 'http://localhost').searchParams.get('sessionId'));
  if (session) return session.handlePostMessage(request, response);
  response.writeHead(404).end();
}

const [way, port] = process.argv.slice(2);
if (way === 'stdio') await demo().connect(new StdioServerTransport());
else createServer(way === 'sse' ? pair : streamable).listen(Number(port), '127.0.0.1');
