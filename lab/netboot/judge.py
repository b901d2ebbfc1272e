#!/usr/bin/env python3
"""Compares the latency model with the pairs recorded by pairs.py, and prints a Markdown table.

lab/netboot/judge.py ONOFF CAPTURE...
lab/netboot/judge.py --blocks ONOFF CAPTURE...
lab/netboot/judge.py --across ONOFF FITTED OTHER

For each file and block size of a capture, the client's turn, the server's turn and the gap are fitted to all window sizes
except one, and predict that one. Rounds of the same load are reduced to their medians. Setup, pauses and timeouts are
excluded on both sides.

With --blocks, all windows of one block size predict those of another size, as a range: what a block costs the client may stay, or shrink and grow
with the block. With --across, the turns of each file in FITTED predict each other file in OTHER, of clients that load block by block; the two captures' bounds
of the network's round trip are the difference of distance.
"""

import collections
import json
import statistics
import subprocess
import sys

WANTED_PERCENT = 15


def transfers(onoff, capture):
    answer = subprocess.run([onoff, "netboot", capture, "--format", "json"], check=True, stdout=subprocess.PIPE).stdout
    files = collections.defaultdict(lambda: collections.defaultdict(list))
    for boot in json.loads(answer)["boots"]:
        for file in boot["transfers"]:
            if file["outcome"] == "complete" and file["model"]:
                files[file["file"], file["block_size"]][file["window"]].append(file)
    return files


def median(files, number):
    return statistics.median(number(file) for file in files)


def line(points):
    """c0 and k of c0 + k W by relative least squares, neither below zero."""
    weights = [(1 / (turn * turn), window, turn) for window, turn in points]
    one = sum(weight for weight, _, _ in weights)
    x = sum(weight * window for weight, window, _ in weights)
    y = sum(weight * turn for weight, _, turn in weights)
    xx = sum(weight * window * window for weight, window, _ in weights)
    xy = sum(weight * window * turn for weight, window, turn in weights)
    slope = (one * xy - x * y) / (one * xx - x * x)
    if slope < 0:
        return y / one, 0.0
    fixed = (y - slope * x) / one
    return (fixed, slope) if fixed >= 0 else (0.0, xy / xx)


def round_trip(onoff, capture):
    answer = subprocess.run([onoff, "netboot", capture, "--format", "json"], check=True, stdout=subprocess.PIPE).stdout
    return min(boot["max_round_trip_ns"] for boot in json.loads(answer)["boots"] if boot["max_round_trip_ns"])


def across(onoff, fitted, other):
    print("| turns from | predicted | model | measured | off by |\n| --- | --- | ---: | ---: | ---: |")
    farther = round_trip(onoff, other) - round_trip(onoff, fitted)
    targets = transfers(onoff, other)
    for (name, _), windows in transfers(onoff, fitted).items():
        if 1 not in windows:
            continue
        turn = median(windows[1], lambda file: file["client_turn"]["usual_ns"] + file["server_turn"]["usual_ns"])
        for (target, _), others in targets.items():
            if 1 not in others or (target, other) == (name, fitted):
                continue
            model = others[1][0]["counts"]["blocks"] * (turn + farther)
            measured = median(others[1], lambda file: file["model"]["steady_ns"])
            off = (model / measured - 1) * 100
            text = f"{off:+.0f} %" if abs(off) <= WANTED_PERCENT else f"**{off:+.0f} %**"
            print(f"| {fitted}, {name} | {other}, {target} | {model / 1e9:.3f} s | {measured / 1e9:.3f} s | {text} |")


def of_blocks(onoff, captures):
    print("| capture | block | windows | lower end | upper end | in the range | farthest outside |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for capture in captures:
        loads = transfers(onoff, capture)
        for (name, block), windows in loads.items():
            fixed, per_block = line([(window, median(files, lambda file: file["client_turn"]["usual_ns"])) for window, files in windows.items()])
            server, server_per_block = line([(window, median(files, lambda file: file["server_turn"]["usual_ns"])) for window, files in windows.items()])
            gaps = [file["gap"]["median_ns"] for files in windows.values() for file in files if file["gap"]["median_ns"] is not None]
            gap = statistics.median(gaps) if gaps else 0
            for (other, size), others in loads.items():
                if size == block:
                    continue
                ends, outside, inside = [], 0.0, 0
                for window, files in sorted(others.items()):
                    blocks = files[0]["counts"]["blocks"]
                    turns = -(-blocks // window)
                    measured = median(files, lambda file: file["model"]["steady_ns"])
                    low, high = sorted(((blocks - turns) * gap + turns * (fixed + server + server_per_block * window) + blocks * each) / measured - 1
                                       for each in (per_block, per_block * size / block))
                    ends.append((low, high))
                    inside += low <= 0 <= high
                    outside = max(outside, low, -high)
                lows, highs = zip(*ends)
                print(f"| {capture} | {block} to {size} | {len(ends)} | {min(lows) * 100:+.0f} to {max(lows) * 100:+.0f} % "
                      f"| {min(highs) * 100:+.0f} to {max(highs) * 100:+.0f} % | {inside} | {outside * 100:.0f} % |")


def main():
    if sys.argv[1] == "--blocks":
        of_blocks(sys.argv[2], sys.argv[3:])
        return
    if sys.argv[1] == "--across":
        across(*sys.argv[2:5])
        return
    onoff, captures = sys.argv[1], sys.argv[2:]
    print("| capture | file, block | window | client's turn | model | measured | off by |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    good = rows = 0
    for capture in captures:
        for (name, block), windows in transfers(onoff, capture).items():
            turns = {window: median(files, lambda file: file["client_turn"]["usual_ns"]) for window, files in windows.items()}
            servers = {window: median(files, lambda file: file["server_turn"]["usual_ns"]) for window, files in windows.items()}
            for window, files in sorted(windows.items()):
                others = [other for other in windows if other != window]
                fixed, per_block = line([(other, turns[other]) for other in others])
                server, server_per_block = line([(other, servers[other]) for other in others])
                gaps = [file["gap"]["median_ns"] for other in others for file in windows[other] if file["gap"]["median_ns"] is not None]
                gap = statistics.median(gaps) if gaps else 0
                blocks = files[0]["counts"]["blocks"]
                acknowledgments = -(-blocks // window)
                model = ((blocks - acknowledgments) * gap + acknowledgments * (fixed + server + server_per_block * window)
                         + blocks * per_block)
                measured = median(files, lambda file: file["model"]["steady_ns"])
                off = (model / measured - 1) * 100
                rows += 1
                good += abs(off) <= WANTED_PERCENT
                text = f"{off:+.0f} %" if abs(off) <= WANTED_PERCENT else f"**{off:+.0f} %**"
                print(f"| {capture} | {name}, {block} | {window} | {turns[window] / 1e3:,.0f} µs | {model / 1e9:.3f} s "
                      f"| {measured / 1e9:.3f} s | {text} |")
    print(f"\n{good} of {rows} within {WANTED_PERCENT} %.")


if __name__ == "__main__":
    main()
