"""FastMCP's client (`fastmcp`), in either era, behind the few verbs of ../lib/steps.py."""

import asyncio
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))

from steps import drive  # noqa: E402
from fastmcp import Client  # noqa: E402
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport  # noqa: E402
from mcp import MCPError  # noqa: E402
from mcp_types import Implementation, PromptReference, ResourceTemplateReference  # noqa: E402

# Ping and logging are deprecated in the newest revision; they are what is tested here.
warnings.simplefilter("ignore")

REFERENCES = {"ref/prompt": PromptReference, "ref/resource": ResourceTemplateReference}


def wire(result):
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


class Peer:
    def __init__(self, job):
        self.on_log = None
        self.modern = job["era"] == "modern"
        command = job.get("command")
        transport = StreamableHttpTransport(job["url"]) if job.get("url") else StdioTransport(command[0], command[1:])
        self.client = Client(
            transport,
            # In the modern column the client finds the era out by itself, as an application would let it.
            mode="auto" if self.modern else "legacy",
            client_info=Implementation(name="peer-fastmcp", version="1.0.0"),
            log_handler=self.logged,
        )

    async def logged(self, params):
        if self.on_log:
            self.on_log(params)

    async def connect(self):
        await self.client.__aenter__()
        client = self.client
        return {
            "revision": client.protocol_version,
            "server": wire(client.server_info) if client.server_info else None,
            "capabilities": wire(client.server_capabilities),
        }

    async def list(self, what, cursor):
        lists = {
            "tools": self.client.list_tools_mcp,
            "resources": self.client.list_resources_mcp,
            "resourceTemplates": self.client.list_resource_templates_mcp,
            "prompts": self.client.list_prompts_mcp,
        }
        return wire(await lists[what](cursor=cursor))

    async def want_logs(self):
        # The modern era asks with each request, which this client always does.
        if not self.modern:
            await self.client.set_logging_level("debug")

    async def call(self, name, arguments, on_progress=None):
        return wire(await self.client.call_tool_mcp(name, arguments, progress_handler=on_progress))

    async def read(self, uri):
        return wire(await self.client.read_resource_mcp(uri))

    async def prompt(self, name, arguments):
        return wire(await self.client.get_prompt_mcp(name, arguments))

    async def complete(self, ref, argument, context):
        reference = REFERENCES[ref["type"]](**ref)
        return wire(await self.client.complete_mcp(reference, argument, (context or {}).get("arguments")))

    async def level(self, level):
        await self.client.set_logging_level(level)
        return {}

    async def ping(self):
        return {} if await self.client.ping() else {"not": "empty"}

    async def close(self):
        await self.client.close()

    @staticmethod
    def code(error):
        return error.code if isinstance(error, MCPError) else None


asyncio.run(drive(Peer))
