#!/usr/bin/env python3
"""Checks the layout of the crates against docs/architecture.md.

Crates are organized in floors, and dependencies go only downwards. Cargo does not enforce this.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARCHITECTURE = ROOT / "docs/architecture.md"

# From bottom to top: a crate imports only from its own floor or below.
FLOORS = ["formats", "model", "answers", "output", "apps"]

# Crates of `support` that are part of the program, with the floors that may import them. The others are for tests and benchmarks.
LINKED_SUPPORT = {"record": {"apps"}, "symbols": {"apps"}}

# Imports that the floors would allow but the architecture does not.
FORBIDDEN = {
    "etl": {"etw"},
    "input": {"sources", "windows", "linux"},
    "windows": {"linux", "sources"},
    "linux": {"windows", "sources"},
    "evidence": {"usage", "transitions", "blame"},
    "usage": {"transitions", "blame"},
    "sections": {"report", "page"},
    "page": {"server"},
    "onoff": {"cli", "xperf", "mcp", "wasm", "server"},
}

MAX_CRATE_LINES = 15_000


def crates():
    """The folder of every crate below `crates/`, as (floor, name)."""
    return {path.parent.parent.name + "/" + path.parent.name: path.parent for path in ROOT.glob("crates/*/*/Cargo.toml")}


def metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--no-deps"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)


def import_faults(packages, place_of):
    for package in packages:
        floor, name = place_of[package["name"]]
        for dependency in package["dependencies"]:
            # Tests are not shipped and may use every crate.
            if dependency["kind"] == "dev" or dependency["name"] not in place_of:
                continue
            other_floor, other = place_of[dependency["name"]]
            if other_floor == "support":
                allowed = floor == "support" or floor in LINKED_SUPPORT.get(other, set())
            elif floor == "support":
                allowed = name == "bench" or FLOORS.index(other_floor) <= FLOORS.index("model")
            else:
                allowed = FLOORS.index(other_floor) <= FLOORS.index(floor)
            if not allowed:
                yield f"{floor}/{name} imports {other_floor}/{other}, which is on a higher floor"
            if other in FORBIDDEN.get(name, set()):
                yield f"{floor}/{name} must not import {other_floor}/{other}"


def size_faults(folders):
    for place, folder in sorted(folders.items()):
        lines = sum(file.read_text(encoding="utf-8").count("\n") for file in (folder / "src").rglob("*.rs"))
        if lines > MAX_CRATE_LINES:
            yield f"{place}: {lines} lines in src, more than {MAX_CRATE_LINES}; split it"


def documentation_faults(folders):
    text = ARCHITECTURE.read_text(encoding="utf-8")
    for place in sorted(folders):
        name = place.split("/")[1]
        if text.count(f"| `{name}` |") != 1:
            yield f"docs/architecture.md does not describe `{name}` in exactly one row"


def main():
    packages = metadata()["packages"]
    folders = crates()
    by_folder = {folder: place for place, folder in folders.items()}
    place_of = {}
    for package in packages:
        place_of[package["name"]] = by_folder[pathlib.Path(package["manifest_path"]).parent].split("/")
    unknown = [f"{place}: no floor is called that" for place in folders if place.split("/")[0] not in [*FLOORS, "support"]]
    faults = [*unknown, *import_faults(packages, place_of), *size_faults(folders), *documentation_faults(folders)]
    for fault in faults:
        print(f"check_house: {fault}", file=sys.stderr)
    if not faults:
        print(f"check_house: {len(packages)} crates on {len(FLOORS)} floors, no errors")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
