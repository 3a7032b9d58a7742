"""A way to an HTTP server that breaks once: whoever reads an answer beyond a given text finds the connection closed, and
has to take the rest up on another."""

import re
import socket
import threading

TAKEN_UP = re.compile(rb"^last-event-id:", re.IGNORECASE | re.MULTILINE)


class Cutting:
    """`with Cutting(url, mark) as way`: `way.url`, and `way.fault()` for whether it broke and was taken up."""

    def __init__(self, url, mark):
        self.port = int(re.search(r":(\d+)/", url).group(1))
        self.listener = socket.create_server(("127.0.0.1", 0))
        # The server sees this port in `Host`; its guard looks at the name.
        self.url = url.replace(f":{self.port}/", f":{self.listener.getsockname()[1]}/")
        self.mark = mark.encode()
        self.cuts = self.taken_up = 0

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                return
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for pump, source, sink in ((self.ask, near, far), (self.answer, far, near)):
                threading.Thread(target=self.run, args=(pump, source, sink), daemon=True).start()

    @staticmethod
    def run(pump, source, sink):
        try:
            pump(source, sink)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def ask(self, source, sink):
        while data := source.recv(65536):
            self.taken_up += len(TAKEN_UP.findall(data))
            sink.sendall(data)

    def answer(self, source, sink):
        behind = b""
        while data := source.recv(65536):
            sink.sendall(data)
            behind = behind[-len(self.mark) :] + data
            if not self.cuts and self.mark in behind:
                self.cuts += 1
                for end in (source, sink):
                    end.shutdown(socket.SHUT_RDWR)
                return

    def fault(self):
        """One sentence if the way did not break, or nobody took the rest up."""
        if self.cuts and self.taken_up:
            return None
        return f"the stream was cut {self.cuts} times and taken up {self.taken_up} times"
