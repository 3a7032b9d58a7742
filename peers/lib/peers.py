"""The peers: what each is called, which version is pinned, and how its driver is started."""

import json
import re
import sys

from install import HERE, cargo, node, npm, program, venv

ERAS = {"legacy": "2025-11-25", "modern": "2026-07-28"}


class Peer:
    # The scenarios that it is for; none: all whose `where` has it.
    only = None


class NodePeer(Peer):
    def __init__(self, name, package, eras):
        self.name, self.package, self.eras = name, package, eras

    def version(self):
        return json.loads((HERE / self.name / "package.json").read_text())["dependencies"][self.package]

    def install(self, peers_dir):
        return program(self.name, peers_dir, "driver.mjs"), {}


class PythonPeer(Peer):
    def __init__(self, name, package, eras):
        self.name, self.package, self.eras = name, package, eras

    def version(self):
        pins = (HERE / self.name / "requirements.txt").read_text()
        return re.search(rf"^{self.package}==(\S+)$", pins, re.MULTILINE).group(1)

    def install(self, peers_dir):
        return [str(venv(self.name, peers_dir)), str(HERE / self.name / "driver.py")], {}


class Inspector(NodePeer):
    def install(self, peers_dir):
        folder = npm(self.name, peers_dir)
        program = folder / "node_modules" / self.package / "clients" / "launcher" / "build" / "index.js"
        # Every step is a program that starts.
        job = {"inspector": [node(peers_dir), str(program)], "jobs": 2, "step_seconds": 30}
        return [sys.executable, str(HERE / self.name / "driver.py")], job


class RustPeer(Peer):
    """The client of a crate that is a server, too. It goes on with tasks, and does nothing else."""

    only = ["tasks-extension"]

    def __init__(self, name, package, eras):
        self.name, self.package, self.eras = name, package, eras

    def version(self):
        pins = (HERE / self.name / "Cargo.toml").read_text()
        return re.search(rf'^{self.package} = .*"=([^"]+)"', pins, re.MULTILINE).group(1)

    def install(self, peers_dir):
        return [str(cargo(self.name, peers_dir) / "debug" / f"peer-{self.name}"), "drive"], {}


PEERS = [
    NodePeer("ts1", "@modelcontextprotocol/sdk", ["legacy"]),
    NodePeer("ts2", "@modelcontextprotocol/client", ["legacy", "modern"]),
    PythonPeer("python", "mcp", ["legacy", "modern"]),
    PythonPeer("fastmcp", "fastmcp", ["legacy", "modern"]),
    Inspector("inspector", "@modelcontextprotocol/inspector", ["legacy", "modern"]),
    RustPeer("rmcp", "rmcp", ["modern"]),
]
