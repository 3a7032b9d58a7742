// The TypeScript SDK of the first generation (`@modelcontextprotocol/sdk`) behind the few verbs of ../lib/steps.mjs.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { CAPABILITIES, hear, verbs } from '../lib/sdk.mjs';
import { drive } from '../lib/steps.mjs';

const HEARD = {
  notifications: [
    types.LoggingMessageNotificationSchema,
    types.ResourceUpdatedNotificationSchema,
    types.ToolListChangedNotificationSchema,
  ],
  questions: [types.ElicitRequestSchema, types.CreateMessageRequestSchema, types.ListRootsRequestSchema],
};

function channel({ transport, url, command }) {
  if (transport === 'stdio') return new StdioClientTransport({ command: command[0], args: command.slice(1) });
  if (transport === 'sse') return new SSEClientTransport(new URL(url));
  return new StreamableHTTPClientTransport(new URL(url));
}

// The SDK does not hand the negotiated revision out; a transport is told of it for its HTTP header, stdio as well.
function listening(made, told) {
  const tell = made.setProtocolVersion?.bind(made);
  made.setProtocolVersion = revision => {
    told.revision = revision;
    tell?.(revision);
  };
  return made;
}

drive(job => {
  const client = new Client({ name: 'peer-ts1', version: '1.0.0' }, { capabilities: CAPABILITIES });
  const peer = {
    ...verbs(client),
    async connect() {
      const told = {};
      peer.channel = listening(channel(job), told);
      hear(client, peer, HEARD);
      await client.connect(peer.channel);
      return { revision: told.revision, server: client.getServerVersion(), capabilities: client.getServerCapabilities() };
    },
    async call(params, { onprogress, signal, logs }) {
      if (logs) await client.setLoggingLevel('debug');
      return client.callTool(params, undefined, { onprogress, signal });
    },
    // `statuses` are those that it has been through, `kept` is the result as it can still be had.
    async task(params, cancel) {
      const { tasks } = client.experimental;
      const statuses = [];
      let [id, result] = [];
      for await (const told of tasks.callToolStream(params, undefined, { task: { ttl: 60_000 } })) {
        const status = told.task?.status;
        if (status && statuses.at(-1) !== status) statuses.push(status);
        id ??= told.task?.taskId;
        if (told.type === 'taskCreated' && cancel) {
          statuses.push((await tasks.cancelTask(id)).status);
          break;
        }
        if (told.type === 'error') throw told.error;
        result = told.result;
      }
      const listed = (await tasks.listTasks()).tasks.filter(task => task.taskId === id);
      const kept = cancel ? undefined : await tasks.getTaskResult(id, types.CallToolResultSchema);
      return { ...result, statuses, listed: listed.map(task => task.status), kept };
    },
    async close() {
      // A session lives until it is deleted; the SDK leaves saying so to its user.
      await peer.channel.terminateSession?.();
      await client.close();
    },
    code: error => (error instanceof types.McpError ? error.code : undefined),
  };
  return peer;
});
