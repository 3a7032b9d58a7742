"""FastMCP, set up as its documentation shows it: stdio, or HTTP when an address is given."""

import sys
from typing import Annotated

from fastmcp import Context, FastMCP
from pydantic import BaseModel, Field

server = FastMCP("compared")


class Name(BaseModel):
    name: str


@server.tool
async def echo(text: str) -> str:
    """Says the text again."""
    return text


@server.tool
async def pick(count: Annotated[int, Field(ge=1, le=3)]) -> str:
    """Picks one to three."""
    return str(count)


@server.tool
async def boom() -> str:
    """Fails unexpectedly."""
    raise RuntimeError("boom")


@server.tool
async def ask(ctx: Context) -> str:
    """Asks the user for a name."""
    answer = await ctx.elicit("Your name?", Name)
    return f"hello {answer.data.name}" if answer.action == "accept" else "hello"


if len(sys.argv) > 1:
    host, port = sys.argv[1].rsplit(":", 1)
    server.run("http", host=host, port=int(port), show_banner=False)
else:
    server.run(show_banner=False)
