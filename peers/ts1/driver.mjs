// The TypeScript SDK of the first generation (`@modelcontextprotocol/sdk`) behind the few verbs of ../lib/steps.mjs.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LoggingMessageNotificationSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { drive } from '../lib/steps.mjs';

// The SDK does not hand the negotiated revision out; a transport is told of it for its HTTP header, stdio as well.
function transport(job, told) {
  const made = job.url
    ? new StreamableHTTPClientTransport(new URL(job.url))
    : new StdioClientTransport({ command: job.command[0], args: job.command.slice(1) });
  const tell = made.setProtocolVersion?.bind(made);
  made.setProtocolVersion = revision => {
    told.revision = revision;
    tell?.(revision);
  };
  return made;
}

drive(job => {
  const client = new Client({ name: 'peer-ts1', version: '1.0.0' });
  const lists = {
    tools: p => client.listTools(p),
    resources: p => client.listResources(p),
    resourceTemplates: p => client.listResourceTemplates(p),
    prompts: p => client.listPrompts(p),
  };
  const peer = {
    async connect() {
      const told = {};
      const channel = transport(job, told);
      await client.connect(channel);
      client.setNotificationHandler(LoggingMessageNotificationSchema, n => peer.onlog?.(n.params));
      client.onerror = error => peer.onlate?.(error);
      peer.channel = channel;
      return { revision: told.revision, server: client.getServerVersion(), capabilities: client.getServerCapabilities() };
    },
    async list(what, cursor) {
      const page = await lists[what](cursor === undefined ? undefined : { cursor });
      return { items: page[what], nextCursor: page.nextCursor };
    },
    async call(params, { onprogress, signal, logs }) {
      if (logs) await client.setLoggingLevel('debug');
      return client.callTool(params, undefined, { onprogress, signal });
    },
    read: uri => client.readResource({ uri }),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: params => client.complete(params),
    level: level => client.setLoggingLevel(level),
    ping: () => client.ping(),
    async close() {
      // A session lives until it is deleted; the SDK leaves saying so to its user.
      if (job.url) await peer.channel.terminateSession();
      await client.close();
    },
    code: error => (error instanceof McpError ? error.code : undefined),
  };
  return peer;
});
