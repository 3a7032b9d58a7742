// What both generations of the TypeScript SDK have in common: the verbs of ./steps.mjs in the words of a `Client`.
export const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

export function verbs(client) {
  const lists = {
    tools: p => client.listTools(p),
    resources: p => client.listResources(p),
    resourceTemplates: p => client.listResourceTemplates(p),
    prompts: p => client.listPrompts(p),
  };
  return {
    async list(what, cursor) {
      const page = await lists[what](cursor === undefined ? undefined : { cursor });
      return { items: page[what], nextCursor: page.nextCursor };
    },
    read: uri => client.readResource({ uri }),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: params => client.complete(params),
    level: level => client.setLoggingLevel(level),
    ping: () => client.ping(),
    // In the legacy era a subscription is a request of its own, and lists are told of unasked.
    async subscribe(uri) {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    watch: async () => async () => {},
  };
}

// One generation names what arrives by schemas, the other by methods; both take them in the same place.
export function hear(client, peer, { notifications, questions }) {
  for (const name of notifications) {
    client.setNotificationHandler(name, ({ method, params }) =>
      method === 'notifications/message' ? peer.onlog?.(params) : peer.onnotice?.(method, params),
    );
  }
  for (const name of questions) client.setRequestHandler(name, ({ method, params }) => peer.onask(method, params));
  client.onerror = error => peer.onlate?.(error);
}
