#!/usr/bin/env python3
"""Compares `onoff netboot` with `tshark` and `dpkt`, and prints Markdown.

`tshark` reads the same captures, and must count the same packets. `dpkt` reads a million frames of other traffic around one
boot.

    crates/support/bench/captures.py [--runs 3]

The test kit creates the captures in the build folder. tshark comes with Wireshark; without it, only onoff is measured.
"""

import argparse
import collections
import importlib.util
import json
import shutil
import subprocess
import sys

from compare import KEPT, ROOT, TARGET, measured, say

MEGABYTES = [15, 500]
FLOODS = ["connections-https", "connections-ssh", "syns", "boots"]
# Decodes the headers of all frames, as a boot reader has to.
DPKT = """
import sys, dpkt
frames = 0
with open(sys.argv[1], "rb") as file:
    for _, frame in dpkt.pcapng.Reader(file):
        dpkt.ethernet.Ethernet(frame)
        frames += 1
print(frames)
"""


def build():
    cargo = ["cargo", "build", "--quiet", "--locked", "--release"]
    subprocess.run([*cargo, "--package", "onoff"], cwd=ROOT, check=True)
    subprocess.run([*cargo, "--package", "onoff-testkit", "--example", "make_capture"], cwd=ROOT, check=True)


def capture(megabytes):
    path = KEPT / f"capture-{megabytes}MB.pcap"
    if not path.exists():
        subprocess.run([TARGET / "release/examples/make_capture", path, str(megabytes)], check=True)
    return path


def packets_of_tshark(path):
    command = ["tshark", "-r", path, "-Y", "tftp", "-T", "fields", "-e", "tftp.opcode"]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return collections.Counter(int(line) for line in lines)


def packets_of_onoff(onoff, path):
    command = [onoff, "netboot", path, "--format", "json"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    packets = collections.Counter()
    for boot in report["boots"]:
        for file in boot["transfers"]:
            packets[1] += file["requests"]
            packets[3] += file["counts"]["data_packets"]
            packets[4] += file["counts"]["acknowledgments"]
            packets[6] += bool(file["granted"]) + file["counts"]["repeated_option_acknowledgments"]
    return packets


def floods(onoff, runs, peer):
    folder = KEPT / "floods"
    if not folder.exists():
        folder.mkdir()
        subprocess.run([TARGET / "release/examples/make_capture", "floods", folder], check=True)
    print("\n| a million frames | | s | CPU s | peak MiB |\n| --- | --- | ---: | ---: | ---: |")
    for name in FLOODS:
        path = folder / f"{name}.pcapng"
        programs = [("`onoff netboot`", [onoff, "netboot", path])]
        if peer:
            programs.append(("`dpkt`", [sys.executable, "-c", DPKT, path]))
        for program, command in programs:
            result = measured(command, runs)
            if "error" in result:
                say(f"{program}: {result['error']}")
                return 1
            print(f"| {name} | {program} | {result['wall']:.2f} | {result['cpu']:.2f} | {result['peak'] / 2**20:,.0f} |")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--onoff", help="program to measure instead of a release build")
    parser.add_argument("--floods", action="store_true", help="measure only the million frames")
    arguments = parser.parse_args()
    runs = arguments.runs
    KEPT.mkdir(parents=True, exist_ok=True)
    if not arguments.onoff:
        say("building")
        build()
    onoff = arguments.onoff or TARGET / "release/onoff"
    if arguments.floods:
        return floods(onoff, runs, importlib.util.find_spec("dpkt"))
    tshark = shutil.which("tshark")
    print("| capture | | s | CPU s | peak MiB |\n| --- | --- | ---: | ---: | ---: |")
    for megabytes in MEGABYTES:
        path = capture(megabytes)
        programs = [("`onoff netboot`", [onoff, "netboot", path, "--format", "json"])]
        if tshark:
            fields = ["-Y", "tftp", "-T", "fields", "-e", "tftp.opcode", "-e", "tftp.block"]
            programs.append(("`tshark -Y tftp`", [tshark, "-r", path, *fields]))
            if packets_of_tshark(path) != packets_of_onoff(onoff, path):
                say(f"{path.name}: the packets differ")
                return 1
        for name, command in programs:
            result = measured(command, runs)
            if "error" in result:
                say(f"{name}: {result['error']}")
                return 1
            print(
                f"| {megabytes} MB | {name} | {result['wall']:.2f} | {result['cpu']:.2f} | {result['peak'] / 2**20:,.0f} |"
            )
    return floods(onoff, runs, importlib.util.find_spec("dpkt"))


if __name__ == "__main__":
    sys.exit(main())
