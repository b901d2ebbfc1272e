#!/usr/bin/env python3
"""Measures reading Linux traces into tables beside `trace-cmd report`, on traces of the same boot, and prints Markdown.

    bench/traces.py [--runs 5]

The traces are those of ONOFF_SAMPLES (linux/boot-1). trace-cmd only writes text; onoff makes its tables. Without trace-cmd onoff is
measured alone.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

from compare import KEPT, MIB, ROOT, TARGET, measured, say

MEMBERS = {"boot.trace.txt": "text", "boot.trace.dat": "trace.dat"}


def traces():
    samples = pathlib.Path(os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples"))
    KEPT.mkdir(parents=True, exist_ok=True)
    with tarfile.open(samples / "linux" / "boot-1.tar.xz") as archive:
        for member in archive:
            name = member.name.rsplit("/", 1)[-1]
            if name in MEMBERS and member.isfile():
                path = KEPT / name
                path.write_bytes(archive.extractfile(member).read())
                yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    say("building")
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--release", "--package", "onoff-bench"], cwd=ROOT, check=True)
    bench = TARGET / "release/onoff-bench"
    trace_cmd = shutil.which("trace-cmd")
    print("| trace | | s | CPU s | MB/s | peak MiB |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for path in sorted(set(traces())):
        megabytes = path.stat().st_size / 1e6
        programs = [("onoff, into tables", [bench, "decode", path])]
        if trace_cmd and path.suffix == ".dat":
            programs.append(("`trace-cmd report`", [trace_cmd, "report", "-i", path]))
        for name, command in programs:
            result = measured(command, runs)
            if "error" in result:
                say(f"{name}: {result['error']}")
                return 1
            print(
                f"| {MEMBERS[path.name]}, {megabytes:.2f} MB | {name} | {result['wall']:.3f} | {result['cpu']:.3f} "
                f"| {megabytes / result['cpu']:,.0f} | {result['peak'] / MIB:,.0f} |"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
