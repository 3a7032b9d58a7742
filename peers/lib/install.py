"""Installs the pinned peers below one folder, each into a folder of its own, and only when what is pinned has changed."""

import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
NODE_NEEDED = (22, 19)
LIMIT_SECONDS = 600


class CannotInstall(Exception):
    """Nothing can be run; the message says what to do."""


class CannotFetch(Exception):
    """One peer cannot be run here, and that is no fault of anybody's; the message says why."""


def command(words, folder, environment=None):
    try:
        quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "env": environment}
        done = subprocess.run(words, cwd=folder, timeout=LIMIT_SECONDS, **quiet)
    except FileNotFoundError:
        raise CannotInstall(f"`{words[0]}` is not on PATH; install it and run again") from None
    except subprocess.TimeoutExpired:
        raise CannotInstall(f"`{' '.join(words[:3])}` did not end within {LIMIT_SECONDS} s; run again") from None
    if done.returncode != 0:
        raise CannotInstall(f"`{' '.join(words)}` failed:\n{done.stderr[:2000] or done.stdout[-2000:]}")


def installed(folder, manifests, extra, build):
    """Runs `build` in a fresh `folder` unless the stamp says that these manifests are what it holds."""
    digest = hashlib.sha256(extra.encode())
    for manifest in manifests:
        digest.update(manifest.read_bytes())
    stamp = folder / "installed"
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for manifest in manifests:
        shutil.copy(manifest, folder)
    build(folder)
    stamp.write_text(digest.hexdigest())


def npm(name, peers_dir):
    def build(folder):
        command(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], folder)

    manifests = [HERE / name / "package.json", HERE / name / "package-lock.json"]
    installed(peers_dir / name, manifests, platform.machine(), build)
    return peers_dir / name


def program(name, peers_dir, file):
    """A program of ours beside the packages that it imports, where Node looks for them, and the words that run it."""
    folder = npm(name, peers_dir)
    for part in ("lib", name):
        (peers_dir / part).mkdir(exist_ok=True)
        for source in (HERE / part).glob("*.mjs"):
            shutil.copy(source, peers_dir / part)
    return [node(peers_dir), str(folder / file)]


def venv(name, peers_dir):
    def build(folder):
        command([sys.executable, "-m", "venv", "env"], folder)
        command(["env/bin/python", "-m", "pip", "install", "-q", "-r", "requirements.txt"], folder)

    installed(peers_dir / name, [HERE / name / "requirements.txt"], sys.version, build)
    return peers_dir / name / "env" / "bin" / "python"


def cargo(name, peers_dir):
    """The target folder of a crate that is no member of the workspace, built; cargo itself knows what has changed."""
    target = peers_dir / name / "target"
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    try:
        command(["cargo", "fetch", "--locked"], HERE / name, environment)
    except CannotInstall as fault:
        raise CannotFetch(f"its crates cannot be fetched: {str(fault).strip().splitlines()[-1]}") from None
    command(["cargo", "build", "--quiet", "--locked", "--offline"], HERE / name, environment)
    return target


def node(peers_dir):
    """A Node that is new enough for every peer: the one on PATH, or else one from the package registry."""
    found = shutil.which("node")
    if found:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30).stdout
        if tuple(int(part) for part in version.strip().lstrip("v").split(".")[:2]) >= NODE_NEEDED:
            return found
    folder = npm("node22", peers_dir)
    for package in json.loads((folder / "package.json").read_text())["optionalDependencies"]:
        binary = folder / "node_modules" / package / "bin" / "node"
        if binary.is_file():
            return str(binary)
    raise CannotInstall(f"no Node {NODE_NEEDED[0]}.{NODE_NEEDED[1]} or newer on PATH, and none packaged for this machine")
