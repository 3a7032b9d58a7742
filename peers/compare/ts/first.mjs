// The TypeScript SDK of the first generation, set up as its documentation shows it: stdio, or HTTP when an address is given.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const said = text => ({ content: [{ type: 'text', text }] });

const compared = () => {
  const server = new McpServer({ name: 'compared', version: '1' });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, async ({ text }) => said(text));
  server.registerTool('pick', { inputSchema: { count: z.number().int().min(1).max(3) } }, async ({ count }) =>
    said(String(count)),
  );
  server.registerTool('boom', {}, async () => {
    throw new Error('boom');
  });
  server.registerTool('ask', {}, async () => {
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const answer = await server.server.elicitInput({ message: 'Your name?', requestedSchema });
    return said(answer.action === 'accept' ? `hello ${answer.content.name}` : 'hello');
  });
  return server;
};

const address = process.argv[2];
if (address) {
  const sessions = new Map();
  const [host, port] = address.split(':');
  createServer(async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => sessions.set(id, transport),
        onsessionclosed: id => sessions.delete(id),
      });
      await compared().connect(transport);
    }
    await transport.handleRequest(request, response);
  }).listen(Number(port), host);
} else {
  await compared().connect(new StdioServerTransport());
}
