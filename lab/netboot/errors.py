#!/usr/bin/env python3
"""Measures the errors of onoff's predictions with recordings of the lab, and prints the table of the book (Markdown).

lab/netboot/errors.py ONOFF RECORDING... [--pair SETTING KNOWN TARGET OPTIONS]...

A RECORDING has several windows (pairs.py). For each file, onoff gets a capture with the transfers of one, two or three windows and
predicts each other window (--window), or with all windows of one block size and predicts the other size (--block). A pair is two
recordings that differ in what OPTIONS name: '--pair loss good.pcap bad.pcap "--loss 1%"', or '--pair rtt near.pcap far.pcap ""'
(the captures show how far). Times are compared by byte. A prediction is a range: its width is the factor between its ends, and its
error is the geometric middle against the measured time. Setup, pauses and timeouts of the captured transfers are left out on both
sides, except for losses, which cost timeouts.
"""

import argparse
import itertools
import json
import lzma
import math
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

WANTED_PERCENT = 15


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("onoff")
    arguments.add_argument("recordings", type=pathlib.Path, nargs="+")
    arguments.add_argument("--pair", nargs=4, action="append", default=[], metavar=("SETTING", "KNOWN", "TARGET", "OPTIONS"))
    arguments = arguments.parse_args()
    lab = Lab(arguments.onoff)
    print("| prediction | from | cases | within the range | median width | within 15 % | median error | worst error |\n"
          "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    recordings = [Capture(path) for path in arguments.recordings]
    for count, name in [(3, "three windows"), (2, "two windows"), (1, "one window")]:
        row("`--window`", name, [case for recording in recordings for case in lab.windows(recording, count)])
    row("`--block`", "all windows of another block size", [case for recording in recordings for case in lab.blocks(recording)])
    for setting in dict.fromkeys(pair[0] for pair in arguments.pair):
        pairs = [pair[1:] for pair in arguments.pair if pair[0] == setting]
        cases = [case for pair in pairs for case in (lab.same_files(*pair[:2]) if setting == "rtt" else [lab.pair(*pair)])]
        row(f"`--{setting}`", "another boot", cases)


def row(name, source, cases):
    """Prints a row for cases of (lower end, upper end, measured), in ns."""
    if not cases:
        return
    errors = [(math.sqrt(max(low, 1) * high) / measured - 1) * 100 for low, high, measured in cases]
    near = sum(abs(error) <= WANTED_PERCENT for error in errors)
    inside = sum(low <= measured <= high for low, high, measured in cases)
    worst = max(errors, key=abs)
    width = statistics.median(high / max(low, 1) for low, high, _ in cases)
    print(f"| {name} | {source} | {len(cases)} | {inside} | {width:.1f} | {near} | {statistics.median(errors):+.0f} % | {worst:+.0f} % |")


class Capture:
    """A capture in memory, from which captures of some of its transfers are made."""

    def __init__(self, path):
        data = lzma.open(path).read() if path.suffix == ".xz" else path.read_bytes()
        self.header = data[:24]
        order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        self.link, = struct.unpack_from(order + "I", data, 20)
        self.frames = []
        offset = 24
        while offset + 16 <= len(data):
            length, = struct.unpack_from(order + "I", data, offset + 8)
            self.frames.append((self.client_port(data, offset + 16, length), data[offset:offset + 16 + length]))
            offset += 16 + length

    def client_port(self, data, offset, length):
        """The client's port of a TFTP packet, else None. Ethernet and IPv4 only."""
        if self.link != 1 or length < 42 or data[offset + 12:offset + 14] != b"\x08\x00" or data[offset + 23] != 17:
            return None
        source, destination = struct.unpack_from("!HH", data, offset + 34)
        from_client = data[offset + 26:offset + 30] != self.server(data, offset)
        if 67 in (source, destination) or 68 in (source, destination):
            return None
        return source if from_client else destination

    @staticmethod
    def server(data, offset):
        source, destination = data[offset + 26:offset + 30], data[offset + 30:offset + 34]
        return source if source[3] == 1 else destination

    def of_transfers(self, ports):
        return self.header + b"".join(frame for port, frame in self.frames if port is None or port in ports)


class Lab:
    def __init__(self, onoff):
        self.onoff = onoff

    def boot(self, capture, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "boot.pcap"
            path.write_bytes(capture)
            answer = subprocess.run([self.onoff, "netboot", path, "--format", "json", *options], stdout=subprocess.PIPE, check=True).stdout
        return max(json.loads(answer)["boots"], key=lambda boot: len(boot["transfers"]))

    def transfers(self, capture):
        """The complete transfers with a model, by file and block size, then by window."""
        files = {}
        for transfer in self.boot(capture.of_transfers({port for port, _ in capture.frames}))["transfers"]:
            if transfer["outcome"] == "complete" and transfer["model"]:
                windows = files.setdefault((transfer["file"], transfer["block_size"]), {})
                windows.setdefault(transfer["window"], transfer)
        return files

    def predicted(self, capture, transfers, *options):
        """The range for one transfer, without what the captured transfers took beyond their models."""
        ports = {int(transfer["client"].rsplit(":", 1)[1]) for transfer in transfers}
        prediction = self.boot(capture.of_transfers(ports), *options)["what_if"]
        other = sum(transfer["duration_ns"] - transfer["model"]["steady_ns"] for transfer in transfers)
        return tuple((prediction[end] - other) / len(transfers) for end in ("shortest_ns", "longest_ns"))

    def windows(self, capture, count):
        cases = []
        for windows in self.transfers(capture).values():
            for known in itertools.combinations(sorted(windows), count):
                for window in sorted(set(windows) - set(known)):
                    ends = self.predicted(capture, [windows[size] for size in known], "--window", str(window))
                    cases.append((*ends, windows[window]["model"]["steady_ns"]))
        return cases

    def blocks(self, capture):
        """Files differ in size between block sizes, so times are compared by byte."""
        cases, files = [], self.transfers(capture)
        for ((_, size), known), ((_, other), targets) in itertools.permutations(files.items(), 2):
            if size == other:
                continue
            transfers = list(known.values())
            for window, target in targets.items():
                ends = self.predicted(capture, transfers, "--block", str(other), "--window", str(window))
                share = target["counts"]["bytes"] / transfers[0]["counts"]["bytes"]
                cases.append((*(end * share for end in ends), target["model"]["steady_ns"]))
        return cases

    def same_files(self, known, target):
        """Predicts each file of one recording from the file with the same window and block size of the other. How much farther
        the client is there comes from both captures' bounds of the round trip (ARP and ICMP): a relay adds more than its delay."""
        capture, other = (Capture(pathlib.Path(path)) for path in (known, target))
        near_ns, far_ns = (self.boot(each.of_transfers({port for port, _ in each.frames}))["max_round_trip_ns"] for each in (capture, other))
        options = ["--rtt", f"{(far_ns - near_ns) / 1e6:.3f}ms"]
        targets = self.transfers(other)
        return [(*self.predicted(capture, [transfer], *options), targets[file][window]["model"]["steady_ns"])
                for file, windows in self.transfers(capture).items() for window, transfer in windows.items() if window in targets.get(file, {})]

    def pair(self, known, target, options):
        """Predicts one boot from another, with its timeouts."""
        known, target = (self.boot(path.read_bytes(), *more) for path, more in
                         [(pathlib.Path(known), options.split()), (pathlib.Path(target), [])])
        size = {name: sum(file["counts"]["bytes"] for file in files(boot)) for name, boot in [("known", known), ("target", target)]}
        scale = size["target"] / size["known"]
        ends = [known["what_if"][end] * scale for end in ("shortest_ns", "longest_ns")]
        return (*ends, sum(file["duration_ns"] for file in files(target)))


def files(boot):
    return [file for file in boot["transfers"] if file["outcome"] == "complete" and file["model"]]


if __name__ == "__main__":
    main()
