#!/usr/bin/env python3
"""Compares onoff with `cat` and with public readers on the same files, and prints a Markdown page.

    crates/support/bench/compare.py [--size 1GiB] [--cut 32MiB] [--runs 3] [--big FILE] [--skip-readers]

The big file is a simulated boot, created once by the test kit and kept in the build folder. The public readers are
written in Python and would need hours for it, so they read only its first part; onoff is measured on that part too. Real
recordings come from ONOFF_SAMPLES or ../shared/samples, if available.
"""

import argparse
import json
import lzma
import os
import pathlib
import platform
import re
import shutil
import signal
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
KEPT = TARGET / "bench"
MIB = 1024 * 1024

# Recordings that at least one public reader opens, and the largest real ones.
REAL = [
    "ShutdownPerfDiagLogger.etl",
    "net.4.5.2.x64.etl",
    "TraceLoggingTester.etl.xz",
]


def size(text):
    for suffix, factor in (("GiB", 1024 * MIB), ("MiB", MIB), ("KiB", 1024)):
        if text.endswith(suffix):
            return int(float(text[: -len(suffix)]) * factor)
    return int(text)


def say(*words):
    print("bench:", *words, file=sys.stderr, flush=True)


# A small parent process, so that peak memory and CPU time cover only the measured program.
WRAPPER = """
import json, resource, subprocess, sys, time
with open(sys.argv[1], "wb") as output:
    began = time.perf_counter()
    status = subprocess.call(sys.argv[2:], stdout=output, stdin=subprocess.DEVNULL)
    wall = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"status": status, "wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024}))
"""


def measured(command, runs=1, seconds_allowed=None, **environment):
    """The fastest of `runs`: wall and CPU seconds, peak resident bytes, and the JSON output of the program."""
    best = None
    for _ in range(runs):
        output = KEPT / "output"
        process = subprocess.Popen(
            [sys.executable, "-c", WRAPPER, output, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        try:
            answer, errors = process.communicate(timeout=seconds_allowed)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return {"error": f"timed out after {seconds_allowed} s"}
        result = json.loads(answer)
        if result["status"] != 0:
            return {"error": (errors.decode(errors="replace").strip().splitlines() or ["failed"])[-1]}
        text = output.read_bytes()
        result["json"] = json.loads(text) if len(text) < 4096 and text.startswith(b"{") else None
        if best is None or result["wall"] < best["wall"]:
            best = result
    return best


def build():
    say("building")
    cargo = ["cargo", "build", "--quiet", "--locked", "--release"]
    subprocess.run([*cargo, "--package", "onoff", "--package", "onoff-bench"], cwd=ROOT, check=True)
    subprocess.run([*cargo, "--package", "onoff-simulator", "--example", "make_trace"], cwd=ROOT, check=True)


def big_file(wanted):
    path = KEPT / f"boot-{wanted}.etl"
    if not path.exists():
        say("simulating", path.name)
        scenario = ROOT / "crates/support/simulator/scenarios/benchmark.toml"
        partial = path.with_suffix(".partial")
        program = TARGET / "release/examples/make_trace"
        subprocess.run([program, scenario, partial, "--size", wanted], cwd=ROOT, check=True)
        partial.rename(path)
    return path


def cut_of(path, length):
    """Copies the first buffers of a recording, at most `length` bytes.

    A buffer's header says twice how far it is filled. Recorders leave the first place empty in some buffers, where
    etl-parser then finds no event: here it is filled in, rounded up to where a next record would begin.
    """
    cut = KEPT / f"{path.stem}-first-{length // MIB}MiB.etl"
    with open(path, "rb") as whole, open(cut, "wb") as part:
        while True:
            header = whole.read(0x48)
            if len(header) < 0x48:
                break
            size, saved = struct.unpack_from("<II", header)
            (filled,) = struct.unpack_from("<I", header, 0x30)
            if size < 0x48 or part.tell() + size > length:
                break
            part.write(header[:4] + struct.pack("<I", saved or (filled + 7) & ~7) + header[8:])
            part.write(whole.read(size - 0x48))
    return cut


def real_files():
    folder = pathlib.Path(os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared/samples")) / "etl"
    for name in REAL:
        path = folder / name
        if not path.exists():
            say("not found, skipped:", name)
            continue
        if path.suffix == ".xz":
            unpacked = KEPT / path.stem
            if not unpacked.exists():
                with lzma.open(path) as packed, open(unpacked, "wb") as plain:
                    shutil.copyfileobj(packed, plain)
            path = unpacked
        yield path


class Table:
    def __init__(self, path, note=""):
        self.path = path
        self.bytes = path.stat().st_size
        self.note = note
        self.rows = []

    def add(self, what, result, events=None):
        if "error" in result:
            self.rows.append((what, None, result["error"]))
            say(f"  {what}: {result['error']}")
            return
        self.rows.append((what, {**result, "events": events}, ""))
        say(f"  {what}: {result['wall']:.3f} s, {result['cpu']:.2f} s of CPU")

    def rates(self, what):
        """Events per second of wall time and of CPU time. CPU time compares one processor with one."""
        for name, result, _ in self.rows:
            if name == what and result and result["events"]:
                return result["events"] / result["wall"], result["events"] / result["cpu"]
        return None

    def markdown(self):
        lines = [
            f"## `{self.path.name}`, {self.bytes / MIB:.1f} MiB{self.note}",
            "",
            "| | events | s | CPU s | events/s | MiB/s | MiB/CPU s | peak MiB |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for what, result, error in self.rows:
            if not result:
                lines.append(f"| {what} | {error} | | | | | | |")
                continue
            events, seconds = result["events"], result["wall"]
            cells = [
                what,
                f"{events:,}" if events else "",
                f"{seconds:.3f}",
                f"{result['cpu']:.3f}",
                f"{events / seconds:,.0f}" if events else "",
                f"{self.bytes / MIB / seconds:,.1f}",
                f"{self.bytes / MIB / result['cpu']:,.1f}",
                f"{result['peak'] / MIB:,.0f}",
            ]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)


def measure_onoff(table, runs):
    bench = TARGET / "release/onoff-bench"
    file = table.path
    table.add("`cat FILE > /dev/null`", measured(["cat", file], runs))
    for what, arguments, environment in (
        ("onoff, every header", ["headers"], {}),
        ("onoff, every event into tables", ["decode"], {}),
        ("onoff, every event into tables, 1 thread", ["decode"], {"RAYON_NUM_THREADS": "1"}),
    ):
        result = measured([bench, *arguments, file], runs, **environment)
        table.add(what, result, (result.get("json") or {}).get("events"))


def measure_program(table, runs, events):
    """The program, including startup and output: the boot report, and all events as JSON."""
    program = TARGET / "release/onoff"
    if "boot" in table.path.name:
        table.add("`onoff boot FILE`", measured([program, "boot", table.path], runs))
    written = measured([program, "events", table.path, "--format", "json", "-o", "/dev/null"], runs)
    table.add("`onoff events FILE --format json`: all events with fields, written", written, events)


def measure_readers(table, seconds_allowed):
    python = TARGET / "readers/bin/python"
    for reader in ("dissect.etl", "etl-parser"):
        for depth, what in (("headers", "every header"), ("fields", "every field it knows")):
            result = measured([python, pathlib.Path(__file__).with_name("readers.py"), reader, depth, table.path], 1, seconds_allowed)
            answer = result.get("json") or {}
            if answer.get("events"):
                note = f" ({answer['decoded']:,} decoded)" if depth == "fields" else ""
                # Loading the reader's schemas is not counted.
                result.update(wall=answer["wall"], cpu=answer["cpu"])
                table.add(f"{reader}, {what}{note}", result, answer["events"])
            else:
                table.add(f"{reader}, {what}", {"error": result.get("error") or f"no event: {answer.get('error')}"})


def ratios(ours, theirs):
    """Ratio of the events per second of onoff (`ours`) to each public reader (`theirs`)."""
    of_ours = {
        "header": ours.rates("onoff, every header"),
        "field": ours.rates("onoff, every event into tables"),
        "written": ours.rates("`onoff events FILE --format json`: all events with fields, written"),
    }
    for name, result, _ in theirs.rows:
        if not result or not result["events"] or not name.startswith(("dissect", "etl-parser")):
            continue
        for of, what in (("header", "the library"),) if "header" in name else (("field", "the library"), ("written", "the program")):
            if rates := of_ours[of]:
                clock, cpu = (
                    rate * result[of] / result["events"] for rate, of in zip(rates, ("wall", "cpu"), strict=True)
                )
                times = f"{clock:,.0f} times in wall time, {cpu:,.0f} times in CPU time"
                yield f"- {what} against {name.split(' (')[0]}: {times}"


BOOK = ROOT / "docs/src/reference/measured.md"
README = ROOT / "README.md"


def write_book(tables):
    """Replaces the tables of the book, and the figure of the README by the book's."""
    book = BOOK.read_text()
    for table in tables:
        heading, _, rows = table.markdown().partition("\n\n")
        # A table ends at the first empty line.
        section = re.compile(re.escape(heading) + r"\n\n\|.*?(?=\n\n|\Z)", re.DOTALL)
        if not section.search(book):
            say(f"{BOOK.name} has no section '{heading}'")
            continue
        book = section.sub(lambda _: f"{heading}\n\n{rows}", book)
    BOOK.write_text(book)
    README.write_text(re.sub(FIGURE, lambda match: f"{match[1]}{boot_seconds(book):.2f} s", README.read_text()))


FIGURE = r"(20 million events \(1 GiB\) took )[\d.]+ s"
"""The time of `onoff boot` of the simulated boot of 1 GiB in the README. A test compares it with the book."""


def boot_seconds(book):
    section = book.split("## `boot-1GiB.etl`")[1]
    row = re.search(r"^\| `onoff boot FILE` \|[^|]*\| *([\d.]+) *\|", section, re.MULTILINE)
    return float(row[1])


def processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="1GiB", help="size of the simulated boot")
    parser.add_argument("--cut", default="32MiB", help="size of the part that the public readers read")
    parser.add_argument("--runs", type=int, default=3, help="runs of onoff and cat; the fastest counts")
    parser.add_argument("--big", type=pathlib.Path, help="a large recording to use instead of a simulated one")
    parser.add_argument("--skip-readers", action="store_true", help="measure only onoff and cat")
    parser.add_argument("--write", action="store_true", help="write the tables into the book, and the figure into the README")
    parser.add_argument("--seconds-allowed", type=int, default=900, help="time limit for one run of a public reader")
    options = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    build()
    big = options.big or big_file(options.size)
    cut = cut_of(big, size(options.cut))

    print(
        f"{os.cpu_count()} processors ({processor()}), {platform.system()}; load {os.getloadavg()[0]:.1f} at the start."
    )
    print(f"Fastest of {options.runs} runs, files in the page cache.")
    print("Peak memory includes resident pages of the mapped file.")

    tables = [Table(big, ", simulated boot"), Table(cut, ", its first part"), *map(Table, real_files())]
    for table in tables:
        say(table.path.name)
        measure_onoff(table, options.runs)
        counted = [result["events"] for _, result, _ in table.rows if result and result["events"]]
        measure_program(table, options.runs, counted[0] if counted else None)
        if table.path != big and not options.skip_readers:
            measure_readers(table, options.seconds_allowed)
        print("\n" + table.markdown())
        for ours, what in ((table, "onoff on this file"), (tables[0], "onoff on the complete file")):
            # Only the first part of the big file has a complete file to compare with.
            if ours is table or table is tables[1]:
                lines = list(ratios(ours, table))
                if lines:
                    print(f"\nEvents per second of {what}, relative to each reader:\n\n" + "\n".join(lines))
        sys.stdout.flush()
    if options.write:
        write_book(tables)


if __name__ == "__main__":
    main()
