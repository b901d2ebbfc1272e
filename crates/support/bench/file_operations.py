#!/usr/bin/env python3
"""Measures `onoff io` on ten million operations, and compares it with procmon-parser on Process Monitor logs.

    file_operations.py ONOFF [--operations 10000000] [--runs 3] [LOG...]

The operations are the same in every run: 64 files, requests of 4, 512 and 4,096 bytes, nine of ten sequential. They are
written as onoff's CSV, as the CSV of Process Monitor and as the output of strace; the files are temporary. `awk` sums
requests and bytes by process from onoff's CSV, and Python's csv reader reads each CSV without using its rows: both do
less than onoff, which makes them lower bounds for reading the file as text. Each LOG is a Process Monitor log (.pml), optionally compressed
with zlib like procmon-parser's test data. Logs need procmon-parser (bench/requirements.txt).
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

WRAPPER = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
wall = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"status": status, "wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024}))
"""


READ_CSV = """
import csv, sys
for row in csv.reader(open(sys.argv[1], encoding="utf-8-sig", newline="")):
    pass
"""


def measured(command, runs):
    """The fastest of `runs`: wall and CPU seconds, peak MiB."""
    answers = []
    for _ in range(runs):
        answer = subprocess.run([sys.executable, "-c", WRAPPER, *map(str, command)], check=True, stdout=subprocess.PIPE).stdout
        answers.append(json.loads(answer))
        if answers[-1]["status"]:
            sys.exit(f"{command[0]} ended with {answers[-1]['status']}")
    return min(answers, key=lambda answer: answer["wall"])


def show(name, answer):
    print(f"| {name} | {answer['wall']:.2f} | {answer['cpu']:.2f} | {answer['peak']:,.0f} |", flush=True)


def csv_line(at, file, is_write, offset, length):
    program = file % 5
    operation = "write" if is_write else "read"
    return f"{at * 1000},{100 + program},app{program}.exe,C:\\data\\folder\\file{file}.dat,{operation},{offset},{length}\n"


def process_monitor_line(at, file, is_write, offset, length):
    seconds, ticks = divmod(at * 5, 10_000_000)
    time_of_day = f"10:{seconds // 60:02}:{seconds % 60:02}.{ticks:07} AM"
    operation = "WriteFile" if is_write else "ReadFile"
    return (
        f'"{time_of_day}","app{file % 5}.exe","{100 + file % 5}","{operation}","C:\\data\\folder\\file{file}.dat","SUCCESS",'
        f'"Offset: {offset:,}, Length: {length:,}","0.0000{123 + at % 13}"\r\n'
    )


def strace_line(at, file, is_write, offset, length):
    seconds, micros = divmod(at, 1_000_000)
    call = "pwrite64" if is_write else "pread64"
    time_of_call = f"{1795216357 + seconds}.{micros:06}"
    return (
        f'{100 + file % 5} {time_of_call} {call}({file + 3}, "\\0\\0\\0\\0"..., {length}, {offset}) = {length} <0.0000{12 + at % 13:02}>\n'
    )


PROCESS_MONITOR_HEADER = '\ufeff"Time of Day","Process Name","PID","Operation","Path","Result","Detail","Duration"\r\n'
OPENS = "".join(
    f'{100 + file % 5} 1795216356.{file:06} openat(AT_FDCWD, "/data/folder/file{file}.dat", O_RDWR) = {file + 3} <0.000010>\n'
    for file in range(64)
)
FORMATS = {
    "operations.csv": ("time_ns,pid,process,file,operation,offset,length\n", csv_line),
    "process-monitor.csv": (PROCESS_MONITOR_HEADER, process_monitor_line),
    "strace.txt": (OPENS, strace_line),
}


def make(path, count):
    chance = random.Random(9).random
    places = [0] * 64
    header, line = FORMATS[path.name]
    with open(path, "w", encoding="utf-8", buffering=1 << 20, newline="") as out:
        out.write(header)
        for at in range(count):
            file, kind = int(chance() * 64), chance()
            length = 4 if kind < 0.7 else 512 if kind < 0.9 else 4096
            if chance() < 0.1:
                places[file] = int(chance() * 64_000_000)
            out.write(line(at, file, chance() < 0.2, places[file], length))
            places[file] += length


def count_events(path):
    """Wall and CPU seconds of procmon-parser for all events of a log, and the number of events."""
    from procmon_parser import ProcmonLogsReader

    began = time.perf_counter(), time.process_time()
    with open(path, "rb") as file:
        events = sum(1 for _ in ProcmonLogsReader(file))
    return time.perf_counter() - began[0], time.process_time() - began[1], events


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onoff")
    parser.add_argument("logs", nargs="*", type=pathlib.Path, metavar="LOG")
    parser.add_argument("--operations", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if arguments.operations:
            for name in FORMATS:
                made = folder / name
                make(made, arguments.operations)
                print(f"\n{name}: {arguments.operations:,} operations, {made.stat().st_size / 1e6:.0f} MB, fastest of {arguments.runs} runs\n")
                print("| | s | CPU s | peak MiB |\n| --- | ---: | ---: | ---: |")
                show("`onoff io`", measured([arguments.onoff, "io", made], arguments.runs))
                if made.suffix == ".csv":
                    show("Python's csv reader, rows only", measured([sys.executable, "-c", READ_CSV, made], 1))
                if name == "operations.csv" and shutil.which("awk"):
                    program = "{requests[$3]++; bytes[$3]+=$7} END {for (name in requests) print name, requests[name], bytes[name]}"
                    show("`awk`, totals by process", measured(["awk", "-F,", program, made], 1))
                made.unlink()
        for log in arguments.logs:
            packed = log.read_bytes()
            plain = folder / "log.pml"
            plain.write_bytes(packed if packed.startswith(b"PML_") else zlib.decompress(packed))
            wall, cpu, events = count_events(plain)
            ours = measured([arguments.onoff, "io", plain], arguments.runs)
            print(f"\n{log.name}: {events:,} events, {plain.stat().st_size / 1e6:.0f} MB\n")
            print("| | s | CPU s | peak MiB |\n| --- | ---: | ---: | ---: |")
            print(f"| `procmon-parser`, all events | {wall:.2f} | {cpu:.2f} | |")
            show("`onoff io`, full report", ours)
            print(f"\n`onoff io` is {wall / ours['wall']:.0f} times as fast.")


if __name__ == "__main__":
    main()
