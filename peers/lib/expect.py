"""What a scenario expects, against what a driver saw: a partial match. An object may have more members than are named,
a list has exactly the named items, and an object whose one member begins with `$` is one of the checks below."""

import json
import re

TYPES = {"string": str, "number": (int, float), "object": dict, "array": list}


def numbered(want, got):
    texts = [want["$numbered"].replace("{i}", str(i)) for i in range(want["count"])]
    return got == texts


def counted(want, got):
    """Progress 1, 2, … with total and message, all of it in order and before the result."""
    if not isinstance(got, list) or not got or got[-1] != "result":
        return False
    last, steps = want["$counted"], got[:-1]
    each = [{"progress": i + 1, "total": last, "message": {"$type": "string"}} for i in range(len(steps))]
    return want["least"] <= len(steps) <= last and mismatch(each, steps) is None


CHECKS = {
    "$counted": counted,
    "$type": lambda want, got: isinstance(got, TYPES[want["$type"]]) and not isinstance(got, bool),
    "$match": lambda want, got: isinstance(got, str) and re.search(want["$match"], got) is not None,
    # A text, or an object that has it as its `msg`, as FastMCP writes log messages.
    "$says": lambda want, got: want["$says"] == (got.get("msg") if isinstance(got, dict) else got),
    "$not": lambda want, got: got != want["$not"],
    "$some": lambda want, got: got not in (None, "", {}, []),
    "$below": lambda want, got: isinstance(got, (int, float)) and got < want["$below"],
    "$bytes": lambda want, got: isinstance(got, str) and len(got.encode()) == want["$bytes"],
    "$least": lambda want, got: isinstance(got, list) and len(got) >= want["$least"],
    # No two items of the list agree in this member.
    "$distinct": lambda want, got: isinstance(got, list) and len({item.get(want["$distinct"]) for item in got}) == len(got),
    "$all": lambda want, got: all(mismatch(part, got) is None for part in want["$all"]),
    "$length": lambda want, got: isinstance(got, list) and len(got) == want["$length"],
    "$numbered": numbered,
    # Each named item is matched by some item of the list, in any order.
    "$has": lambda want, got: isinstance(got, list)
    and all(any(mismatch(item, other) is None for other in got) for item in want["$has"]),
    # The list names these, once each, and perhaps others.
    "$names": lambda want, got: isinstance(got, list)
    and all([item.get("name") for item in got].count(name) == 1 for name in want["$names"]),
    # The list names none of these.
    "$lacks": lambda want, got: isinstance(got, list) and not {item.get("name") for item in got} & set(want["$lacks"]),
}


def shorten(value, limit=300):
    text = json.dumps(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def mismatch(want, got, where="it"):
    """None if `got` is what was wanted, else one sentence that says where it is not."""
    if isinstance(want, dict):
        check = next((CHECKS[key] for key in want if key in CHECKS), None)
        if check:
            return None if check(want, got) else f"{where} should satisfy {shorten(want)} but is {shorten(got)}"
        if not isinstance(got, dict):
            return f"{where} should be an object but is {shorten(got)}"
        for key, value in want.items():
            found = mismatch(value, got.get(key), f"{where}.{key}")
            if found:
                return found
        return None
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"{where} should have {len(want)} items but is {shorten(got)}"
        for index, value in enumerate(want):
            found = mismatch(value, got[index], f"{where}[{index}]")
            if found:
                return found
        return None
    same = got == want and isinstance(got, bool) == isinstance(want, bool)
    return None if same else f"{where} should be {shorten(want)} but is {shorten(got)}"


def judge(step, era, revision, seen):
    """(status, detail) of one step: `pass`, `fail` or `blank`."""
    if "blank" in seen:
        return "blank", seen["blank"]
    if "thrown" in seen:
        return "fail", seen["thrown"]
    if "expect_error" in step:
        want = step["expect_error"]
        code = want[era] if isinstance(want, dict) else want
        if "error" not in seen:
            return "fail", f"should be refused with {code} but gave {shorten(seen['got'])}"
        fault = mismatch(code, seen["error"]["code"], "error.code")
        return ("fail", f"{fault} ({seen['error']['message']})") if fault else ("pass", "")
    if "error" in seen:
        return "fail", f"refused with {seen['error']['code']}: {seen['error']['message']}"
    want = json.loads(json.dumps(step["expect"]).replace("$revision", revision))
    fault = mismatch(want, seen["got"])
    if not fault and seen["ms"] > step.get("within_ms", float("inf")):
        fault = f"took {seen['ms']} ms, more than {step['within_ms']} ms"
    return ("fail", fault) if fault else ("pass", "")
