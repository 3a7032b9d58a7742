"""The committed matrix: peer, era, transport and feature to `pass` or `blank: reason`, read, compared and written."""

import json
import tomllib

CLIENTS = """\
# What every peer can do with the server, as `peers/run.py` finds it: peer, era, transport, feature.
# "pass", or "blank: reason" where a peer has no way to ask, or asks wrongly. A pass that fails is an error, and so is a
# blank that passes. `peers/run.py --write` regenerates this file; reasons written by hand stay, and a failure is never
# turned into a blank: that takes a person and a reason.
"""


SERVERS = """\
# What our client can do with the servers of other makers, as `peers/run.py` finds it: server, revision (`found`: the client was
# offered all, and found out), transport, feature. "pass", or "blank: reason" where the server does not do it, or does it wrongly.
# A pass that fails is an error, and so is a blank that passes. `peers/run.py --write` regenerates this file; reasons written by
# hand stay, and a failure is never turned into a blank: that takes a person and a reason.
"""


def load(path):
    return tomllib.loads(path.read_text()) if path.is_file() else {}


def cells(matrix, column):
    peer, era, transport = column
    return matrix.get(peer, {}).get(era, {}).get(transport, {})


def compare(want, status, detail):
    """(outcome, sentence) for one cell: `passed`, `failed` or `skipped`."""
    if status == "absent":
        return "skipped", detail
    blank = isinstance(want, str) and want.startswith("blank: ") and len(want) > len("blank: ")
    if want != "pass" and not blank:
        return "failed", f"the matrix has {want!r} here, and {status} was found {detail}".rstrip()
    if status == "pass":
        return ("failed", f"stale: the matrix says {want!r}, and it passes") if blank else ("passed", "")
    if blank:
        return "skipped", want.removeprefix("blank: ")
    return "failed", detail


def cell(old, status, detail):
    """What a cell becomes when the file is written anew."""
    if status == "pass":
        return "pass"
    if status == "absent":
        return old or "pass"
    if isinstance(old, str) and old.startswith("blank: "):
        return old
    return f"blank: {detail}" if status == "blank" else "pass"


def write(path, matrix, found, head):
    """Puts what was found, by column, into the matrix and leaves the columns that were not run as they are."""
    for (peer, era, transport), results in found.items():
        old = cells(matrix, (peer, era, transport))
        column = {name: cell(old.get(name), *result) for name, result in results.items()}
        matrix.setdefault(peer, {}).setdefault(era, {})[transport] = column
    lines = [head]
    for peer, eras in matrix.items():
        for era, transports in eras.items():
            for transport, column in transports.items():
                lines.append(f"[{peer}.{era}.{transport}]")
                lines += [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in column.items()]
                lines.append("")
    path.write_text("\n".join(lines).rstrip() + "\n")
