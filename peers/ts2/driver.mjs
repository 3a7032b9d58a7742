// The TypeScript SDK of the second generation (`@modelcontextprotocol/client`), in either era, behind the few verbs of
// ../lib/steps.mjs.
import { Client, ProtocolError, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { CAPABILITIES, hear, verbs } from '../lib/sdk.mjs';
import { drive } from '../lib/steps.mjs';

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const HEARD = {
  notifications: ['notifications/message', 'notifications/resources/updated', 'notifications/tools/list_changed'],
  questions: ['elicitation/create', 'sampling/createMessage', 'roots/list'],
};

function channel({ transport, url, command }) {
  if (transport === 'stdio') return new StdioClientTransport({ command: command[0], args: command.slice(1) });
  if (transport === 'sse') return new SSEClientTransport(new URL(url));
  return new StreamableHTTPClientTransport(new URL(url));
}

// In the modern era both are one request that stays open.
function modernVerbs(client) {
  const listen = async filter => {
    const subscription = await client.listen(filter);
    return () => subscription.close();
  };
  return {
    subscribe: uri => listen({ resourceSubscriptions: [uri] }),
    watch: what => listen({ [`${what}ListChanged`]: true }),
  };
}

// The SDK reports its own rounds of questions as progress, too.
const byServer = onprogress => onprogress && (p => p.message?.startsWith('Fulfilling input required') || onprogress(p));

drive(job => {
  const modern = job.era === 'modern';
  const client = new Client(
    { name: 'peer-ts2', version: '1.0.0' },
    // In the modern column the client finds the era out by itself, as an application would let it.
    { versionNegotiation: { mode: modern ? 'auto' : 'legacy' }, capabilities: CAPABILITIES },
  );
  const peer = {
    ...verbs(client),
    ...(modern && modernVerbs(client)),
    async connect() {
      peer.channel = channel(job);
      hear(client, peer, HEARD);
      await client.connect(peer.channel);
      return {
        revision: client.getNegotiatedProtocolVersion(),
        server: client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
      };
    },
    async call(params, { onprogress, signal, logs }) {
      if (logs && !modern) await client.setLoggingLevel('debug');
      const meta = logs && modern ? { _meta: { [LOG_LEVEL]: 'debug' } } : {};
      return client.callTool({ ...params, ...meta }, { onprogress: byServer(onprogress), signal });
    },
    async close() {
      if (!modern) await peer.channel.terminateSession?.();
      await client.close();
    },
    code: error => (error instanceof ProtocolError ? error.code : undefined),
  };
  return peer;
});
