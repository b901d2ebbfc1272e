#!/usr/bin/env python3
"""Compares onoff with `trace-cmd` and `journalctl` on large Linux recordings, and prints Markdown.

    crates/support/bench/large_linux.py [--size 1GiB] [--runs 1]

Both repeat the recordings of linux/boot-1 in ONOFF_SAMPLES, one after the other until they have the size: the pages of
its trace, later by its length each time, and the entries of its journal as further boots, which `systemd-journal-remote`
writes. Missing programs are skipped.
"""

import argparse
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile

from compare import KEPT, MIB, ROOT, TARGET, build, measured, say, size

PAGE = 4096
JOURNAL_WRITER = "/lib/systemd/systemd-journal-remote"


def member(name):
    samples = pathlib.Path(os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples"))
    with tarfile.open(samples / "linux/boot-1.tar.xz") as archive:
        for found in archive:
            if found.name.endswith("/" + name):
                return archive.extractfile(found).read()
    raise SystemExit(f"large_linux: no {name} in linux/boot-1")


def large_trace(wanted):
    """The trace with its pages repeated. Version 6 of the format has the pages of each processor in one piece."""
    path = KEPT / f"boot-{wanted // MIB}MiB.trace.dat"
    if path.exists():
        return path
    once, plain = KEPT / "once.trace.dat", KEPT / "once-6.trace.dat"
    once.write_bytes(member("boot.trace.dat"))
    convert = ["trace-cmd", "convert", "-i", once, "-o", plain, "--file-version", "6", "--compression", "none"]
    subprocess.run(convert, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    data = plain.read_bytes()
    table = data.index(b"flyrecord\0") + len(b"flyrecord\0")
    processors = []
    while True:
        at, length = struct.unpack_from("<QQ", data, table + 16 * len(processors))
        processors.append(data[at : at + length])
        if at + length >= len(data):
            break
    times = [struct.unpack_from("<Q", pages, at)[0] for pages in processors for at in range(0, len(pages), PAGE)]
    length_ns = max(times) - min(times) + 1_000_000_000
    repeats = max(1, (wanted - table) // sum(map(len, processors)))
    partial = path.with_suffix(".partial")
    with open(partial, "wb") as out:
        out.write(data[:table])
        start = -(-(table + 16 * len(processors)) // PAGE) * PAGE
        for pages in processors:
            out.write(struct.pack("<QQ", start, len(pages) * repeats))
            start += len(pages) * repeats
        # The clock's name follows the table.
        first = struct.unpack_from("<Q", data, table)[0]
        out.write(data[table + 16 * len(processors) : first])
        out.seek(-(-(table + 16 * len(processors)) // PAGE) * PAGE)
        for pages in processors:
            for repeat in range(repeats):
                block = bytearray(pages)
                for at in range(0, len(block), PAGE):
                    (time,) = struct.unpack_from("<Q", block, at)
                    struct.pack_into("<Q", block, at, time + repeat * length_ns)
                out.write(block)
    partial.rename(path)
    return path


def large_journal(wanted):
    """A folder of journal files with the boot's entries as many boots."""
    folder = KEPT / f"journal-{wanted // MIB}MiB"
    if folder.exists():
        return folder
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    entries = member("journal.export")
    writer = subprocess.Popen(
        [JOURNAL_WRITER, "--split-mode=none", "--compress=yes", "-o", partial / "boots.journal", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    boot = 0
    while sum(file.stat().st_size for file in partial.iterdir()) < wanted:
        id_of_boot = b"_BOOT_ID=%032x" % (boot + 1)
        lines = []
        for line in entries.split(b"\n"):
            if line.startswith(b"__REALTIME_TIMESTAMP="):
                line = b"__REALTIME_TIMESTAMP=%d" % (int(line[21:]) + boot * 3_600_000_000)
            elif line.startswith(b"_BOOT_ID="):
                line = id_of_boot
            elif line.startswith((b"__CURSOR=", b"_SOURCE_REALTIME_TIMESTAMP=", b"__SEQNUM")):
                continue
            elif line.startswith(b"MESSAGE="):
                # Real boots do not repeat every message, so each is stored.
                line += b" (boot %d)" % boot
            lines.append(line)
        writer.stdin.write(b"\n".join(lines) + b"\n")
        boot += 1
    writer.stdin.close()
    if writer.wait() != 0:
        raise SystemExit("large_linux: the journal could not be written")
    say(boot, "boots in", len(list(partial.iterdir())), "journal files")
    partial.rename(folder)
    return folder


def table(title, length, programs, runs):
    for name, command in programs:
        result = measured(list(map(str, command)), runs)
        if "error" in result:
            say(name, "failed:", result["error"])
            return False
        print(
            f"| {title} | {name} | {result['wall']:.2f} | {result['cpu']:.2f} |"
            f" {length / result['cpu'] / 1e6:,.0f} | {result['peak'] / MIB:,.0f} |"
        )
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="1GiB")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--program", type=pathlib.Path, help="measure this program instead of building one")
    arguments = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    if not arguments.program:
        build()
    onoff = arguments.program or TARGET / "release/onoff"
    print("| recording | | s | CPU s | MB/CPU s | peak MiB |\n| --- | --- | ---: | ---: | ---: | ---: |")
    if shutil.which("trace-cmd"):
        trace = large_trace(size(arguments.size))
        programs = [
            ("`onoff info`", [onoff, "info", trace]),
            ("`onoff cpu`", [onoff, "cpu", trace]),
            ("`onoff events`", [onoff, "events", trace]),
            ("`trace-cmd report`", ["trace-cmd", "report", "-i", trace]),
        ]
        if not table("trace.dat", trace.stat().st_size, programs, arguments.runs):
            return 1
    if shutil.which("journalctl") and os.path.exists(JOURNAL_WRITER):
        folder = large_journal(size(arguments.size))
        length = sum(file.stat().st_size for file in folder.iterdir())
        programs = [
            ("`onoff boot --list-boots`", [onoff, "boot", "--list-boots", folder]),
            ("`journalctl --list-boots`", ["journalctl", "--list-boots", "--directory", folder]),
            ("`onoff boot` (the last boot)", [onoff, "boot", folder]),
            ("`journalctl -b -1 -o short-monotonic`", ["journalctl", "-b", "-1", "-o", "short-monotonic", "--directory", folder]),
        ]
        if not table("journal", length, programs, arguments.runs):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
