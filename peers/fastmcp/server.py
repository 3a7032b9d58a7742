"""A server with FastMCP: `server.py stdio`, or `server.py http|sse PORT`."""

import asyncio
import logging
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))

import uvicorn  # noqa: E402
from content import Form, Nested, Sum, add_resources, completions, die, echoed, haiku, media, new_id, page  # noqa: E402
from fastmcp import Context, FastMCP  # noqa: E402
from fastmcp.exceptions import ToolError  # noqa: E402
from fastmcp.server.event_store import EventStore  # noqa: E402
from fastmcp.tools.base import Tool  # noqa: E402
from mcp_types import CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestFormParams  # noqa: E402
from mcp_types import InputRequiredResult, ListRootsRequest, ToolListChangedNotification  # noqa: E402

# Logging is deprecated in the newest revision; it is what is tested here.
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

PAGE = 5

server = FastMCP("served-fastmcp", version="1.0.0", instructions="Ask away.", list_page_size=PAGE)
counts = {"cancelled": 0}


def is_modern(ctx):
    return ctx.request_context.protocol_version >= "2026"


@server.tool(output_schema=None)
async def echo(text: str, times: int = 1, tags: list[str] | None = None, nested: Nested | None = None):
    return echoed(text, times, tags, nested)


@server.tool
async def add(a: float, b: float) -> Sum:
    return Sum(sum=a + b)


@server.tool(output_schema=None)
async def fail(message: str):
    raise ToolError(message)


@server.tool(name="media", output_schema=None)
async def all_media():
    return media()


@server.tool(output_schema=None)
async def count(to: int, ctx: Context):
    for at in range(1, to + 1):
        await ctx.report_progress(at, to, f"at {at}")
        await ctx.info(f"at {at}", logger_name="count")
        await asyncio.sleep(0.05)
    return f"counted to {to}"


@server.tool(output_schema=None)
async def order(ctx: Context):
    if not is_modern(ctx):
        answer = await ctx.elicit("What may it be?", Form)
        action, form = answer.action, getattr(answer, "data", None)
    elif ctx.input_responses is None:
        params = ElicitRequestFormParams(message="What may it be?", requested_schema=Form.model_json_schema())
        return InputRequiredResult(input_requests={"it": ElicitRequest(params=params)})
    else:
        answer = ctx.input_responses["it"]
        action, form = answer.action, answer.content and Form(**answer.content)
    if action != "accept":
        raise ToolError(f"the user said {action}")
    return f"{form.cups} x {form.drink}"


@server.tool(output_schema=None)
async def visit(ctx: Context):
    if not is_modern(ctx):
        asked = {"message": "Go there?", "url": "https://example.com/", "elicitation_id": new_id()}
        return (await ctx.session.elicit_url(**asked, related_request_id=ctx.request_id)).action
    return page() if ctx.input_responses is None else ctx.input_responses["it"].action


@server.tool(name="haiku", output_schema=None)
async def write(about: str, ctx: Context):
    if not is_modern(ctx):
        answer = await ctx.session.create_message(haiku(about), max_tokens=100, related_request_id=ctx.request_id)
        return answer.content.text
    if ctx.input_responses is not None:
        return ctx.input_responses["it"].content.text
    params = CreateMessageRequestParams(messages=haiku(about), max_tokens=100)
    return InputRequiredResult(input_requests={"it": CreateMessageRequest(params=params)})


@server.tool(output_schema=None)
async def folders(ctx: Context):
    if not is_modern(ctx):
        answer = await ctx.session.list_roots()
    elif ctx.input_responses is None:
        return InputRequiredResult(input_requests={"it": ListRootsRequest()})
    else:
        answer = ctx.input_responses["it"]
    return "\n".join(str(root.uri) for root in answer.roots)


@server.tool(output_schema=None)
async def wait(seconds: float):
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        counts["cancelled"] += 1
        raise
    return "waited"


@server.tool(output_schema=None)
async def cancelled():
    return str(counts["cancelled"])


async def treasure() -> str:
    return "gold"


@server.tool(output_schema=None)
async def door(open: bool, ctx: Context):
    if open:
        server.add_tool(Tool.from_function(treasure))
    else:
        server.local_provider.remove_tool("treasure")
    await ctx.send_notification(ToolListChangedNotification())
    return "open" if open else "shut"


@server.tool(output_schema=None)
async def tick():
    return "ticked"


@server.tool(name="die", output_schema=None)
async def end():
    die()
    await asyncio.sleep(5)


add_resources(server)


@server.prompt
def review(code: str, language: str) -> str:
    return f"Review this {language}: {code}"


@server.completion
async def complete(ref, argument, context):
    return completions(argument)


way, *port = sys.argv[1:]
if way == "stdio":
    server.run(show_banner=False)
else:
    store = {"event_store": EventStore()} if way == "http" else {}
    uvicorn.run(server.http_app(transport=way, **store), host="127.0.0.1", port=int(port[0]), log_level="warning")
