#!/usr/bin/env python3
"""Asks the widely used filesystem server and ours the same things, and prints what each did.

    npm ci --prefix peers/filesystem && python3 peers/filesystem/compare.py --bin target/debug/polyport

What docs/filesystem-server.md says of both was read off its output. Needs Python 3.11, Node, and Linux."""

import argparse
import ctypes
import json
import os
import pathlib
import queue
import shutil
import subprocess
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = "@modelcontextprotocol/server-filesystem"
PATIENCE = 10


class Server:
    """One server on its pipes."""

    def __init__(self, command, cwd, roots=None):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, cwd=cwd)
        self.last = 0
        self.answers = {}
        self.lines = queue.Queue()
        threading.Thread(target=self.pump, daemon=True).start()
        self.roots = roots
        client = {"name": "compare", "version": "1"}
        capabilities = {"roots": {}} if roots else {}
        self.about = self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def pump(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, method, params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return self.last

    def end(self, number):
        """The result, the error, or nothing in time; and the bytes of the line."""
        until = time.monotonic() + PATIENCE
        while number not in self.answers:
            left = until - time.monotonic()
            if left <= 0:
                return None
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                return None
            message = json.loads(line)
            if message.get("method") == "roots/list":
                roots = [{"uri": root.as_uri()} for root in self.roots]
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": roots}})
            elif "method" not in message:
                self.answers[message["id"]] = message.get("result", message.get("error")) | {"bytes": len(line)}
        return self.answers.pop(number)

    def ask(self, method, params=None):
        return self.end(self.begin(method, params or {}))

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def close(self):
        self.process.kill()
        self.process.wait()


def said(answer, most=300):
    if answer is None:
        return f"no answer in {PATIENCE} s"
    blocks = answer.get("content") or [{"text": json.dumps(answer)}]
    text = blocks[0].get("text", f"[{blocks[0].get('type')}]")
    text = text if len(text) <= most else text[:most] + f"… ({len(text)} characters)"
    return ("ERROR " if answer.get("isError") else "") + json.dumps(text, ensure_ascii=False)


def fill(base):
    """The folder that is served, and what lies beside it."""
    work = base / "work"
    for folder in ["sub/deep", "many", "repo/.git/objects", "repo/node_modules/dep", "repo/src"]:
        (work / folder).mkdir(parents=True)
    (base / "secret.txt").write_text("secret")
    (base / "outside").mkdir()
    (base / "outside/secret.txt").write_text("secret")
    (work / "a.txt").write_text("one\ntwo\none\n")
    (work / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    (work / "latin.txt").write_bytes(b"caf\xe9 one\n")
    (work / "indent.py").write_text("def f():\n        return 1\n")
    (work / "big.txt").write_text("".join(f"line {n:06} of a long file\n" for n in range(40_000)))
    (work / "edits.txt").write_text("".join(f"<{n}>\n" for n in range(40)))
    (work / "notes.md").write_text("# notes\n")
    (work / "sub/deep/more.md").write_text("# more\n")
    (work / "e\u0301.txt").write_text("decomposed")
    (work / "mode.txt").write_text("x")
    (work / "mode.txt").chmod(0o640)
    os.setxattr(work / "mode.txt", "user.note", b"kept")
    (work / "picture").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    for n in range(5_000):
        (work / f"many/{n:05}.txt").touch()
    (work / "repo/.gitignore").write_text("node_modules\n")
    for n in range(500):
        (work / f"repo/.git/objects/{n:040x}").touch()
        (work / f"repo/node_modules/dep/{n}.js").write_text("needle\n")
    (work / "repo/src/main.rs").write_text("// needle\n")
    os.symlink("../secret.txt", work / "out")
    os.symlink("../nothing", work / "dead")
    os.symlink("a.txt", work / "link")
    os.link(base / "secret.txt", work / "hard")
    os.mkfifo(work / "pipe")
    return work


def read(path):
    try:
        return path.read_bytes()
    except OSError as error:
        return type(error).__name__


def weigh(server):
    print("\n## definitions")
    size = lambda value: len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())
    tools = server.ask("tools/list")["tools"]
    for tool in tools:
        output = size(tool["outputSchema"]) if "outputSchema" in tool else 0
        print(f"  {tool['name']:26} {size(tool):5} bytes, of them output schema {output:4}  {json.dumps(tool.get('annotations'))}")
    total = sum(map(size, tools))
    output = sum(size(tool.get("outputSchema", "")) for tool in tools if "outputSchema" in tool)
    print(f"  {len(tools)} tools, {total} bytes, ~{total // 4} tokens; without output schemas ~{(total - output) // 4}")
    print(f"  capabilities {json.dumps(server.about['capabilities'])}, revision {server.about['protocolVersion']}")


def reading(server, work):
    print("\n## reading")
    for tool, arguments in [
        ("read_text_file", {"path": work / "big.txt"}),
        ("read_text_file", {"path": work / "latin.txt"}),
        ("read_media_file", {"path": work / "picture"}),
        ("list_directory", {"path": work / "many"}),
        ("directory_tree", {"path": work / "repo"}),
        ("search_files", {"path": work, "pattern": "*.md"}),
        ("search_files", {"path": work, "pattern": "**/*.js"}),
        ("search_contents", {"path": str(work / "repo"), "pattern": "needle"}),
        ("get_file_info", {"path": work / "a.txt"}),
        ("read_text_file", {"path": work / "out"}),
        ("read_text_file", {"path": work / "dead"}),
        ("read_text_file", {"path": work / "none"}),
        ("read_text_file", {"path": "/etc/hostname"}),
        ("read_text_file", {"path": "/etc/none"}),
        ("read_text_file", {"path": "a.txt"}),
        ("read_text_file", {"path": work / "\u00e9.txt"}),
        ("read_text_file", {"path": "~/a.txt"}),
        ("read_text_file", {"path": (work / "a.txt").as_uri()}),
    ]:
        arguments = {key: str(value) for key, value in arguments.items()}
        answer = server.call(tool, **arguments)
        path = arguments["path"].replace(str(work.parent), "…")
        pattern = f" {arguments['pattern']}" if "pattern" in arguments else ""
        print(f"  {tool} {path}{pattern}: {answer['bytes'] if answer else 0} bytes: {said(answer, 160)}")


    answer = server.call("read_multiple_files", paths=[str(work / "big.txt")] * 3)
    print(f"  read_multiple_files big.txt three times: {answer['bytes']} bytes")


def folders(command, base, work):
    print("\n## two folders, on two disks, and roots")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        other = pathlib.Path(other)
        (other / "o.txt").write_text("other")
        server = Server([*command, str(work), str(other)], work)
        for tool, arguments in [
            ("read_text_file", {"path": "o.txt"}),
            ("read_text_file", {"path": f"{other.name}/o.txt"}),
            ("move_file", {"source": str(other / "o.txt"), "destination": str(work / "moved-over.txt")}),
        ]:
            shown = json.dumps(arguments).replace(str(base), "…")
            print(f"  {tool} {shown}: {said(server.call(tool, **arguments))}")
        server.close()
    server = Server([*command, str(work)], work, roots=[base / "outside"])
    server.ask("ping")
    time.sleep(1)
    print(f"  with the root …/outside: {said(server.call('list_allowed_directories')).replace(str(base), '…')}")
    print(f"  and a read there: {said(server.call('read_text_file', path=str(base / 'outside/secret.txt'))).replace(str(base), '…')}")
    server.close()


def writing(server, work):
    print("\n## writing")

    def step(tool, look=None, **arguments):
        shown = json.dumps(arguments).replace(str(work.parent), "…")
        print(f"  {tool} {shown[:160]}: {said(server.call(tool, **arguments))}")
        if look is not None:
            print(f"      on disk: {str(read(look))[:120]}")

    at = lambda name: str(work / name)
    step("write_file", path=at("new.txt"), content="new")
    step("write_file", path=at("new.txt"), content="newer")
    step("write_file", path=at("none/new.txt"), content="x")
    step("write_file", path=at("out"), content="x", look=work.parent / "secret.txt")
    step("write_file", path=at("hard"), content="x", look=work.parent / "secret.txt")
    step("write_file", path=at("link"), content="one\ntwo\none\n", look=work / "a.txt")
    step("write_file", path=at("repo/.git/hook"), content="x")
    step("write_file", path=at("odd \u202etxt.exe"), content="x")
    edit = lambda old, new: [{"oldText": old, "newText": new}]
    step("edit_file", path=at("a.txt"), edits=edit("one", "1"), look=work / "a.txt")
    step("edit_file", path=at("crlf.txt"), edits=edit("two", "2"), look=work / "crlf.txt")
    step("edit_file", path=at("latin.txt"), edits=edit("one", "1"), look=work / "latin.txt")
    step("edit_file", path=at("indent.py"), edits=edit("def f():\n    return 1\n", "def f():\n    return 2\n"), look=work / "indent.py")
    step("edit_file", path=at("a.txt"), edits=edit("two", "2") + edit("nothing", "x"), look=work / "a.txt")
    step("edit_file", path=at("a.txt"), edits=edit("twos", "x"))
    step("edit_file", path=at("a.txt"), edits=edit("two", "2"), dryRun=True)
    step("create_directory", path=at("x/y"))
    step("move_file", source=at("new.txt"), destination=at("x/new.txt"))
    step("move_file", source=at("x/new.txt"), destination=at("a.txt"))
    step("move_file", source=at("link"), destination=at("moved"))
    print(f"      link is now {'there' if (work / 'link').is_symlink() else 'gone'}, a.txt {'there' if (work / 'a.txt').exists() else 'gone'}")
    step("write_file", path=at("mode.txt"), content="y")
    kept = oct((work / "mode.txt").stat().st_mode & 0o777)
    print(f"      permissions {kept}, extended attributes {os.listxattr(work / 'mode.txt')}")
    step("copy_file", source=at("x"), destination=at("x2"))
    step("delete_file", path=at("x"))
    print(f"      in x: {sorted(os.listdir(work / 'x')) if (work / 'x').is_dir() else 'gone'}")


def at_once(server, work):
    print("\n## 40 edits of one file at once")
    edits = [{"path": str(work / "edits.txt"), "edits": [{"oldText": f"<{n}>", "newText": f"({n})"}]} for n in range(40)]
    begun = [server.begin("tools/call", {"name": "edit_file", "arguments": edit}) for edit in edits]
    answers = [server.end(number) for number in begun]
    ok = sum(answer is not None and not answer.get("isError") for answer in answers)
    made = (work / "edits.txt").read_text().count("(")
    print(f"  {ok} said to be made, {made} in the file")


def hanging(server, work):
    print("\n## a pipe that nobody writes to")
    print(f"  read_text_file: {said(server.call('read_text_file', path=str(work / 'pipe')))}")
    for _ in range(8):
        server.begin("tools/call", {"name": "read_text_file", "arguments": {"path": str(work / "pipe")}})
    print(f"  after 8 more, get_file_info of another file: {said(server.call('get_file_info', path=str(work / 'a.txt')), 60)}")


def swapping(server, work, seconds):
    """A directory is swapped for a link to the outside and back, as fast as can be, while it is read and written through."""
    print(f"\n## a directory swapped for a link to the outside, {seconds} s each")
    libc = ctypes.CDLL(None, use_errno=True)
    swap, trap = work / "swap", work / "trap"
    swap.mkdir()
    os.symlink("../outside", trap)
    (swap / "secret.txt").write_text("inside")
    over = threading.Event()

    def exchange():
        while not over.is_set():
            libc.renameat2(-100, os.fsencode(swap), -100, os.fsencode(trap), 2)

    thread = threading.Thread(target=exchange)
    thread.start()
    leaks, calls, until = 0, 0, time.monotonic() + seconds
    while time.monotonic() < until:
        answer = server.call("read_text_file", path=str(swap / "secret.txt"))
        calls += 1
        leaks += said(answer) == '"secret"'
    wrote, writes, until = 0, 0, time.monotonic() + seconds
    while time.monotonic() < until:
        server.call("write_file", path=str(swap / "secret.txt"), content="inside")
        writes += 1
        if (work.parent / "outside/secret.txt").read_bytes() != b"secret":
            wrote += 1
            (work.parent / "outside/secret.txt").write_text("secret")
    over.set()
    thread.join()
    print(f"  {leaks} of {calls} reads gave the file outside; {wrote} of {writes} writes changed it")
    left = [name for folder in (work, work.parent / "outside") for name in os.listdir(folder) if name.endswith(".tmp") or "polyport-new" in name]
    print(f"  unfinished files left: {len(left)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="target/debug/polyport", type=pathlib.Path, help="the `polyport` binary")
    parser.add_argument("--seconds", default=5, type=int, help="how long each of the two swaps goes on")
    parser.add_argument("--modules", default=HERE / "node_modules", type=pathlib.Path, help="where npm put theirs")
    given = parser.parse_args()
    theirs = given.modules.resolve() / PACKAGE
    version = json.loads((theirs / "package.json").read_text())["version"]
    for name, command in [
        (f"server-filesystem {version}", ["node", str(theirs / "dist/index.js")]),
        ("polyport serve --write", [str(given.bin.resolve()), "serve", "--write"]),
    ]:
        print(f"\n# {name}")
        base = pathlib.Path(tempfile.mkdtemp(prefix="compare-"))
        work = fill(base)
        try:
            for part in [lambda s, w: weigh(s), reading, writing, at_once, lambda s, w: swapping(s, w, given.seconds), hanging]:
                server = Server([*command, str(work)], work)
                part(server, work)
                server.close()
            folders(command, base, work)
        finally:
            shutil.rmtree(base)


if __name__ == "__main__":
    main()
