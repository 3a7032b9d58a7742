"""Whether two clients of two eras had the same conversation with one handler: what it said and asked, in order, and what it
came to. The eras differ in the envelope only, and that is left out here."""

FEATURE = "same-conversation"
ONE, OTHER = ("ts1", "legacy"), ("ts2", "modern")
ENVELOPE = ("_meta", "resultType")


def bare(value):
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if key not in ENVELOPE}
    return [bare(item) for item in value] if isinstance(value, list) else value


def difference(one, other, where):
    """None if both are the same, else one sentence that says where they are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [*one, *(key for key in other if key not in one)]
        pairs = [(one.get(key), other.get(key), f"{where}.{key}") for key in keys]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(one, other))]
    else:
        same = type(one) is type(other) and one == other
        return None if same else f"{where}: {ONE[0]} saw {one!r:.300}, {OTHER[0]} saw {other!r:.300}"
    return next((found for found in (difference(*pair) for pair in pairs) if found), None)


def verdict(steps, seen, other):
    """(status, detail) of the steps that are to be alike, from what two drivers saw; None if there are none."""
    names = [step["name"] for step in steps if step.get("alike")]
    for name in names:
        both = [bare(lines.get(name, {}).get("got")) for lines in (seen, other)]
        if None in both:
            return "fail", f"{name}: there is no result to compare"
        if found := difference(*both, name):
            return "fail", found
    return ("pass", "") if names else None
