"""What is asked of every server, one function a row. Each returns the cell, as text."""

import json
import statistics
import time

from wire import LEGACY, MODERN, MODERN_HEADERS, PATIENCE, Http, Stdio, call, envelope, opening, refused, request, response, text

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY, MODERN]
SECONDS = 3
SESSIONS = 1000
TEXT = "x" * 100


def revisions(command):
    """The same program opened and called in each revision, over stdio."""
    served = []
    for revision in REVISIONS:
        with Stdio(command, revision) as server:
            if server.modern:
                found = server.ask(request(0, "server/discover", envelope(modern=True)))
                agreed = revision in (found or {}).get("result", {}).get("supportedVersions", [])
            else:
                agreed = (server.opened or {}).get("result", {}).get("protocolVersion") == revision
            if agreed and text(server.tool(1, "echo", {"text": "hi"})) == "hi":
                served.append(revision)
    if served == REVISIONS:
        return "all 5"
    missing = [revision for revision in REVISIONS if revision not in served]
    return f"{len(served)}, not {', '.join(missing)}"


def question(command):
    """The tool `ask` wants a name of the user; the client of either era answers `Ada`."""
    asked = {"legacy": asks_legacy(command), "modern": asks_modern(command)}
    can = [era for era, answered in asked.items() if answered]
    return "both eras" if len(can) == 2 else f"{can[0]} only" if can else "neither"


def asks_legacy(command):
    with Stdio(command) as server:
        server.send(call(1, "ask", {}))
        while (message := server.read(PATIENCE)) is not None:
            if message.get("method") == "elicitation/create":
                given = {"action": "accept", "content": {"name": "Ada"}}
                server.send({"jsonrpc": "2.0", "id": message["id"], "result": given})
            elif message.get("id") == 1:
                return text(message) == "hello Ada"
    return False


def asks_modern(command):
    with Stdio(command, MODERN) as server:
        first = (server.tool(1, "ask", {}) or {}).get("result", {})
        if first.get("resultType") != "input_required":
            return False
        answers = {key: {"action": "accept", "content": {"name": "Ada"}} for key in first["inputRequests"]}
        state = {"requestState": first["requestState"]} if "requestState" in first else {}
        return text(server.tool(2, "ask", {}, inputResponses=answers, **state)) == "hello Ada"


def arguments(command):
    """`pick` takes an integer from 1 to 3. Each of these has to be refused, and 2 taken."""
    wrong = {"type": {"count": "two"}, "missing": {}, "range": {"count": 9}, "unknown key": {"count": 2, "colour": "red"}}
    with Stdio(command) as server:
        if refused(server.tool(1, "pick", {"count": 2})):
            return "refuses what fits"
        found = [name for at, (name, given) in enumerate(wrong.items(), 2) if refused(server.tool(at, "pick", given))]
    return "all 4" if len(found) == 4 else ", ".join(found) or "none"


def duplicate(command):
    """Two values under one key: a guard in front may have looked at the other one."""
    with Stdio(command) as server:
        line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"first","text":"last"}}}\n'
        server.write(line + _line(call(2, "echo", {"text": "hi"})))
        answers = _answers(server, 2)
        answer = next((answer for answer in answers if answer.get("id") != 2), None)
        if answer is None:
            return "no answer"
        return "refused" if refused(answer) else f"takes the {text(answer)}"


def broken(command):
    """A line that is not JSON, then a call."""
    with Stdio(command) as server:
        server.write(b'{"jsonrpc":"2.0","id":1,\n' + _line(call(2, "echo", {"text": "hi"})))
        answers = _answers(server, 2)
        codes = [answer["error"]["code"] for answer in answers if "error" in answer]
        alive = any(text(answer) == "hi" for answer in answers)
        return (f"error {codes[0]}" if codes else "silence") + ("" if alive else ", then dead")


def boom(command):
    """A tool that panics or throws: its call has an answer, and the next one too."""
    with Stdio(command) as server:
        answer = server.tool(1, "boom", {})
        alive = text(server.tool(2, "echo", {"text": "hi"})) == "hi"
        return ("answered" if refused(answer) else "no answer") + (", goes on" if alive else ", dead")


def foreign(command):
    """What a page of a foreign site reaches by DNS rebinding: a foreign `Host`, then a foreign `Origin`."""
    with Http(command) as server:
        good, _, _ = server.once(opening(LEGACY))
        if good != 200:
            return f"answers {good} to its own address"
        host, _, _ = server.once(opening(LEGACY), {"Host": "evil.example"})
        origin, _, _ = server.once(opening(LEGACY), {"Origin": "http://evil.example"})
    found = [name for name, status in (("Host", host), ("Origin", origin)) if status >= 400]
    return "both refused" if len(found) == 2 else f"{found[0]} refused" if found else "neither refused"


def end(command):
    """Twenty calls, then the end of the input: how many are answered."""
    with Stdio(command) as server:
        server.write(b"".join(_line(call(at, "echo", {"text": "hi"})) for at in range(1, 21)))
        server.child.stdin.close()
        answered = 0
        while (message := server.read(PATIENCE)) is not None:
            answered += text(message) == "hi"
    return f"{answered} of 20"


def sessions(command):
    """Sessions opened and left, then opened and ended: memory for each, and what is kept of the ended ones."""
    with Http(command) as server:
        for _ in range(20):
            _end(server, _open(server))
        idle = server.rss()
        identifiers = [_open(server) for _ in range(SESSIONS)]
        if identifiers[0] is None:
            return "has none"
        each = (server.rss() - idle) / SESSIONS
        for identifier in identifiers:
            _end(server, identifier)
        after = server.rss()
        for _ in range(2 * SESSIONS):
            _end(server, _open(server))
        return f"{max(each, 0):.1f} KiB, {(server.rss() - after) / (2 * SESSIONS):+.1f} KiB"


def _open(server):
    _, headers, _ = server.once(opening(LEGACY))
    identifier = headers.get("mcp-session-id")
    if identifier:
        named = {"Mcp-Session-Id": identifier, "MCP-Protocol-Version": LEGACY}
        server.once({"jsonrpc": "2.0", "method": "notifications/initialized"}, named)
        server.once(call(1, "echo", {"text": "hi"}), named)
    return identifier


def _end(server, identifier):
    if identifier:
        server.once(None, {"Mcp-Session-Id": identifier, "MCP-Protocol-Version": LEGACY}, "DELETE")


def cpu_stdio(command):
    """Processor time of the server for a call with 100 bytes, 32 at once on one pipe."""
    with Stdio(command) as server:
        lines = b"".join(_line(call(at, "echo", {"text": TEXT})) for at in range(1, 33))

        def batch():
            server.write(lines)
            for _ in range(32):
                if text(server.read(PATIENCE)) != TEXT:
                    raise ValueError("a wrong answer")
            return 32

        return _cost(server, batch)


def cpu_http(command):
    """The same over HTTP, sixteen connections, in the newest revision that it serves."""
    with Http(command) as server:
        message, headers = call(1, "echo", {"text": TEXT}, modern=True), MODERN_HEADERS
        status, _, _ = server.once(message, headers)
        if status != 200:
            message, headers = call(1, "echo", {"text": TEXT}), {"Mcp-Session-Id": _open(server), "MCP-Protocol-Version": LEGACY}
        frame = server.frame(message, headers)
        connections = [server.connect() for _ in range(16)]

        def batch():
            for connection in connections:
                connection.sendall(frame)
            for connection in connections:
                status, _, body = response(connection)
                if status != 200 or TEXT.encode() not in body:
                    raise ValueError(f"status {status}")
            return 16

        return _cost(server, batch)


def _cost(server, batch):
    until = time.monotonic() + 1
    while time.monotonic() < until:
        batch()
    calls, before, until = 0, server.cpu(), time.monotonic() + SECONDS
    while time.monotonic() < until:
        calls += batch()
    spent = server.cpu() - before
    return f"{spent / calls * 1e6:.0f} us"


def start(command):
    """From the start of the process to the answer of `initialize`, the best of five, and the memory it then has."""
    times, memory = [], []
    for _ in range(5):
        begin = time.monotonic()
        with Stdio(command) as server:
            times.append(time.monotonic() - begin)
            server.tool(1, "echo", {"text": "hi"})
            memory.append(server.rss() / 1024)
    best = min(times) * 1000
    return f"{best:.1f} ms, {statistics.median(memory):.1f} MiB" if best < 10 else f"{best:.0f} ms, {statistics.median(memory):.0f} MiB"


def _answers(server, expected):
    """Answers until both have come, or nothing more for two seconds."""
    answers, seconds = [], PATIENCE
    while len(answers) < expected and (message := server.read(seconds)) is not None:
        if "method" not in message:
            answers.append(message)
            seconds = 2
    return answers


def _line(message):
    return json.dumps(message).encode() + b"\n"


ROWS = [
    ("revisions", "Revisions that one program serves", revisions),
    ("question", "One tool, written once, asks the user of either era", question),
    ("arguments", "Arguments refused: wrong type, missing, out of range, unknown key", arguments),
    ("duplicate", "A key twice in the arguments", duplicate),
    ("broken", "A line that is not JSON", broken),
    ("boom", "A tool that panics or throws", boom),
    ("foreign", "Foreign `Host` and `Origin`, as set up by default", foreign),
    ("end", "Calls answered when the input ends behind them", end),
    ("sessions", "Memory of an open session, and kept of an ended one", sessions),
    ("cpu_stdio", "Server CPU of a call, stdio, 32 at once", cpu_stdio),
    ("cpu_http", "Server CPU of a call, HTTP, 16 connections", cpu_http),
    ("start", "Start to first answer, and memory when idle", start),
]
