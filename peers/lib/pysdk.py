"""What the Python clients have in common: both are made of one SDK's session and types, and answer its questions alike."""

import asyncio
import contextlib
import warnings

from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged, listen
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    Implementation,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
)

# Ping, logging and more are deprecated in the newest revision; they are what is tested here.
warnings.simplefilter("ignore")

REFERENCES = {"ref/prompt": PromptReference, "ref/resource": ResourceTemplateReference}
NOTICES = {ResourceUpdated: "notifications/resources/updated", ToolsListChanged: "notifications/tools/list_changed"}


def wire(result):
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


class SdkPeer:
    """A peer without its client. `self.client` is made by whoever is based on this, with the callbacks below; the names of
    its verbs end with `suffix`."""

    suffix = ""

    def __init__(self, job):
        self.on_log = self.on_ask = self.on_notice = None
        self.modern = job["era"] == "modern"
        # In the modern column the client finds the era out by itself, as an application would let it.
        self.mode = "auto" if self.modern else "legacy"

    @staticmethod
    def info(name):
        return Implementation(name=f"peer-{name}", version="1.0.0")

    def verb(self, name):
        return getattr(self.client, name + self.suffix)

    async def logged(self, params):
        if self.on_log:
            self.on_log(params)

    async def noticed(self, message):
        method = getattr(message, "method", None)
        # The modern era's notices are read where they are listened for.
        if not self.modern and method in NOTICES.values():
            self.notice(method, getattr(message.params, "uri", None))

    def notice(self, method, uri):
        self.on_notice({"method": method, **({"uri": str(uri)} if uri else {})})

    def elicited(self, params):
        return ElicitResult.model_validate(self.on_ask("elicitation/create", wire(params)))

    def sampled(self, params):
        return CreateMessageResult.model_validate(self.on_ask("sampling/createMessage", wire(params)))

    def rooted(self):
        return ListRootsResult.model_validate(self.on_ask("roots/list", {}))

    async def connect(self):
        await self.client.__aenter__()
        client = self.client
        return {
            "revision": client.protocol_version,
            "server": wire(client.server_info) if client.server_info else None,
            "capabilities": wire(client.server_capabilities),
        }

    async def list(self, what, cursor):
        names = {"resourceTemplates": "list_resource_templates"}
        return wire(await self.verb(names.get(what, f"list_{what}"))(cursor=cursor))

    async def want_logs(self):
        # The modern era asks with each request, which the clients were told to do when they were made.
        if not self.modern:
            await self.client.set_logging_level("debug")

    async def read(self, uri):
        return wire(await self.verb("read_resource")(uri))

    async def prompt(self, name, arguments):
        return wire(await self.verb("get_prompt")(name, arguments))

    async def complete(self, ref, argument, context):
        reference = REFERENCES[ref["type"]](**ref)
        return wire(await self.verb("complete")(reference, argument, (context or {}).get("arguments")))

    async def level(self, level):
        await self.client.set_logging_level(level)
        return {}

    @contextlib.asynccontextmanager
    async def subscribed(self, uri):
        if self.modern:
            async with self.listening(resource_subscriptions=[uri]):
                yield
        else:
            await self.client.session.subscribe_resource(uri)
            yield
            await self.client.session.unsubscribe_resource(uri)

    @contextlib.asynccontextmanager
    async def watching(self, what):
        if self.modern:
            async with self.listening(**{f"{what}_list_changed": True}):
                yield
        else:
            yield

    @contextlib.asynccontextmanager
    async def listening(self, **what):
        async def read(events):
            async for event in events:
                self.notice(NOTICES[type(event)], getattr(event, "uri", None))

        async with listen(self.client.session, **what) as events:
            reading = asyncio.create_task(read(events))
            yield
            reading.cancel()
