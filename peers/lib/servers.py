"""The server under test as a process: started for HTTP, watched, and ended."""

import contextlib
import os
import queue
import re
import signal
import subprocess
import threading

START_SECONDS = 10
STOP_SECONDS = 5
URL = re.compile(r"http://127\.0\.0\.1:(\d+)/mcp")


class ServerFault(Exception):
    """The server did not start, or did not say where it listens."""


def kill_group(process):
    """Ends a process that was started as the leader of its group, and whatever it started itself."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class HttpServer:
    """`with HttpServer(command, log) as server`: `server.url`, and `server.stop()` for the verdict on its end."""

    def __init__(self, command, log):
        self.command = [*command, "--listen", "127.0.0.1:0"]
        self.log = log

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        found = queue.Queue()
        threading.Thread(target=self.follow, args=(found,), daemon=True).start()
        try:
            self.url = found.get(timeout=START_SECONDS)
        except queue.Empty:
            self.url = None
        if not self.url:
            kill_group(self.process)
            said = self.log.read_text()[-500:]
            raise ServerFault(f"`{' '.join(self.command)}` printed no URL within {START_SECONDS} s: {said}")
        return self

    def follow(self, found):
        with self.log.open("w") as log:
            for line in self.process.stderr:
                log.write(line)
                log.flush()
                if match := URL.search(line):
                    found.put(match.group(0))
        found.put(None)

    def stop(self):
        """One sentence of what was wrong with the server at its end, or None."""
        if self.process.poll() is not None:
            return f"the server ended by itself with {self.process.returncode}: {self.log.read_text()[-300:]}"
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return f"the server was still there {STOP_SECONDS} s after SIGTERM"
        expected = (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        return None if code in expected else f"the server ended with {code} after SIGTERM"

    def __exit__(self, *_):
        kill_group(self.process)
