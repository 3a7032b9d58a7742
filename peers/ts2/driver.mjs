// The TypeScript SDK of the second generation (`@modelcontextprotocol/client`), in either era, behind the few verbs of
// ../lib/steps.mjs.
import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { drive } from '../lib/steps.mjs';

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

drive(job => {
  const modern = job.era === 'modern';
  const client = new Client(
    { name: 'peer-ts2', version: '1.0.0' },
    // In the modern column the client finds the era out by itself, as an application would let it.
    { versionNegotiation: { mode: modern ? 'auto' : 'legacy' } },
  );
  const lists = {
    tools: p => client.listTools(p),
    resources: p => client.listResources(p),
    resourceTemplates: p => client.listResourceTemplates(p),
    prompts: p => client.listPrompts(p),
  };
  const peer = {
    async connect() {
      peer.channel = job.url
        ? new StreamableHTTPClientTransport(new URL(job.url))
        : new StdioClientTransport({ command: job.command[0], args: job.command.slice(1) });
      await client.connect(peer.channel);
      client.setNotificationHandler('notifications/message', n => peer.onlog?.(n.params));
      client.onerror = error => peer.onlate?.(error);
      return {
        revision: client.getNegotiatedProtocolVersion(),
        server: client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
      };
    },
    async list(what, cursor) {
      const page = await lists[what](cursor === undefined ? undefined : { cursor });
      return { items: page[what], nextCursor: page.nextCursor };
    },
    async call(params, { onprogress, signal, logs }) {
      if (logs && !modern) await client.setLoggingLevel('debug');
      const meta = logs && modern ? { _meta: { [LOG_LEVEL]: 'debug' } } : {};
      return client.callTool({ ...params, ...meta }, { onprogress, signal });
    },
    read: uri => client.readResource({ uri }),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: params => client.complete(params),
    level: level => client.setLoggingLevel(level),
    ping: () => client.ping(),
    async close() {
      if (job.url && !modern) await peer.channel.terminateSession();
      await client.close();
    },
    code: error => (error instanceof ProtocolError ? error.code : undefined),
  };
  return peer;
});
