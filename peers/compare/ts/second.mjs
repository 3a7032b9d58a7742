// The TypeScript SDK of the second generation, set up as its documentation shows it: stdio, or HTTP when an address is given.
import { createServer } from 'node:http';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const said = text => ({ content: [{ type: 'text', text }] });
const Name = z.object({ name: z.string() });

const compared = () => {
  const server = new McpServer({ name: 'compared', version: '1' });
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, async ({ text }) => said(text));
  server.registerTool('pick', { inputSchema: z.object({ count: z.number().int().min(1).max(3) }) }, async ({ count }) =>
    said(String(count)),
  );
  server.registerTool('boom', {}, async () => {
    throw new Error('boom');
  });
  server.registerTool('ask', {}, async ctx => {
    const who = acceptedContent(ctx.mcpReq.inputResponses, 'who', Name);
    if (who) return said(`hello ${who.name}`);
    const question = inputRequired.elicit({ message: 'Your name?', requestedSchema: Name });
    return inputRequired({ inputRequests: { who: question } });
  });
  return server;
};

const address = process.argv[2];
if (address) {
  const handler = toNodeHandler(createMcpHandler(compared));
  // What its guide for node:http adds; `createServer(handler)` alone has neither guard.
  const guards = [localhostHostValidation(), localhostOriginValidation()];
  const [host, port] = address.split(':');
  createServer((request, response) => {
    if (process.env.GUARDS === '1' && !guards.every(guard => guard(request, response))) return;
    handler(request, response);
  }).listen(Number(port), host);
} else {
  serveStdio(compared);
}
