"""The official Python SDK, set up as its documentation shows it: stdio, or HTTP when a port is given."""

import sys
from typing import Annotated

from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from pydantic import BaseModel, Field

server = MCPServer("compared")


class Name(BaseModel):
    name: str


def who() -> Elicit[Name]:
    return Elicit("Your name?", Name)


@server.tool()
async def echo(text: str) -> str:
    """Says the text again."""
    return text


@server.tool()
async def pick(count: Annotated[int, Field(ge=1, le=3)]) -> str:
    """Picks one to three."""
    return str(count)


@server.tool()
async def boom() -> str:
    """Fails unexpectedly."""
    raise RuntimeError("boom")


@server.tool()
async def ask(name: Annotated[Name, Resolve(who)]) -> str:
    """Asks the user for a name."""
    return f"hello {name.name}"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1].rsplit(":", 1)[1]))
else:
    server.run()
