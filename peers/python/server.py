"""A server with the official Python SDK: `server.py stdio`, or `server.py http|sse PORT`."""

import asyncio
import pathlib
import sys
import warnings
from typing import Annotated

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))

from content import MODERN, Form, Kept, Nested, Sum, add_resources, completions, die, echoed  # noqa: E402
from content import failed, haiku, media, new_id, page, texts  # noqa: E402
from mcp.server.elicitation import ElicitationResult  # noqa: E402
from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample  # noqa: E402
from mcp_types import CallToolResult, Completion, CreateMessageResult, EmptyResult, InputRequiredResult, ListRootsResult  # noqa: E402
from mcp_types import SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams  # noqa: E402

# Logging is deprecated in the newest revision; it is what is tested here.
warnings.simplefilter("ignore")

server = MCPServer("served-python", version="1.0.0", instructions="Ask away.", log_level="WARNING")
counts = {"cancelled": 0}
subscribed = set()


@server.tool(structured_output=False)
async def echo(text: str, times: int = 1, tags: list[str] | None = None, nested: Nested | None = None):
    return echoed(text, times, tags, nested)


@server.tool()
async def add(a: float, b: float) -> Sum:
    return Sum(sum=a + b)


@server.tool(structured_output=False)
async def fail(message: str):
    return failed(message)


@server.tool(name="media", structured_output=False)
async def all_media():
    return media()


@server.tool(structured_output=False)
async def count(to: int, ctx: Context):
    for at in range(1, to + 1):
        await ctx.report_progress(at, to, f"at {at}")
        await ctx.log("info", f"at {at}", logger_name="count")
        await asyncio.sleep(0.05)
    return f"counted to {to}"


def form() -> Elicit[Form]:
    return Elicit("What may it be?", Form)


@server.tool(structured_output=False)
async def order(answer: Annotated[ElicitationResult[Form], Resolve(form)]):
    if answer.action != "accept":
        return failed(f"the user said {answer.action}")
    return f"{answer.data.cups} x {answer.data.drink}"


@server.tool(structured_output=False)
async def visit(ctx: Context) -> CallToolResult | InputRequiredResult:
    if ctx.protocol_version < MODERN:
        answer = await ctx.elicit_url("Go there?", "https://example.com/", new_id())
    elif ctx.input_responses is None:
        return page()
    else:
        answer = ctx.input_responses["it"]
    return CallToolResult(content=texts(answer.action))


def poem(about: str) -> Sample:
    return Sample(haiku(about), max_tokens=100)


@server.tool(name="haiku", structured_output=False)
async def write(about: str, answer: Annotated[CreateMessageResult, Resolve(poem)]):
    return answer.content.text


def roots() -> ListRoots:
    return ListRoots()


@server.tool(structured_output=False)
async def folders(answer: Annotated[ListRootsResult, Resolve(roots)]):
    return "\n".join(str(root.uri) for root in answer.roots)


@server.tool(structured_output=False)
async def wait(seconds: float):
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        counts["cancelled"] += 1
        raise
    return "waited"


@server.tool(structured_output=False)
async def cancelled():
    return str(counts["cancelled"])


async def treasure():
    return "gold"


@server.tool(structured_output=False)
async def door(open: bool, ctx: Context):
    if open:
        server.add_tool(treasure)
    else:
        server.remove_tool("treasure")
    await (ctx.session.send_tool_list_changed() if ctx.protocol_version < MODERN else ctx.notify_tools_changed())
    return "open" if open else "shut"


@server.tool(structured_output=False)
async def tick(ctx: Context):
    if ctx.protocol_version >= MODERN:
        await ctx.notify_resource_updated("demo://counter")
    elif "demo://counter" in subscribed:
        await ctx.session.send_resource_updated("demo://counter")
    return "ticked"


@server.tool(name="die", structured_output=False)
async def end():
    die()
    await asyncio.sleep(5)


add_resources(server)


@server.prompt()
def review(code: str, language: str) -> str:
    return f"Review this {language}: {code}"


@server.completion()
async def complete(ref, argument, context):
    return Completion(values=completions(argument))


def by_hand():
    """What the SDK leaves to the layer below."""

    async def subscribe(ctx, params):
        subscribed.add(str(params.uri))
        return EmptyResult()

    async def unsubscribe(ctx, params):
        subscribed.discard(str(params.uri))
        return EmptyResult()

    async def level(ctx, params):
        return EmptyResult()

    add_handler = server._lowlevel_server.add_request_handler
    add_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    add_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
    add_handler("logging/setLevel", SetLevelRequestParams, level)


by_hand()
way, *port = sys.argv[1:]
if way == "stdio":
    server.run()
elif way == "http":
    server.run("streamable-http", port=int(port[0]), event_store=Kept())
else:
    server.run("sse", port=int(port[0]))
