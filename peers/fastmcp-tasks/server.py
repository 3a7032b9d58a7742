"""A server with FastMCP and its package of tasks: `server.py stdio`, or `server.py http PORT`."""

import asyncio
import logging
import pathlib
import sys
from datetime import timedelta

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))

import uvicorn  # noqa: E402
from content import Form  # noqa: E402
from fastmcp import Context, FastMCP  # noqa: E402
from fastmcp.utilities.tasks import TaskConfig  # noqa: E402
from fastmcp_tasks import TasksExtension  # noqa: E402
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult  # noqa: E402

logging.disable(logging.WARNING)

server = FastMCP("served-fastmcp-tasks", version="1.0.0")
server.add_extension(TasksExtension())


def task(mode):
    return TaskConfig(mode=mode, poll_interval=timedelta(milliseconds=50))


@server.tool(task=task("optional"), output_schema=None)
async def brew(seconds: float):
    await asyncio.sleep(seconds)
    return "brewed"


@server.tool(name="order-later", task=task("required"), output_schema=None)
async def order_later(ctx: Context):
    if ctx.input_responses is None:
        params = ElicitRequestFormParams(message="What may it be?", requested_schema=Form.model_json_schema())
        return InputRequiredResult(input_requests={"it": ElicitRequest(params=params)})
    form = Form(**ctx.input_responses["it"].content)
    return f"{form.cups} x {form.drink}"


way, *port = sys.argv[1:]
if way == "stdio":
    server.run(show_banner=False)
else:
    uvicorn.run(server.http_app(transport=way), host="127.0.0.1", port=int(port[0]), log_level="warning")
