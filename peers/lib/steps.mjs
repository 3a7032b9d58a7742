// The half of a Node driver that knows the scenario and not the SDK: it takes the job from the command line, runs its
// steps against a peer, and prints one JSON line per step. Judging what was observed is the runner's work, not this file's.
import { setTimeout as sleep } from 'node:timers/promises';

const PAGES = 50;

// What the runner stops waiting for is reported as thrown, so that one hanging feature does not hide the others.
async function within(seconds, promise) {
  const clock = new AbortController();
  const limit = sleep(seconds * 1000, undefined, { signal: clock.signal }).then(() => {
    throw new Error(`no answer within ${seconds} s`);
  });
  limit.catch(() => {});
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clock.abort();
  }
}

// Servers ask for roots when they like, and through a gateway in the middle of any call: who has said to have some answers.
const unasked = method => (method === 'roots/list' ? { roots: [] } : undefined);

// A list in which servers are still to come is asked for until it has what they bring.
async function list(peer, step) {
  for (;;) {
    const listed = await pages(peer, step);
    if ((step.until ?? []).every(name => listed.items.some(item => item.name === name))) return listed;
    await sleep(100);
  }
}

async function pages(peer, step) {
  const items = [];
  let cursor;
  for (let pages = 1; pages <= PAGES; pages++) {
    const page = await peer.list(step.what, cursor);
    items.push(...page.items);
    cursor = page.nextCursor;
    if (cursor === undefined) return { items, pages };
  }
  throw new Error(`more than ${PAGES} pages`);
}

// What a call says, in order: progress, log messages, questions (answered as the step says), and its result.
async function call(peer, step) {
  const params = { name: step.tool, arguments: step.arguments ?? {} };
  if (!step.watch && !step.answers) return peer.call(params, {});
  const events = [];
  const watched = what => [what, 'all'].includes(step.watch);
  const options = { logs: watched('logs') };
  if (watched('progress')) {
    options.onprogress = ({ progress, total, message }) => events.push({ progress, total, message });
  }
  if (watched('logs')) peer.onlog = ({ level, data }) => events.push({ level, data });
  peer.onask = (method, { _meta, ...asked } = {}) => {
    if (!step.answers?.[method]) return unasked(method);
    events.push({ ask: method, params: asked });
    return step.answers[method];
  };
  const result = await peer.call(params, options);
  events.push('result');
  // Whatever still arrives now came after the result, and the runner sees it behind it.
  await sleep(100);
  peer.onlog = undefined;
  return { ...result, events };
}

// Notices as they come in; `count` of them are waited for, and the bound of the step ends that.
function notices(peer) {
  const heard = [];
  peer.onnotice = (method, params) => heard.push({ method, ...(params?.uri && { uri: params.uri }) });
  return {
    heard,
    async reach(count) {
      while (heard.length < count) await sleep(10);
    },
  };
}

// Subscribed, each call brings a notice; no longer subscribed, it brings none.
async function subscribe(peer, step) {
  const { heard, reach } = notices(peer);
  const stop = await peer.subscribe(step.uri);
  for (let calls = 1; calls <= (step.times ?? 1); calls++) {
    await call(peer, step.then);
    await reach(calls);
  }
  await sleep(step.quiet_ms);
  const during = heard.splice(0);
  await stop();
  await call(peer, step.then);
  await sleep(step.quiet_ms);
  return { during, after: heard };
}

// Each call changes a list: one notice, and then the list is another.
async function changes(peer, step) {
  const { heard, reach } = notices(peer);
  const stop = await peer.watch(step.what);
  const lists = [];
  for (const made of step.calls) {
    await call(peer, made);
    await reach(lists.length + 1);
    lists.push((await list(peer, step)).items);
  }
  await sleep(step.quiet_ms);
  await stop();
  return { heard, lists };
}

async function cancel(peer, step) {
  const stop = new AbortController();
  const started = performance.now();
  const late = [];
  peer.onlate = error => late.push(String(error.message ?? error));
  const running = peer.call({ name: step.tool, arguments: step.arguments }, { signal: stop.signal });
  const ended = running.then(() => 'answered', () => 'aborted');
  await sleep(step.after_ms);
  stop.abort(new Error('no longer wanted'));
  const how = await ended;
  const ms = performance.now() - started;
  const then = await call(peer, step.then);
  // A server that did not cancel answers once its work is done; by now it would have.
  await sleep(Math.max(0, step.quiet_ms - (performance.now() - started)));
  peer.onlate = undefined;
  return { ended: how, after_ms: Math.round(ms), late, then };
}

// A call that the server goes on with by itself, and gives up on the way if the step says so: what it came to and what it asked.
async function task(peer, step) {
  const asked = [];
  peer.onask = (method, { _meta, ...params } = {}) => {
    asked.push({ ask: method, params });
    return step.answers[method];
  };
  return { ...(await peer.task({ name: step.tool, arguments: step.arguments ?? {} }, step.cancel)), asked };
}

async function many(peer, step) {
  const fill = (value, i) => (typeof value === 'string' ? value.replaceAll('{i}', String(i)) : value);
  const one = i =>
    call(peer, {
      tool: step.tool,
      arguments: Object.fromEntries(Object.entries(step.arguments).map(([k, v]) => [k, fill(v, i)])),
    });
  const results = await Promise.all(Array.from({ length: step.count }, (_, i) => one(i)));
  return { texts: results.map(r => r.content?.[0]?.text) };
}

const actions = {
  connect: peer => peer.connect(),
  list,
  call,
  cancel,
  task,
  many,
  subscribe,
  changes,
  read: (peer, step) => peer.read(step.uri),
  prompt: (peer, step) => peer.prompt(step.prompt, step.arguments),
  complete: (peer, { ref, argument, context }) => peer.complete({ ref, argument, ...(context && { context }) }),
  level: (peer, step) => peer.level(step.level),
  ping: peer => peer.ping(),
  close: async peer => (await peer.close(), {}),
};

function failure(peer, error) {
  const code = peer.code(error);
  if (code !== undefined) return { error: { code, message: String(error.message) } };
  return { thrown: `${error?.name}: ${error?.message}${error?.cause ? ` (${error.cause})` : ''}` };
}

const print = line => new Promise(done => process.stdout.write(`${JSON.stringify(line)}\n`, done));

export async function drive(makePeer) {
  const job = JSON.parse(process.argv[2]);
  const peer = makePeer(job);
  for (const step of job.steps) {
    const started = performance.now();
    peer.onask = unasked;
    let seen;
    try {
      seen = { got: await within(job.step_seconds, actions[step.do](peer, step)) };
    } catch (error) {
      seen = failure(peer, error);
    }
    await print({ step: step.name, ms: Math.round(performance.now() - started), ...seen });
    if (step.do === 'connect' && !seen.got) break;
  }
  process.exit(0);
}
