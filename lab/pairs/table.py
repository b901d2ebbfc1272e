#!/usr/bin/env python3
"""Predicts each boot of a pair from its counterpart, and prints the table of predictions and truths for the book.

lab/pairs/table.py ONOFF RECORDINGS [--json FILE]    RECORDINGS has what record.py wrote

A prediction is the median of those from each run; the truth is the median of the counterpart's runs. `with trace` is predicted from
the whole recording, `logs` from the same recording without the kernel's trace.
"""

import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile

# What is compared, the recorded variant, its counterpart, and the change between them.
PAIRS = [
    ("unit sleeps 6 s before `sysinit.target`; without it", "sleep", "plain", ["--without", "onoff-pair-sleep.service"]),
    ("unit sleeps 3 s, nothing waits for it; without it", "aside", "plain", ["--without", "onoff-pair-aside.service"]),
    ("unit computes, nothing waits for it; without it", "burn", "plain", ["--without", "onoff-pair-burn.service"]),
    ("the same with two processors", "burn-2", "plain-2", ["--without", "onoff-pair-burn.service"]),
    ("two processors instead of one, with the unit", "burn", "burn-2", ["--processors", "2"]),
    ("one processor instead of two, with the unit", "burn-2", "burn", ["--processors", "1"]),
    ("module sleeps 2 s in its initialization; without the unit that loads it", "module", "plain",
     ["--without", "systemd-modules-load.service"]),
    ("the same, without the module", "module", "plain", ["--without", "onoff_lab_module"]),
    ("two units that sleep 2 s and compute, one after the other; in parallel", "serial", "parallel", ["--parallel", "onoff-pair-first.service"]),
    ("disk of 20 MB/s instead of 500 MB/s; the fast disk", "slow-disk", "plain", ["--disk", "25x"]),
    ("the same the other way", "plain", "slow-disk", ["--disk", "0.04x"]),
    ("processor half as fast; the faster one", "slow-processor-plain", "plain", ["--cpu", "2x"]),
    ("the same the other way", "plain", "slow-processor-plain", ["--cpu", "0.5x"]),
]
PAIRS += [(f"slow processor: {what}", f"slow-processor-{name}", f"slow-processor-{counterpart}", change)
          for what, name, counterpart, change in PAIRS if change[0] not in ("--cpu", "--processors") and not name.endswith("-2")]
# Maximum error of a good prediction, percent of the measured duration.
GOOD_PERCENT = 10


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("onoff", type=pathlib.Path, help="the program")
    arguments.add_argument("recordings", type=pathlib.Path, help="folder with the recordings")
    arguments.add_argument("--json", type=pathlib.Path, help="file for the table's values")
    arguments = arguments.parse_args()
    with tempfile.TemporaryDirectory() as work:
        variants = {folder.name: runs(folder, pathlib.Path(work)) for folder in sorted(arguments.recordings.iterdir())
                    if folder.is_dir()}
        rows = []
        for pair in PAIRS:
            if variants.get(pair[1]) and variants.get(pair[2]):
                rows += [row for basis in ("trace", "logs") if (row := predict(arguments.onoff, variants, pair, basis))]
    print_spread(variants)
    print_table(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


def runs(folder, work):
    """The runs of a variant: unpacked folders and duration of user space, ms."""
    found = []
    for archive in sorted(folder.glob("*.tar.xz")):
        target = work / folder.name / archive.name.removesuffix(".tar.xz")
        whole, logs = target / "trace", target / "logs"
        whole.mkdir(parents=True)
        with tarfile.open(archive) as files:
            files.extractall(whole, filter="data")
        shutil.copytree(whole, logs, ignore=shutil.ignore_patterns("boot.trace*", "boot.saved_cmdlines", "boot.stats.txt"))
        times = dict(re.findall(r"^(Userspace|Finish)TimestampMonotonic=(\d+)$", next(whole.rglob("show-manager.txt")).read_text(), re.MULTILINE))
        if len(times) != 2 or times["Finish"] == "0":
            sys.exit(f"table: {archive}: the boot was not finished")
        found.append({"trace": whole, "logs": logs, "ms": (int(times["Finish"]) - int(times["Userspace"])) / 1000,
                      "is_full": any(whole.rglob("show-units.txt"))})
    return found


def ask(onoff, *words):
    """The program's JSON answer, or None and its message."""
    done = subprocess.run([onoff, *words, "--format", "json"], capture_output=True, text=True)
    return (json.loads(done.stdout), None) if done.returncode == 0 and done.stdout else (None, re.sub(r"^onoff: [^:]*: |;.*", "", done.stderr.strip()))


def predict(onoff, variants, pair, basis):
    what, name, counterpart, change = pair
    answers = [ask(onoff, "what-if", run[basis], *change) for run in variants[name] if run["is_full"]]
    measured_ms = statistics.median(run["ms"] for run in variants[name])
    truth_ms = statistics.median(run["ms"] for run in variants[counterpart]) - measured_ms
    row = {"what": what, "change": " ".join(change), "basis": basis, "measured_ms": measured_ms, "truth_ms": truth_ms,
           "runs": len(answers), "reasons": []}
    predicted = []
    for answer, error in answers:
        phase = answer and next((phase for phase in answer["phases"] if phase["phase"] == "user_space"), None)
        if not phase or not phase["predicted"] or answer["no_prediction"]:
            row["reasons"].append(error or answer["no_prediction"])
            continue
        predicted.append([(phase["predicted"][key] - phase["measured_ns"]) / 1e6 for key in ("ns", "min_ns", "max_ns")])
        row["replayed"] = answer["basis"]
    # Hardware is predicted only from a trace.
    if not predicted and basis == "logs" and change[0] in ("--disk", "--cpu", "--processors"):
        return None
    if predicted and len(predicted) * 2 > len(answers):
        likely, low, high = (statistics.median(values) for values in zip(*predicted))
        row |= {"likely_ms": likely, "low_ms": low, "high_ms": high}
        row["is_in_range"] = low - 20 <= truth_ms <= high + 20
        row["is_good"] = abs(likely - truth_ms) <= measured_ms * GOOD_PERCENT / 100
    return row


def print_spread(variants):
    print("| boot | runs | user space, ms: median | lowest | highest |\n| --- | --- | --- | --- | --- |")
    for name, found in variants.items():
        if found:
            times = [run["ms"] for run in found]
            print(f"| {name} | {len(times)} | {statistics.median(times):,.0f} | {min(times):,.0f} | {max(times):,.0f} |")
    print()


def print_table(rows):
    print("| pair | change | from | truth, ms | predicted, ms | range, ms | result |\n| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        source = "trace" if row["basis"] == "trace" else "logs"
        head = f"| {row['what']} | `{row['change']}` | {source} | {row['truth_ms']:,.0f} |"
        if "likely_ms" not in row:
            reasons = ", ".join(sorted(set(row["reasons"])))
            print(f"{head} - | - | no prediction: {reasons} |")
            continue
        result = " and ".join(text for text, holds in (("in range", row["is_in_range"]), (f"within {GOOD_PERCENT} %", row["is_good"])) if holds)
        print(f"{head} {row['likely_ms']:,.0f} | {row['low_ms']:,.0f} to {row['high_ms']:,.0f} | {result or '**missed**'} |")


if __name__ == "__main__":
    main()
