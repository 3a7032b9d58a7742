#!/usr/bin/env python3
"""Asks the same of servers made with several SDKs, and prints what they did as a table.

    python3 peers/compare/run.py [--home DIR] [--sdk NAME]… [--row NAME]… [--debug]

Installs the pinned versions below DIR (default .peers/compare) and builds the Rust servers, in release unless --debug is
given; then figures of processor time and start are left out. Needs cargo, Node 20 with npm, Python 3.11 with venv, Linux.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from probes import ROWS

HERE = Path(__file__).resolve().parent
MEASURED = {"cpu_stdio", "cpu_http", "start", "sessions"}


def python(home):
    folder = home / "python"
    program = folder / "bin/python"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        # FastMCP's pins name the official SDK too, in the version that peers/python pins.
        pins = HERE.parent / "fastmcp/requirements.txt"
        subprocess.run([program, "-m", "pip", "install", "--quiet", "--requirement", pins], check=True)
    return str(program)


def node(home):
    folder = home / "ts"
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted((HERE / "ts").glob("*.*")):
        shutil.copy(file, folder)
    if not (folder / "node_modules").exists():
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True)
    return folder


def cargo(home, name, debug):
    options = [] if debug else ["--release"]
    if name == "polyport":
        # The versions of the tree, which move with it.
        shutil.copy(HERE.parent.parent / "Cargo.lock", HERE / name)
    else:
        options.append("--locked")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(home / f"target-{name}")}
    subprocess.run(["cargo", "build", "--quiet", *options], cwd=HERE / name, env=environment, check=True)
    return str(home / f"target-{name}" / ("debug" if debug else "release") / f"compare-{name}")


SDKS = {
    "polyport": lambda home, debug: [cargo(home, "polyport", debug)],
    "rmcp": lambda home, debug: [cargo(home, "rmcp", debug)],
    "FastMCP": lambda home, _: [python(home), str(HERE / "python/fast.py")],
    "Python": lambda home, _: [python(home), str(HERE / "python/official.py")],
    "TypeScript 2": lambda home, _: ["node", str(node(home) / "second.mjs")],
    "TypeScript 1": lambda home, _: ["node", str(node(home) / "first.mjs")],
}


def cell(probe, command):
    try:
        return probe(command)
    except Exception as error:  # A server that cannot be asked is a finding, not the end of the table.
        return f"failed: {type(error).__name__} {error}".replace("|", "/")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--home", type=Path, default=HERE.parent.parent / ".peers/compare")
    words.add_argument("--sdk", action="append", choices=list(SDKS))
    words.add_argument("--row", action="append", choices=[name for name, _, _ in ROWS])
    words.add_argument("--debug", action="store_true")
    asked = words.parse_args()
    home = asked.home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    commands = {name: make(home, asked.debug) for name, make in SDKS.items() if name in (asked.sdk or SDKS)}
    rows = [row for row in ROWS if row[0] in (asked.row or [name for name, _, _ in ROWS])]
    if asked.debug:
        rows = [row for row in rows if row[0] not in MEASURED]
    print("| | " + " | ".join(commands) + " |")
    print("|---|" + "---|" * len(commands))
    failed = 0
    for _, title, probe in rows:
        cells = [cell(probe, command) for command in commands.values()]
        failed += sum(text.startswith("failed") for text in cells)
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)
    print(f"compare: {len(rows) * len(commands)} cells, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
