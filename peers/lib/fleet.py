"""Servers of several makers, together behind one `polyport serve`: those at an address are started, the others named, and what
is not there stands beside them."""

import contextlib
import json
import socket

from install import HERE, node, npm
from makers import MAKERS, NodeMaker
from served import Listening


class Filesystem(NodeMaker):
    """The widely used server for files."""

    def install(self, peers_dir):
        program = npm(self.name, peers_dir) / "node_modules" / self.package / "dist" / "index.js"
        self.words = [node(peers_dir), str(program)]

    def command(self, way, port):
        return self.words, {}

    def version(self):
        return json.loads((HERE / self.name / "package.json").read_text())["dependencies"][self.package]


FILESYSTEM = Filesystem("filesystem", "@modelcontextprotocol/server-filesystem", {"stdio": []})
MEMBERS = {maker.name: maker for maker in [*MAKERS, FILESYSTEM]}


def makers(scenarios):
    """Those who have to be installed for these scenarios."""
    names = dict.fromkeys(name for scenario in scenarios for name in scenario.get("fleet", {}))
    return [MEMBERS[name] for name in names]


class Fleet:
    """`with Fleet(...) as words`: the words of a gateway's command with the configuration in place of `$FLEET`. `fleet` says over
    which transport each server is spoken to, for each of the client's own, and with which `words` it is started."""

    def __init__(self, fleet, transport, label, work, words):
        self.members = {name: (member[transport], member.get("words", [])) for name, member in fleet.items()}
        self.label, self.work, self.words = label, work, words
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        if not self.members:
            return self.words
        with contextlib.ExitStack() as stack:
            servers = {name: self.server(stack, MEMBERS[name], *member) for name, member in self.members.items()}
            # Bound, and nobody listens: the port stays closed.
            closed = stack.enter_context(socket.socket())
            closed.bind(("127.0.0.1", 0))
            servers["closed"] = {"url": f"http://127.0.0.1:{closed.getsockname()[1]}/mcp"}
            servers["ends"] = {"command": "false"}
            self.stack = stack.pop_all()
        file = self.work / f"{self.label}.json"
        file.write_text(json.dumps({"mcpServers": servers}))
        return [word.replace("$FLEET", str(file.resolve())) for word in self.words]

    def __exit__(self, *_):
        self.stack.close()

    def server(self, stack, maker, way, more):
        """How the gateway comes to one of them."""
        if way == "stdio":
            (program, *words), environment = maker.command(way, None)
            return {"command": program, "args": [*words, *more], "env": environment}
        log = self.work / f"{self.label}-{maker.name}.log"
        return {"url": stack.enter_context(Listening(maker, way, log)).url}
