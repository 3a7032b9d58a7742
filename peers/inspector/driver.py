"""The Inspector's command line: one process per step, in either era, its JSON read back. Runs on any Python 3.11."""

import concurrent.futures
import json
import subprocess
import sys
import time

# `--cli` has no verb for these, or prints nothing but the result.
CANNOT = {
    "complete": "the command line has no completion",
    "cancel": "the command line cannot cancel",
    "ping": "the command line has no ping",
    "subscribe": "the command line ends with its answer",
    "changes": "the command line ends with its answer",
    "many": "the command line makes one call per process",
    "close": "the command line opens and closes with every step",
}
LISTS = {
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
}


def method(step):
    """The arguments that make the Inspector do this step, or the reason why it cannot."""
    do = step["do"]
    if do in CANNOT:
        return None, CANNOT[do]
    if "answers" in step:
        return None, "the command line answers no questions"
    if step.get("watch"):
        return None, "the command line prints only the result"
    if "expect_error" in step:
        return None, "the command line does not print the code of an error"
    if do == "connect":
        return ["initialize"], None
    if do == "list":
        return [LISTS[step["what"]]], None
    if do == "call":
        arguments = json.dumps(step.get("arguments", {}))
        return ["tools/call", "--tool-name", step["tool"], "--tool-args-json", arguments], None
    if do == "read":
        return ["resources/read", "--uri", step["uri"]], None
    if do == "prompt":
        pairs = [f"{key}={json.dumps(value)}" for key, value in step.get("arguments", {}).items()]
        return ["prompts/get", "--prompt-name", step["prompt"], *(["--prompt-args", *pairs] if pairs else [])], None
    return ["logging/setLevel", "--log-level", step["level"]], None


def observe(step, result):
    """The Inspector's result in the shape that the other drivers report."""
    if step["do"] == "connect":
        return {
            "revision": result.get("protocolVersion"),
            "server": result.get("serverInfo"),
            "capabilities": result.get("capabilities"),
        }
    if step["do"] == "list":
        return {"items": result[step["what"]]}
    return result


def run(job, step):
    words, cannot = method(step)
    if cannot:
        return {"blank": cannot}
    options = ["-q", "--format", "json", "--protocol-era", job["era"], "--method", *words]
    # What follows the two dashes is the server's, whatever it looks like.
    target = ["--server-url", job["url"], "--transport", job["transport"]] if "url" in job else ["--", *job["command"]]
    command = [*job["inspector"], "--cli", *options, *target]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=job["step_seconds"])
    except subprocess.TimeoutExpired:
        return {"thrown": f"no answer within {job['step_seconds']} s"}
    try:
        return {"got": observe(step, json.loads(done.stdout)["result"]), "exit": done.returncode}
    except (ValueError, KeyError, TypeError):
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-600:]
        return {"thrown": f"exit {done.returncode}: {said}"}


def timed(job, step):
    started = time.monotonic()
    seen = run(job, step)
    return {"step": step["name"], "ms": round((time.monotonic() - started) * 1000), **seen}


def main():
    job = json.loads(sys.argv[1])
    with concurrent.futures.ThreadPoolExecutor(job["jobs"]) as pool:
        for line in pool.map(lambda step: timed(job, step), job["steps"]):
            print(json.dumps(line, separators=(",", ":")), flush=True)


main()
