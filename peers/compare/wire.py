"""Starts a server and speaks raw JSON-RPC with it, over pipes or a socket. Knows the two eras' envelopes and nothing of any SDK."""

import json
import os
import select
import socket
import subprocess
import time

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
CAN = {"elicitation": {"form": {}}}
ME = {"name": "compare", "version": "1"}
PATIENCE = 120
META = "io.modelcontextprotocol/"


def envelope(modern):
    """What a request of the modern era carries; legacy ones carry nothing."""
    if not modern:
        return {}
    return {"_meta": {META + "protocolVersion": MODERN, META + "clientInfo": ME, META + "clientCapabilities": CAN}}


def request(identifier, method, params):
    return {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}


def call(identifier, tool, arguments, modern=False, **more):
    return request(identifier, "tools/call", {"name": tool, "arguments": arguments, **more, **envelope(modern)})


def opening(revision):
    return request(0, "initialize", {"protocolVersion": revision, "capabilities": CAN, "clientInfo": ME})


def refused(answer):
    """Whether a call was answered with a failure of either kind."""
    return answer is not None and ("error" in answer or answer["result"].get("isError") is True)


def text(answer):
    """The text of a result, or nothing."""
    content = (answer or {}).get("result", {}).get("content") or [{}]
    return content[0].get("text", "")


class Process:
    """A server's process: its processor time and memory."""

    def __init__(self, command, **pipes):
        self.child = subprocess.Popen(command, stderr=subprocess.DEVNULL, **pipes)

    def cpu(self):
        with open(f"/proc/{self.child.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss(self):
        """Resident memory in KiB."""
        with open(f"/proc/{self.child.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass


class Stdio(Process):
    """A server on pipes."""

    def __init__(self, command, revision=LEGACY):
        super().__init__(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.rest = b""
        self.modern = revision == MODERN
        if not self.modern:
            self.opened = self.ask(opening(revision))
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[self.child.stdin.write(view) :]

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def read(self, seconds):
        """The next message, or nothing when the time is over or the output has ended."""
        until = time.monotonic() + seconds
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                return None
            more = os.read(self.child.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def ask(self, message, seconds=PATIENCE):
        """The answer to a request; what comes in between is dropped."""
        self.send(message)
        return self.until(message["id"], seconds)

    def until(self, identifier, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            answer = self.read(left)
            if answer is None or ("method" not in answer and answer.get("id") == identifier):
                return answer
        return None

    def tool(self, identifier, name, arguments, **more):
        return self.ask(call(identifier, name, arguments, self.modern, **more))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Http(Process):
    """A server on a port of this machine."""

    def __init__(self, command):
        self.port = free_port()
        super().__init__([*command, f"127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), 20)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def frame(self, message, headers=(), method="POST"):
        """One HTTP request as bytes; without a message it has no body."""
        body = json.dumps(message).encode() if message else b""
        sent = {
            "Host": f"127.0.0.1:{self.port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": str(len(body)),
            **dict(headers),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        return f"{method} /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body

    def once(self, message, headers=(), method="POST"):
        """Status, headers and body of one request on a connection of its own."""
        with self.connect() as connection:
            connection.sendall(self.frame(message, headers, method))
            return response(connection)


def response(connection):
    """Reads one response to its end."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += some(connection)
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
    if headers.get("transfer-encoding") == "chunked":
        while not body.endswith(b"0\r\n\r\n"):
            body += some(connection)
    else:
        while len(body) < int(headers.get("content-length", 0)):
            body += some(connection)
    return int(lines[0].split()[1]), headers, body


def some(connection):
    more = connection.recv(1 << 16)
    if not more:
        raise ConnectionError("the server closed the connection")
    return more


MODERN_HEADERS = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
