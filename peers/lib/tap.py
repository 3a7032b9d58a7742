"""Writes down what a client and a server say to each other: `tap.py LOG stdio CMD…` stands in for a stdio server, and
`tap.py LOG http URL` forwards one port to another and prints where it listens. For finding out who erred; bounded by
the life of the run that starts it."""

import re
import socket
import subprocess
import sys
import threading
import time


class Log:
    def __init__(self, path):
        self.file = open(path, "ab", buffering=0)
        self.start = time.monotonic()

    def note(self, arrow, data):
        stamp = f"{time.monotonic() - self.start:9.4f} {arrow} ".encode()
        self.file.write(b"".join(stamp + line + b"\n" for line in data.splitlines()))


def pump(log, arrow, read, write, close):
    while data := read(65536):
        log.note(arrow, data)
        try:
            write(data)
        except OSError:
            break
    close()


def stdio(log, command):
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    up = (log, ">", sys.stdin.buffer.raw.read, child.stdin.write, child.stdin.close)
    threading.Thread(target=pump, args=up, daemon=True).start()
    pump(log, "<", child.stdout.read, sys.stdout.buffer.raw.write, lambda: None)
    return child.wait()


def http(log, url):
    port = int(re.search(r":(\d+)/", url).group(1))
    listener = socket.create_server(("127.0.0.1", 0))
    # The server sees the tap's port in `Host`; its guard looks at the name.
    print(url.replace(f":{port}/", f":{listener.getsockname()[1]}/"), flush=True)
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(("127.0.0.1", port))
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for arrow, source, sink in ((">", near, far), ("<", far, near)):
            end = lambda s=sink: s.shutdown(socket.SHUT_WR)  # noqa: E731
            threading.Thread(target=quiet, args=(log, arrow, source.recv, sink.sendall, end), daemon=True).start()


def quiet(*pumped):
    try:
        pump(*pumped)
    except OSError:
        pass


if __name__ == "__main__":
    path, kind, *rest = sys.argv[1:]
    sys.exit(stdio(Log(path), rest) if kind == "stdio" else http(Log(path), rest[0]))
