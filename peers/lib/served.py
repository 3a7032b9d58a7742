"""Our client against the servers of other makers: a column per server, revision and transport. A server over HTTP is started
once for all its columns, which take turns."""

import contextlib
import json
import os
import queue
import socket
import subprocess
import threading
import time

from cut import Cutting
from expect import judge
from install import HERE
from makers import FOUND
from servers import ServerFault, kill_group

START_SECONDS = 30
STEP_SECONDS = 10
COLUMN_SECONDS = 60
PATHS = {"http": "/mcp", "sse": "/sse"}


class Listening:
    """A server at a free port of this machine, which can be started anew at the same one."""

    def __init__(self, maker, way, log):
        self.maker, self.way, self.log = maker, way, log

    def __enter__(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}{PATHS[self.way]}"
        self.log.write_text("")
        self.start()
        return self

    def __exit__(self, *_):
        kill_group(self.process)

    def start(self):
        words, environment = self.maker.command(self.way, self.port)
        with self.log.open("ab") as log:
            said = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self.process = subprocess.Popen(words, env={**os.environ, **environment}, start_new_session=True, **said)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.02)
        kill_group(self.process)
        raise ServerFault(f"`{' '.join(words)}` does not listen: {self.log.read_text(errors='replace')[-500:]}")

    def restart(self):
        kill_group(self.process)
        self.start()


def applies(only, maker, key):
    """Whether a part of a scenario is meant for this column."""
    names = dict(zip(("server", "revision", "transport"), key))
    names["era"] = era(spoken(maker, key))
    return all(value in only[what] for what, value in names.items() if what in only)


def spoken(maker, key):
    """The revision in which the conversation is to be."""
    return maker.newest(key[2]) if key[1] == FOUND else key[1]


def era(revision):
    return "modern" if revision >= "2026" else "legacy"


class Served:
    """One column of one scenario."""

    def __init__(self, client, maker, key, scenario, work):
        self.client, self.maker, self.key, self.scenario = client, maker, key, scenario
        self.prefix = scenario.get("prefix", "")
        self.revision = spoken(maker, key)
        self.label = "-".join((scenario["name"], *key))
        self.work = work

    def why_not(self, step):
        only = step.get("only", {})
        return None if applies(only, self.maker, self.key) else only["why"]

    def run(self, server=None):
        """{feature: (status, detail)}; the server that listens, if it does."""
        steps = [step for step in self.scenario["steps"] if self.why_not(step) is None]
        speaks = None if self.key[1] == FOUND else self.key[1]
        job = {"speaks": speaks, "steps": steps, "step_seconds": STEP_SECONDS}
        if server is None:
            words, environment = self.maker.command("stdio", None)
            names = [f"{name}={value}" for name, value in environment.items()]
            return self.judge(*self.drive({**job, "command": ["env", *names, *words] if names else words}, None))
        mark = self.scenario.get("cut")
        with Cutting(server.url, mark) if mark else contextlib.nullcontext(server) as way:
            results = self.judge(*self.drive({**job, "url": way.url}, server))
        if mark:
            results[f"{self.prefix}taken-up"] = ("fail", way.fault()) if way.fault() else ("pass", "")
        return results

    def drive(self, job, server):
        """The lines of the client, and how it ended."""
        lines = {}
        seen_by_us = (self.work / f"{self.label}.lines").open("wb")
        with seen_by_us, (self.work / f"{self.label}.stderr").open("wb") as stderr:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stderr}
            words = [self.client, json.dumps(job)]
            process = subprocess.Popen(words, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, start_new_session=True, **pipes)
            said = queue.Queue()
            threading.Thread(target=read, args=(process.stdout, said), daemon=True).start()
            end, ended = time.monotonic() + COLUMN_SECONDS, None
            try:
                while line := said.get(timeout=max(0.0, end - time.monotonic())):
                    seen_by_us.write(line)
                    seen = json.loads(line)
                    if seen.get("need") != "restart":
                        lines[seen["step"]] = seen
                        continue
                    server.restart()
                    process.stdin.write(b"ready\n")
                    process.stdin.flush()
                ended = f"the client ended with {process.wait(10)} before this"
            except queue.Empty:
                ended = f"the client was not done after {COLUMN_SECONDS} s"
            finally:
                kill_group(process)
        return lines, ended

    def judge(self, lines, ended):
        results = {}
        if "got" not in lines.get("connect", {}):
            ended = "not connected"
        for step in self.scenario["steps"]:
            name, why = step["name"], self.why_not(step)
            result = ("blank", why) if why else ("fail", ended)
            if not why and name in lines:
                result = judge(step, era(self.revision), self.revision, lines[name])
            results[self.prefix + name] = result
        return results


def read(stream, said):
    for line in stream:
        said.put(line)
    said.put(b"")


def in_turn(maker, way, columns, work):
    """{column: {feature: (status, detail)}} of all columns that share a server."""
    found = {}
    with Listening(maker, way, work / f"server-{maker.name}-{way}.log") as server:
        for column in columns:
            found.setdefault(column.key, {}).update(column.run(server))
    return found


def groups(client, makers, ways, peers_dir):
    """What may run at once, as functions: each gives what it found, by column."""
    work = peers_dir / "run"
    for maker in makers:
        scenarios = [{"name": name, **json.loads((HERE / "served" / f"{name}.json").read_text())} for name in maker.scenarios()]
        for way in ways:
            columns = [
                Served(client, maker, key, scenario, work)
                for key in maker.columns(way)
                for scenario in scenarios
                if applies(scenario.get("where", {}), maker, key)
            ]
            if way == "stdio":
                yield from (lambda column=column: {column.key: column.run()} for column in columns)
            elif columns:
                yield lambda maker=maker, way=way, columns=columns: in_turn(maker, way, columns, work)


def run_all(pool, client, makers, ways, peers_dir):
    found = {}
    for results in pool.map(lambda work: work(), list(groups(client, makers, ways, peers_dir))):
        for key, cells in results.items():
            found.setdefault(key, {}).update(cells)
    return found
