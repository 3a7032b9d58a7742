"""The servers of other makers: what each speaks over which transport, and how it is installed and started."""

import json
import re

from install import HERE, cargo, node, npm, program, venv

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
ALL = [*LEGACY, "2026-07-28"]
# The column in which the client finds out by itself what the server speaks.
FOUND = "found"


class Maker:
    """`ways`: the revisions of each transport, oldest first."""

    def __init__(self, name, package, ways, folder=None):
        self.name, self.package, self.ways = name, package, ways
        self.folder = folder or name

    def scenarios(self):
        return ["demo", "demo-resume", "demo-tasks", "demo-tasks-extension"]

    def columns(self, way):
        return [(self.name, revision, way) for revision in [*self.ways.get(way, []), FOUND] if way in self.ways]

    def newest(self, way):
        return self.ways[way][-1]


class NodeMaker(Maker):
    def version(self):
        return json.loads((HERE / self.folder / "package.json").read_text())["dependencies"][self.package]

    def install(self, peers_dir):
        self.words = program(self.folder, peers_dir, "server.mjs")

    def command(self, way, port):
        """The words that start it, and what it wants in its environment."""
        return [*self.words, way, *([] if port is None else [str(port)])], {}


class PythonMaker(Maker):
    def version(self):
        pins = (HERE / self.folder / "requirements.txt").read_text()
        return re.search(rf"^{self.package}==(\S+)$", pins, re.MULTILINE).group(1)

    def install(self, peers_dir):
        self.words = [str(venv(self.folder, peers_dir)), str(HERE / self.folder / "server.py")]

    def command(self, way, port):
        return [*self.words, way, *([] if port is None else [str(port)])], {"PYTHONDONTWRITEBYTECODE": "1"}


class WithTasks(PythonMaker):
    """Nothing but tasks."""

    def scenarios(self):
        return ["demo-tasks-extension"]


class RustMaker(Maker):
    def version(self):
        pins = (HERE / self.folder / "Cargo.toml").read_text()
        return re.search(rf'^{self.package} = .*"=([^"]+)"', pins, re.MULTILINE).group(1)

    def install(self, peers_dir):
        self.words = [str(cargo(self.folder, peers_dir) / "debug" / f"peer-{self.name}")]

    def command(self, way, port):
        return [*self.words, way, *([] if port is None else [str(port)])], {}


class Everything(NodeMaker):
    """The reference server that has everything."""

    WORDS = {"stdio": "stdio", "http": "streamableHttp", "sse": "sse"}

    def install(self, peers_dir):
        self.node, folder = node(peers_dir), npm(self.name, peers_dir)
        self.program = folder / "node_modules" / self.package / "dist" / "index.js"

    def scenarios(self):
        return ["everything", "everything-resume", "everything-tasks"]

    def command(self, way, port):
        if way == "stdio":
            return [self.node, str(self.program), "stdio"], {}
        preload = str(HERE / self.name / "loopback.mjs")
        return [self.node, "--import", preload, str(self.program), self.WORDS[way]], {"PORT": str(port)}


MAKERS = [
    Everything("everything", "@modelcontextprotocol/server-everything", {way: LEGACY for way in ("stdio", "http", "sse")}),
    NodeMaker("ts1", "@modelcontextprotocol/sdk", {way: LEGACY for way in ("stdio", "http", "sse")}),
    NodeMaker("ts2", "@modelcontextprotocol/server", {"stdio": ALL, "http": ALL}, "ts2-server"),
    PythonMaker("python", "mcp", {"stdio": ALL, "http": ALL, "sse": LEGACY}),
    PythonMaker("fastmcp", "fastmcp", {"stdio": ALL, "http": ALL, "sse": LEGACY}),
    WithTasks("fastmcp-tasks", "fastmcp-tasks", {"stdio": ALL[-1:], "http": ALL[-1:]}),
    RustMaker("rmcp", "rmcp", {"stdio": ALL, "http": ALL}),
]
