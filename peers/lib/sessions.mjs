// Sessions of Streamable HTTP, as the servers of both generations of the TypeScript SDK keep them: by their ids, with their streams.
import { randomUUID } from 'node:crypto';

/** Keeps what was sent on a stream, so that it can be had again. */
class Kept {
  events = [];
  async storeEvent(stream, message) {
    this.events.push({ stream, message });
    return `${this.events.length - 1}`;
  }
  async getStreamIdForEventId(id) {
    return this.events[Number(id)]?.stream;
  }
  async replayEventsAfter(last, { send }) {
    const { stream } = this.events[Number(last)];
    for (const [id, event] of this.events.entries()) {
      if (id > Number(last) && event.stream === stream) await send(`${id}`, event.message);
    }
    return stream;
  }
}

const sessions = new Map();

// A request to the session that it names, or to a new one of the server that `make` gives.
export async function inSession(Transport, make, request, response, body) {
  const named = request.headers['mcp-session-id'];
  let transport = sessions.get(named);
  if (named && !transport) {
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }));
    return;
  }
  if (!transport) {
    transport = new Transport({
      sessionIdGenerator: randomUUID,
      eventStore: new Kept(),
      onsessioninitialized: id => sessions.set(id, transport),
      onsessionclosed: id => sessions.delete(id),
    });
    await make().connect(transport);
  }
  await transport.handleRequest(request, response, body);
}
