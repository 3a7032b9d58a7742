"""The half of a Python driver that knows the scenario and not the SDK: it takes the job from the command line, runs its
steps against a peer, and prints one JSON line per step. Judging what was observed is the runner's work, not this file's."""

import asyncio
import json
import logging
import sys
import time

PAGES = 50


class LateAnswers(logging.Handler):
    """Answers that arrive for a request given up; the SDK drops them and says so only in its debug log."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.seen = None
        logger = logging.getLogger("mcp.shared.jsonrpc_dispatcher")
        logger.setLevel(logging.DEBUG)
        logger.addHandler(self)

    def emit(self, record):
        if self.seen is not None and "unknown/late request id" in record.getMessage():
            self.seen.append((time.monotonic(), record.getMessage()))


def unasked(method, _params):
    """Servers ask for roots when they like, and through a gateway in the middle of any call: who has said to have some answers."""
    return {"roots": []} if method == "roots/list" else None


class Steps:
    """One method per verb of the scenario."""

    def __init__(self, peer, over_http):
        self.peer = peer
        # Over HTTP the SDK itself answers a request whose stream ends, as the stream of a cancelled one does.
        self.sdk_answers_for = 0.5 if over_http else 0
        self.late = LateAnswers()

    async def connect(self, step):
        return await self.peer.connect()

    async def list(self, step):
        """A list in which servers are still to come is asked for until it has what they bring."""
        while True:
            listed = await self.pages(step)
            if {item.get("name") for item in listed["items"]}.issuperset(step.get("until", [])):
                return listed
            await asyncio.sleep(0.1)

    async def pages(self, step):
        items, cursor = [], None
        for pages in range(1, PAGES + 1):
            page = await self.peer.list(step["what"], cursor)
            items += page[step["what"]]
            cursor = page.get("nextCursor")
            if cursor is None:
                return {"items": items, "pages": pages}
        raise RuntimeError(f"more than {PAGES} pages")

    async def call(self, step):
        """What a call says, in order: progress, log messages, questions (answered as the step says), and its result."""
        name, arguments = step["tool"], step.get("arguments", {})
        watch = step.get("watch")
        if not watch and "answers" not in step:
            return await self.peer.call(name, arguments)
        events = []

        async def on_progress(progress, total, message):
            events.append({"progress": progress, "total": total, "message": message})

        def on_log(params):
            events.append({"level": params.level, "data": params.data})

        def on_ask(method, params):
            if method not in step.get("answers", {}):
                return unasked(method, params)
            events.append({"ask": method, "params": {key: value for key, value in params.items() if key != "_meta"}})
            return step["answers"][method]

        self.peer.on_ask = on_ask
        if watch in ("logs", "all"):
            self.peer.on_log = on_log
            await self.peer.want_logs()
        result = await self.peer.call(name, arguments, on_progress if watch in ("progress", "all") else None)
        events.append("result")
        # Whatever still arrives now came after the result, and the runner sees it behind it.
        await asyncio.sleep(0.1)
        self.peer.on_log = None
        return {**result, "events": events}

    def notices(self):
        """Notices as they come in, and a wait for `count` of them, which the bound of the step ends."""
        heard = []
        self.peer.on_notice = heard.append

        async def reach(count):
            while len(heard) < count:
                await asyncio.sleep(0.01)

        return heard, reach

    async def subscribe(self, step):
        """Subscribed, each call brings a notice; no longer subscribed, it brings none."""
        heard, reach = self.notices()
        async with self.peer.subscribed(step["uri"]):
            for calls in range(step.get("times", 1)):
                await self.call(step["then"])
                await reach(calls + 1)
            await asyncio.sleep(step["quiet_ms"] / 1000)
            during = heard[:]
        heard.clear()
        await self.call(step["then"])
        await asyncio.sleep(step["quiet_ms"] / 1000)
        return {"during": during, "after": heard}

    async def changes(self, step):
        """Each call changes a list: one notice, and then the list is another."""
        heard, reach = self.notices()
        lists = []
        async with self.peer.watching(step["what"]):
            for made in step["calls"]:
                await self.call(made)
                await reach(len(lists) + 1)
                lists.append((await self.list(step))["items"])
            await asyncio.sleep(step["quiet_ms"] / 1000)
        return {"heard": heard, "lists": lists}

    async def cancel(self, step):
        started = time.monotonic()
        self.late.seen = late = []
        running = asyncio.create_task(self.peer.call(step["tool"], step["arguments"]))
        await asyncio.sleep(step["after_ms"] / 1000)
        running.cancel()
        cancelled = time.monotonic()
        try:
            await running
            ended = "answered"
        except asyncio.CancelledError:
            ended = "aborted"
        after = time.monotonic() - started
        then = await self.call(step["then"])
        # A server that did not cancel answers once its work is done; by now it would have.
        await asyncio.sleep(max(0, step["quiet_ms"] / 1000 - (time.monotonic() - started)))
        self.late.seen = None
        late = [said for at, said in late if at - cancelled >= self.sdk_answers_for]
        return {"ended": ended, "after_ms": round(after * 1000), "late": late, "then": then}

    async def many(self, step):
        def fill(value, i):
            return value.replace("{i}", str(i)) if isinstance(value, str) else value

        calls = [
            self.peer.call(step["tool"], {key: fill(value, i) for key, value in step["arguments"].items()})
            for i in range(step["count"])
        ]
        results = await asyncio.gather(*calls)
        return {"texts": [(result.get("content") or [{}])[0].get("text") for result in results]}

    async def read(self, step):
        return await self.peer.read(step["uri"])

    async def prompt(self, step):
        return await self.peer.prompt(step["prompt"], step.get("arguments"))

    async def complete(self, step):
        return await self.peer.complete(step["ref"], step["argument"], step.get("context"))

    async def level(self, step):
        return await self.peer.level(step["level"])

    async def ping(self, step):
        return await self.peer.ping()

    async def close(self, step):
        await self.peer.close()
        return {}


def root(error):
    """The first leaf of a group of exceptions, which says more than the group does."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def drive(make_peer):
    job = json.loads(sys.argv[1])
    peer = make_peer(job)
    steps = Steps(peer, over_http=job["transport"] == "http")
    for step in job["steps"]:
        started = time.monotonic()
        peer.on_ask = unasked
        try:
            async with asyncio.timeout(job["step_seconds"]):
                seen = {"got": await getattr(steps, step["do"])(step)}
        except TimeoutError:
            seen = {"thrown": f"no answer within {job['step_seconds']} s"}
        except Exception as caught:
            error = root(caught)
            code = peer.code(error)
            said = str(error)
            seen = {"error": {"code": code, "message": said}} if code else {"thrown": f"{type(error).__name__}: {said}"}
        line = {"step": step["name"], "ms": round((time.monotonic() - started) * 1000), **seen}
        print(json.dumps(line, separators=(",", ":")), flush=True)
        if step["do"] == "connect" and "got" not in seen:
            break
