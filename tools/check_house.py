#!/usr/bin/env python3
"""Checks the layout of the crates against docs/architecture.md.

Data flows in one direction through the layers. An import in the other direction compiles, so only this check finds it.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARCHITECTURE = ROOT / "docs/architecture.md"
SECURITY = ROOT / "SECURITY.md"

# Bottom layer first: a crate imports only from its own layer or below.
LAYERS = ["formats", "model", "answers", "output", "apps"]

# Crates of `support` that are part of the program, and the layers that may import them. The others are for tests and benchmarks.
LINKED_SUPPORT = {"record": {"apps"}, "symbols": {"apps"}}

# Imports that the layers allow but the architecture forbids.
FORBIDDEN = {
    "etl": {"etw"},
    "input": {"sources", "windows", "linux"},
    "windows": {"linux", "sources"},
    "linux": {"windows", "sources"},
    "evidence": {"usage", "transitions", "blame"},
    "usage": {"transitions", "blame"},
    "sections": {"report", "page"},
    "page": {"server"},
    "onoff": {"cli", "xperf", "wpaexporter", "mcp", "wasm", "server"},
}

MAX_CRATE_LINES = 15_000


def crates():
    """Returns the folder of every crate in `crates/`, by LAYER/NAME."""
    return {path.parent.parent.name + "/" + path.parent.name: path.parent for path in ROOT.glob("crates/*/*/Cargo.toml")}


def metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--no-deps"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)


def import_faults(packages, layer_and_name):
    for package in packages:
        layer, name = layer_and_name[package["name"]]
        for dependency in package["dependencies"]:
            # Tests are not shipped, so they may use every crate.
            if dependency["kind"] == "dev" or dependency["name"] not in layer_and_name:
                continue
            other_layer, other = layer_and_name[dependency["name"]]
            if other_layer == "support":
                allowed = layer == "support" or layer in LINKED_SUPPORT.get(other, set())
            elif layer == "support":
                allowed = name == "bench" or LAYERS.index(other_layer) <= LAYERS.index("model")
            else:
                allowed = LAYERS.index(other_layer) <= LAYERS.index(layer)
            if not allowed:
                yield f"{layer}/{name} imports {other_layer}/{other}, which is on a higher layer"
            if other in FORBIDDEN.get(name, set()):
                yield f"{layer}/{name} must not import {other_layer}/{other}"


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


def unsafe_faults():
    """SECURITY.md names every file with unsafe code, and no other."""
    sources = [path for folder in ["crates", "python/src", "fuzz/fuzz_targets"] for path in (ROOT / folder).rglob("*.rs")]
    code = re.compile(r"^[^/\n]*\bunsafe\b *(\{|fn\b|impl\b|extern\b|\()|^ *// Not `forbid`", re.MULTILINE)
    unsafe = {str(path.relative_to(ROOT)) for path in sources if code.search(path.read_text(encoding="utf-8"))}
    named = set(re.findall(r"`([\w/-]+/src/[\w/]+\.rs)`", SECURITY.read_text(encoding="utf-8")))
    for path in sorted(unsafe ^ named):
        yield f"{path}: {'has unsafe code, but SECURITY.md does not name it' if path in unsafe else 'SECURITY.md names it, but it has no unsafe code'}"


def main():
    packages = metadata()["packages"]
    folders = crates()
    by_folder = {folder: place for place, folder in folders.items()}
    layer_and_name = {}
    for package in packages:
        layer_and_name[package["name"]] = by_folder[pathlib.Path(package["manifest_path"]).parent].split("/")
    unknown = [f"{place}: unknown layer" for place in folders if place.split("/")[0] not in [*LAYERS, "support"]]
    faults = [*unknown, *import_faults(packages, layer_and_name), *size_faults(folders), *documentation_faults(folders), *unsafe_faults()]
    for fault in faults:
        print(f"check_house: {fault}", file=sys.stderr)
    if not faults:
        print(f"check_house: {len(packages)} crates on {len(LAYERS)} layers, no errors")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
