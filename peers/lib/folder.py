"""The folder that a scenario serves, made anew from the scenario's own list of files."""

import base64
import shutil


def make(place, spec):
    """Writes `files` (name to text, or to `{"base64": ...}`) and `many` numbered files below `place`."""
    shutil.rmtree(place, ignore_errors=True)
    for name, content in spec["files"].items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            file.write_text(content, encoding="utf-8")
        else:
            file.write_bytes(base64.b64decode(content["base64"]))
    many = spec.get("many")
    for i in range(many["count"] if many else 0):
        file = place / many["name"].replace("{i}", f"{i:04}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"number {i}\n", encoding="utf-8")


def fill(value, place):
    """The scenario with the folder's real path, or its URI, wherever it is named."""
    if isinstance(value, str):
        return value.replace("$FOLDER_URI", place.as_uri()).replace("$FOLDER", str(place))
    if isinstance(value, list):
        return [fill(item, place) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, place) for key, item in value.items()}
    return value
