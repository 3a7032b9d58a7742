"""The Python SDK's client (`mcp`), in either era, behind the few verbs of ../lib/steps.py."""

import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))

from mcp import Client, MCPError, StdioServerParameters  # noqa: E402
from mcp.client.sse import sse_client  # noqa: E402
from pysdk import SdkPeer, wire  # noqa: E402
from steps import drive  # noqa: E402


def server(job):
    if job["transport"] == "stdio":
        return StdioServerParameters(command=job["command"][0], args=job["command"][1:])
    return sse_client(job["url"]) if job["transport"] == "sse" else job["url"]


class Peer(SdkPeer):
    def __init__(self, job):
        super().__init__(job)
        self.client = Client(
            server(job),
            mode=self.mode,
            client_info=self.info("python"),
            logging_callback=self.logged,
            log_level="debug",
            message_handler=self.noticed,
            elicitation_callback=self.asked_by_form,
            sampling_callback=self.asked_for_text,
            list_roots_callback=self.asked_for_roots,
            cache=None,
        )

    async def asked_by_form(self, _context, params):
        return self.elicited(params)

    async def asked_for_text(self, _context, params):
        return self.sampled(params)

    async def asked_for_roots(self, _context):
        return self.rooted()

    async def call(self, name, arguments, on_progress=None):
        return wire(await self.client.call_tool(name, arguments, progress_callback=on_progress))

    async def ping(self):
        return wire(await self.client.send_ping())

    async def close(self):
        await self.client.__aexit__(None, None, None)

    @staticmethod
    def code(error):
        return error.code if isinstance(error, MCPError) else None


asyncio.run(drive(Peer))
