#!/usr/bin/env python3
"""Compares onoff with other readers of Linux traces on the same traces, and prints Markdown.

    crates/support/bench/traces.py [--runs 5] [--sleepgraph sleepgraph.py]

The traces come from ONOFF_SAMPLES: linux/boot-1 into tables, compared with `trace-cmd report`, which only writes text;
linux/suspend-s3 with `onoff suspend`, compared with sleepgraph (tools/power/pm-graph in the kernel sources, for example in
Debian's linux-source-6.1). Missing programs and traces are skipped.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tarfile

from compare import KEPT, MIB, ROOT, TARGET, build, measured, say

BOOT = {"boot.trace.txt": "text", "boot.trace.dat": "trace.dat"}
SLEEP = {"sleep.trace.txt": "text", "dmesg.txt": "kernel log"}
# The line by which sleepgraph recognizes its recordings.
STAMP = b"# suspend-112026-234300 lab mem 6.1.0\n"


def members(sample, names):
    """Extracts files of a sample into the build folder."""
    samples = pathlib.Path(os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples"))
    KEPT.mkdir(parents=True, exist_ok=True)
    with tarfile.open(samples / "linux" / f"{sample}.tar.xz") as archive:
        for member in archive:
            name = member.name.rsplit("/", 1)[-1]
            if name in names and member.isfile():
                path = KEPT / name
                path.write_bytes(archive.extractfile(member).read())
                yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sleepgraph", type=pathlib.Path)
    arguments = parser.parse_args()
    build()
    bench = TARGET / "release/onoff-bench"
    trace_cmd = shutil.which("trace-cmd")
    print("| trace | | s | CPU s | MB/s | peak MiB |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for path in sorted(set(members("boot-1", BOOT))):
        programs = [("onoff, into tables", [bench, "decode", path])]
        if trace_cmd and path.suffix == ".dat":
            programs.append(("`trace-cmd report`", [trace_cmd, "report", "-i", path]))
        if not table(f"boot-1, {BOOT[path.name]}", path.stat().st_size, programs, arguments.runs):
            return 1
    paths = sorted(set(members("suspend-s3", SLEEP)))
    programs = [("`onoff suspend --format json`", [TARGET / "release/onoff", "suspend", *paths, "--format", "json"])]
    if arguments.sleepgraph:
        stamped = {path.name: path.with_name(f"stamped-{path.name}") for path in paths}
        for path in paths:
            stamped[path.name].write_bytes(STAMP + path.read_bytes())
        programs.append((
            "`sleepgraph`, its page",
            [sys.executable, arguments.sleepgraph, "-ftrace", stamped["sleep.trace.txt"], "-dmesg", stamped["dmesg.txt"], "-o", KEPT / "sleep.html"],
        ))
    return 0 if table("suspend-s3, text and log", sum(path.stat().st_size for path in paths), programs, arguments.runs) else 1


def table(what, size, programs, runs):
    """Prints one row per program."""
    for name, command in programs:
        result = measured(command, runs)
        if "error" in result:
            say(f"{name}: {result['error']}")
            return False
        print(
            f"| {what}, {size / 1e6:.2f} MB | {name} | {result['wall']:.3f} | {result['cpu']:.3f} "
            f"| {size / 1e6 / result['cpu']:,.0f} | {result['peak'] / MIB:,.0f} |"
        )
    return True


if __name__ == "__main__":
    sys.exit(main())
