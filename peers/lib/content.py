"""What the Python servers have to give, whichever SDK they are written with."""

import base64
import json
import os
import sys
import threading
import uuid
from typing import Annotated, Literal

from mcp.server.streamable_http import EventMessage, EventStore
from mcp_types import (
    AudioContent,
    CallToolResult,
    ElicitRequest,
    ElicitRequestURLParams,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

LOGO = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
MODERN = "2026-07-28"


class Form(BaseModel):
    drink: Literal["coffee", "tea"]
    cups: Annotated[int, Field(ge=1, le=12)]


class Nested(BaseModel):
    deep: bool


class Sum(BaseModel):
    sum: float


def texts(*said):
    return [TextContent(type="text", text=text) for text in said]


def echoed(text, times, tags, nested):
    given = {"text": text, "times": times, "tags": tags, "nested": nested and nested.model_dump()}
    return texts(text * times, json.dumps(given, ensure_ascii=False))


def media():
    return [
        ImageContent(type="image", mime_type="image/png", data=LOGO),
        AudioContent(type="audio", mime_type="audio/wav", data=SOUND),
        ResourceLink(type="resource_link", uri="demo://greeting", name="greeting"),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri="demo://greeting", mime_type="text/plain", text="Hello!")),
    ]


def failed(message):
    return CallToolResult(content=texts(message), is_error=True)


def haiku(about):
    content = TextContent(type="text", text=f"Write a haiku about {about}.")
    return [SamplingMessage(role="user", content=content)]


def page():
    """The question of a modern call that sends the user to a page."""
    params = ElicitRequestURLParams(message="Go there?", url="https://example.com/")
    return InputRequiredResult(input_requests={"it": ElicitRequest(params=params)})


def new_id():
    return str(uuid.uuid4())


def begins(value, *words):
    return [word for word in words if word.startswith(value)]


def completions(argument):
    return begins(argument.value, *(("Ada", "Alan", "Grace") if argument.name == "name" else ("rust", "ruby", "go")))


def add_resources(server):
    @server.resource("demo://greeting", mime_type="text/plain", title="A greeting")
    def greeting() -> str:
        return "Hello!"

    @server.resource("demo://counter")
    def counter() -> str:
        return "0"

    @server.resource("demo://logo", mime_type="image/png")
    def logo() -> bytes:
        return base64.b64decode(LOGO)

    @server.resource("demo://greeting/{name}")
    def greet(name: str) -> str:
        return f"Hello, {name}!"


def die():
    print("it dies now", file=sys.stderr, flush=True)
    threading.Timer(0.02, os._exit, (3,)).start()


class Kept(EventStore):
    """Keeps what was sent on a stream, so that it can be had again."""

    def __init__(self):
        self.events = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events) - 1)

    async def replay_events_after(self, last_event_id, send_callback):
        last = int(last_event_id)
        stream = self.events[last][0]
        for number, (of, message) in enumerate(self.events[last + 1 :], last + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
