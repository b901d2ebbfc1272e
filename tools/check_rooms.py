#!/usr/bin/env python3
"""Checks that each crate imports only the crates it may.

Data flows one way through the rooms of the house (docs/architecture.md); a dependency that
points the other way compiles, so only this check would notice it.
"""

import json
import subprocess
import sys

# What else each room may import, besides crates that are not ours.
MAY_IMPORT = {
    "onoff-compression": set(),
    "onoff-etl": {"onoff-compression"},
    "onoff-prefetch": {"onoff-compression"},
    "onoff-fileio": set(),
    "onoff-hive": set(),
    "onoff-etw": {"onoff-etl"},
    "onoff-firmware": set(),
    "onoff-ftrace": set(),
    "onoff-journal": set(),
    "onoff-trace": set(),
    "onoff-netboot": {"onoff-trace"},
    "onoff-sources": {
        "onoff-etl",
        "onoff-etw",
        "onoff-fileio",
        "onoff-firmware",
        "onoff-ftrace",
        "onoff-journal",
        "onoff-netboot",
        "onoff-trace",
    },
    "onoff-files": {"onoff-netboot", "onoff-sources", "onoff-trace"},
    "onoff-analysis": {"onoff-hive", "onoff-netboot", "onoff-prefetch", "onoff-trace"},
    "onoff-findings": {"onoff-trace", "onoff-analysis"},
    "onoff-report": {"onoff-netboot", "onoff-trace", "onoff-analysis", "onoff-findings"},
    "onoff-sink": set(),
    "onoff-export": {"onoff-library", "onoff-sink"},
    "onoff-library": {
        "onoff-hive",
        "onoff-netboot",
        "onoff-trace",
        "onoff-sources",
        "onoff-files",
        "onoff-analysis",
        "onoff-findings",
        "onoff-report",
        "onoff-symbols",
    },
    "onoff-wasm": {"onoff-library"},
    "onoff-mcp": set(),
    "onoff-record": {"onoff-journal", "onoff-trace"},
    "onoff-xperf": {
        "onoff-etl",
        "onoff-trace",
        "onoff-sources",
        "onoff-files",
        "onoff-analysis",
        "onoff-sink",
        "onoff-report",
    },
    "onoff": {
        "onoff-library",
        "onoff-etl",
        "onoff-etw",
        "onoff-export",
        "onoff-mcp",
        "onoff-netboot",
        "onoff-trace",
        "onoff-sources",
        "onoff-files",
        "onoff-analysis",
        "onoff-findings",
        "onoff-sink",
        "onoff-record",
        "onoff-report",
        "onoff-symbols",
        "onoff-view",
        "onoff-xperf",
    },
    "onoff-view": {"onoff-trace", "onoff-analysis", "onoff-findings", "onoff-report"},
    "onoff-symbols": set(),
    "onoff-testkit": {"onoff-etl", "onoff-etw"},
    "onoff-bench": {"onoff-etl", "onoff-etw", "onoff-trace", "onoff-sources", "onoff-files", "onoff-analysis"},
}

def metadata():
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def room_faults(packages, members):
    for package in packages:
        name = package["name"]
        if package["id"] not in members:
            continue
        if name not in MAY_IMPORT:
            yield f"{name}: not a room this check knows; add it to MAY_IMPORT and to docs/architecture.md"
            continue
        for dependency in package["dependencies"]:
            imported = dependency["name"]
            # Tests may use any room: they sit outside the flow.
            if dependency["kind"] == "dev" or not imported.startswith("onoff-"):
                continue
            if imported not in MAY_IMPORT[name]:
                yield f"{name} imports {imported}, which lies to its right"


def main():
    data = metadata()
    faults = list(room_faults(data["packages"], set(data["workspace_members"])))
    for fault in faults:
        print(f"check_rooms: {fault}", file=sys.stderr)
    if not faults:
        print(f"check_rooms: {len(data['workspace_members'])} rooms, {len(data['packages'])} packages, no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
