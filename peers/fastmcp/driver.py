"""FastMCP's client (`fastmcp`), in either era, behind the few verbs of ../lib/steps.py."""

import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))

from fastmcp import Client  # noqa: E402
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport  # noqa: E402
from mcp import MCPError  # noqa: E402
from pysdk import SdkPeer, wire  # noqa: E402
from steps import drive  # noqa: E402


def transport(job):
    if job["transport"] == "stdio":
        return StdioTransport(job["command"][0], job["command"][1:])
    return SSETransport(job["url"]) if job["transport"] == "sse" else StreamableHttpTransport(job["url"])


class Peer(SdkPeer):
    suffix = "_mcp"

    def __init__(self, job):
        super().__init__(job)
        self.client = Client(
            transport(job),
            mode=self.mode,
            client_info=self.info("fastmcp"),
            log_handler=self.logged,
            message_handler=self.noticed,
            elicitation_handler=self.asked_by_form,
            sampling_handler=self.asked_for_text,
            roots=self.asked_for_roots,
        )

    async def asked_by_form(self, _message, _form, params, _context):
        return self.elicited(params)

    async def asked_for_text(self, _messages, params, _context):
        return self.sampled(params)

    async def asked_for_roots(self, _context):
        return self.rooted().roots

    async def call(self, name, arguments, on_progress=None):
        return wire(await self.client.call_tool_mcp(name, arguments, progress_handler=on_progress))

    async def ping(self):
        return {} if await self.client.ping() else {"not": "empty"}

    async def close(self):
        await self.client.close()

    @staticmethod
    def code(error):
        return error.code if isinstance(error, MCPError) else None


asyncio.run(drive(Peer))
