#!/usr/bin/env python3
"""Drives real MCP clients against a server, and a client against real MCP servers, and holds what they can do with each other to
the committed matrices.

    python3 peers/run.py --bin target/debug/polyport --client target/debug/peer-client --peers-dir .peers

Exit 0 if every cell is as the matrix says, 1 if not, 2 if the peers cannot be run."""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "lib"))
sys.dont_write_bytecode = True

import alike  # noqa: E402
import fleet  # noqa: E402
import folder  # noqa: E402
import matrix as table  # noqa: E402
import served  # noqa: E402
from cut import Cutting  # noqa: E402
from expect import judge  # noqa: E402
from install import CannotFetch, CannotInstall  # noqa: E402
from makers import MAKERS  # noqa: E402
from peers import ERAS, PEERS  # noqa: E402
from servers import HttpServer, ServerFault, kill_group  # noqa: E402

TRANSPORTS = ("stdio", "http", "sse")
STEP_SECONDS = 10
COLUMN_SECONDS = 120


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    path, names, makers = pathlib.Path, [peer.name for peer in PEERS], [maker.name for maker in MAKERS]
    add = parser.add_argument
    add("--bin", help="the `polyport` binary; each scenario says which verb of it is run")
    add("--client", type=path, help="the `peer-client` binary, for the servers of other makers")
    add("--peers-dir", type=path, default=path(".peers"), help="where the peers are installed")
    add("--matrix", type=path, default=HERE / "matrix.toml")
    add("--servers-matrix", type=path, default=HERE / "servers.toml")
    add("--peer", action="append", choices=names, help="only this peer (may be repeated)")
    add("--maker", action="append", choices=makers, help="only this server of another maker (may be repeated)")
    add("--transport", choices=TRANSPORTS, help="only this transport")
    add("--scenario", action="append", type=path, help="instead of those in peers/scenarios (may be repeated)")
    add("--jobs", type=int, default=2, help="how many columns run at once")
    add("--write", action="store_true", help="write what was found into the matrix")
    add("--install-only", action="store_true", help="install the peers and stop")
    add("--trace", type=path, help="write each conversation into a file of this folder")
    add("--server", nargs=argparse.REMAINDER, help="another server's command instead of --bin and the scenario's verb")
    given = parser.parse_args()
    if not (given.bin or given.server or given.client or given.install_only):
        parser.error("say which server: --bin PATH, or --server CMD… at the end; or which client: --client PATH")
    return given


def spoken(era, transport):
    """Whether there is such a transport in this era."""
    return transport != "sse" or era == "legacy"


def applies(step, era, transport):
    """None if the step is run in this column, else why not."""
    only = step.get("only", {})
    here = era in only.get("era", era) and transport in only.get("transport", transport)
    return None if here else only["why"]


def passed(fault):
    return ("fail", fault) if fault else ("pass", "")


def taken_up(way, results):
    """Whether a stream was taken up again; a peer that cannot do what a step asks for may never come to where it is cut."""
    blank = next((result for result in results.values() if result[0] == "blank"), None)
    return blank if blank and not way.cuts else passed(way.fault())


class Column:
    """One peer in one era over one transport against the server of one scenario."""

    def __init__(self, given, driver, key, scenario, label):
        self.driver, (self.peer, self.era, self.transport) = driver, key
        self.steps = scenario["steps"]
        self.prefix, self.cut = scenario.get("prefix", ""), scenario.get("cut")
        self.fleet, self.absent = scenario.get("fleet", {}), scenario.get("absent")
        self.seen = {}
        # A scenario may name a program that is built beside the binary.
        binary = pathlib.Path(given.bin or "").resolve()
        self.command = given.server or [str(binary.with_name(scenario.get("program", binary.name))), *scenario["server"]]
        self.label = f"{label}-{'-'.join(key)}"
        self.work = given.peers_dir / "run"
        self.trace = given.trace and given.trace / f"{self.label}.log"

    def features(self):
        return [self.prefix + name for name in [step["name"] for step in self.steps] + ["stop"] * (self.transport != "stdio")]

    def run(self):
        """{feature: (status, detail)} for every feature of the scenario."""
        if self.absent:
            return {name: ("absent", self.absent) for name in self.features()}
        try:
            with fleet.Fleet(self.fleet, self.transport, self.label, self.work, self.command) as command:
                return self.run_against(command)
        except ServerFault as fault:
            return {name: ("fail", str(fault)) for name in self.features()}

    def run_against(self, command):
        if self.transport == "stdio":
            tapped = [sys.executable, str(HERE / "lib" / "tap.py"), str(self.trace), "stdio", *command]
            return self.drive({"command": tapped if self.trace else command})
        with HttpServer(command, self.work / f"{self.label}.server") as server:
            with Cutting(server.url, self.cut) if self.cut else contextlib.nullcontext(server) as way:
                results = self.drive_http(way.url.replace("/mcp", "/sse") if self.transport == "sse" else way.url)
            ends = {"stop": passed(server.stop()), **({"taken-up": taken_up(way, results)} if self.cut else {})}
            return {**results, **{self.prefix + name: end for name, end in ends.items()}}

    def drive_http(self, url):
        if not self.trace:
            return self.drive({"url": url})
        words = [sys.executable, str(HERE / "lib" / "tap.py"), str(self.trace), "http", url]
        tap = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            return self.drive({"url": tap.stdout.readline().strip()})
        finally:
            kill_group(tap)

    def drive(self, target):
        words, extra = self.driver
        steps = [step for step in self.steps if applies(step, self.era, self.transport) is None]
        job = {**target, "era": self.era, "transport": self.transport, "steps": steps, "step_seconds": STEP_SECONDS, **extra}
        home = self.work / "home"
        home.mkdir(parents=True, exist_ok=True)
        with (self.work / f"{self.label}.stderr").open("wb") as stderr:
            process = subprocess.Popen(
                [*words, json.dumps(job)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
                # Some peers keep settings at home; theirs are not the user's, nor the other way round.
                env={**os.environ, "HOME": str(home.resolve()), "PYTHONDONTWRITEBYTECODE": "1"},
            )
            try:
                out, _ = process.communicate(timeout=COLUMN_SECONDS)
                ended = f"the driver ended with {process.returncode} before this"
            except subprocess.TimeoutExpired:
                kill_group(process)
                out, _ = process.communicate()
                ended = f"the peer was not done after {COLUMN_SECONDS} s"
            kill_group(process)
        return self.judge(out, ended)

    def judge(self, out, ended):
        # Neither an SDK that prints by itself nor a line cut by the end of the driver disturbs the rest.
        lines = [json.loads(line) for line in out.split(b"\n")[:-1] if line.startswith(b'{"step":')]
        seen = self.seen = {line["step"]: line for line in lines}
        self.revision = seen.get("connect", {}).get("got", {}).get("revision") or "none"
        if self.revision == "none" and "connect" in seen:
            ended = "not connected"
        results = {}
        for step in self.steps:
            name, why = step["name"], applies(step, self.era, self.transport)
            result = ("blank", why) if why else ("fail", ended)
            if not why and name in seen:
                result = judge(step, self.era, ERAS[self.era], seen[name])
            results[self.prefix + name] = result
        return results


def report(transport, outcomes, revisions):
    """The table of one transport: a row per feature, a column per peer and era."""
    columns = [key for key in outcomes if key[2] == transport]
    if not columns:
        return
    heads = [f"{peer} {era}" for peer, era, _ in columns]
    features = list(dict.fromkeys(name for key in columns for name in outcomes[key]))
    first = max(len(transport), *(len(name) for name in features))
    print(f"\n{transport:{first}}  " + "  ".join(heads))
    row = [f"{revisions.get(key, 'none'):{len(head)}}" for key, head in zip(columns, heads)]
    print(f"{'revision':{first}}  " + "  ".join(row))
    marks = {"passed": "pass", "skipped": "-", "failed": "FAIL", None: ""}
    for name in features:
        row = [f"{marks[outcomes[key].get(name, (None,))[0]]:{len(head)}}" for key, head in zip(columns, heads)]
        print(f"{name:{first}}  " + "  ".join(row).rstrip())


def hold(matrix, found, whole):
    """{column: {feature: (outcome, sentence)}}: what was found, held to the matrix; of a whole run, both ways."""
    outcomes = {}
    for key, results in found.items():
        want = table.cells(matrix, key)
        outcomes[key] = {name: table.compare(want.get(name), *result) for name, result in results.items()}
    if whole:
        for peer, eras in matrix.items():
            for era, ways in eras.items():
                for way, column in ways.items():
                    known = outcomes.setdefault((peer, era, way), {})
                    for name in column.keys() - known.keys():
                        known[name] = ("failed", "in the matrix, but nothing runs it")
    return outcomes


def runs(scenario, key):
    """Whether a scenario is for this column at all; `where` may be several, of which one has to fit."""
    where = (scenario or {}).get("where", {})
    names = dict(zip(("peer", "era", "transport"), key))
    fits = [all(names[what] in only for what, only in one.items()) for one in (where if isinstance(where, list) else [where])]
    return scenario is not None and any(fits)


def read_scenario(path, work):
    """One scenario, its folder made and its name filled in."""
    read = json.loads(path.read_text())
    if "folder" not in read:
        return read
    place = work / "folders" / path.stem
    folder.make(place, read["folder"])
    return folder.fill(read, place)


def installed(them, peers_dir):
    """What each gives back when it is installed, and why there are those that are not to be had here."""
    there, absent = {}, {}
    for one in them:
        try:
            there[one.name] = one.install(peers_dir)
        except CannotFetch as fault:
            absent[one.name] = str(fault)
            print(f"{one.name} is skipped: {fault}")
    return there, absent


def muster(scenarios, peers_dir):
    """Installs the servers of every fleet; without one of them its scenario says nothing."""
    _, absent = installed(fleet.makers(scenarios), peers_dir)
    for scenario in scenarios:
        if missing := absent.keys() & scenario.get("fleet", {}).keys():
            scenario["absent"] = absent[min(missing)]


def skip(outcomes, absent):
    """Nothing can be said of those that are not to be had here."""
    for (name, _, _), column in outcomes.items():
        if name in absent:
            column.update({feature: ("skipped", absent[name]) for feature in column})


def run_all(given, peers):
    given.peers_dir.mkdir(parents=True, exist_ok=True)
    (given.peers_dir / "run").mkdir(exist_ok=True)
    if given.trace:
        given.trace.mkdir(parents=True, exist_ok=True)
    drivers, absent = installed(peers, given.peers_dir.resolve())
    paths = given.scenario or sorted((HERE / "scenarios").glob("*.json"))
    scenarios = {path.stem: read_scenario(path, given.peers_dir.resolve() / "run") for path in paths}
    muster(scenarios.values(), given.peers_dir.resolve())
    if given.install_only:
        return None, {}, absent
    ways = [way for way in TRANSPORTS if given.transport in (None, way)]
    here = [peer for peer in peers if peer.name not in absent]
    keys = [((peer.name, era, way), peer) for way in ways for peer in here for era in peer.eras if spoken(era, way)]
    pairs = [(key, label) for key, peer in keys for label in peer.only or scenarios if runs(scenarios.get(label), key)]
    columns = [(key, Column(given, drivers[key[0]], key, scenarios[label], label)) for key, label in pairs]
    found, revisions = {key: {} for key, _ in pairs}, {}
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for (key, column), results in zip(columns, pool.map(lambda pair: pair[1].run(), columns)):
            found[key].update(results)
            revisions[key] = getattr(column, "revision", "none")
    compare(scenarios, dict(zip(pairs, (column for _, column in columns))), found)
    return found, revisions, absent


def compare(scenarios, columns, found):
    """Holds what two peers saw of one scenario against each other, wherever both were run."""
    for (key, label), column in columns.items():
        one = columns.get(((*alike.ONE, key[2]), label))
        if one and key[:2] == alike.OTHER and (verdict := alike.verdict(scenarios[label]["steps"], one.seen, column.seen)):
            found[key][column.prefix + alike.FEATURE] = verdict


def held(given, path, head, found, whole):
    """What was found, held to the matrix at `path`, or written into it first."""
    matrix = table.load(path)
    if given.write:
        table.write(path, matrix, found, head)
        matrix = table.load(path)
    return hold(matrix, found, whole)


def clients(given, peers):
    """The cells of the clients of other makers."""
    found, revisions, absent = run_all(given, peers)
    if found is None:
        return {}
    whole = not (given.scenario or given.peer or given.transport)
    outcomes = held(given, given.matrix, table.CLIENTS, found, whole)
    skip(outcomes, absent)
    for transport in TRANSPORTS:
        report(transport, outcomes, revisions)
    return outcomes


def servers(given, makers):
    """The cells of the servers of other makers, and a line for each column."""
    given.peers_dir.mkdir(parents=True, exist_ok=True)
    (given.peers_dir / "run").mkdir(exist_ok=True)
    _, absent = installed(makers, given.peers_dir.resolve())
    if given.install_only:
        return {}
    ways = [way for way in TRANSPORTS if given.transport in (None, way)]
    # Most of their time they wait for each other.
    with concurrent.futures.ThreadPoolExecutor(given.jobs * 2) as pool:
        here = [maker for maker in makers if maker.name not in absent]
        found = served.run_all(pool, given.client.resolve(), here, ways, given.peers_dir.resolve())
    outcomes = held(given, given.servers_matrix, table.SERVERS, found, not (given.maker or given.transport))
    skip(outcomes, absent)
    for key, column in outcomes.items():
        count = tally(cell[0] for cell in column.values())
        print(f"{' '.join(key):40}" + ", ".join(f"{number:3} {outcome}" for outcome, number in count.items()))
    return outcomes


def tally(outcomes):
    outcomes = list(outcomes)
    return {outcome: outcomes.count(outcome) for outcome in ("passed", "failed", "skipped")}


def main():
    given = arguments()
    peers = [peer for peer in PEERS if peer.name in (given.peer or [peer.name])] if given.bin or given.server else []
    makers = [maker for maker in MAKERS if maker.name in (given.maker or [maker.name])] if given.client else []
    if given.install_only:
        peers, makers = PEERS, MAKERS
    started = time.monotonic()
    try:
        outcomes = {**(clients(given, peers) if peers else {}), **(servers(given, makers) if makers else {})}
    except CannotInstall as fault:
        print(f"peers: {fault}", file=sys.stderr)
        return 2
    if given.install_only:
        return 0
    print()
    for peer in [*peers, *makers]:
        print(f"{peer.name}: {peer.package} {peer.version()}")
    cells = [(key, name, *cell) for key, column in outcomes.items() for name, cell in column.items()]
    for key, name, outcome, sentence in cells:
        if outcome == "failed":
            print(f"FAILED {'.'.join(key)} {name}: {sentence}")
    count = tally(cell[2] for cell in cells)
    print(f"in {time.monotonic() - started:.0f} s")
    print(f"peers: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
