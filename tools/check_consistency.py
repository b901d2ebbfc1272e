#!/usr/bin/env python3
"""Runs all commands on each recording, and fails if two of them disagree.

The length of a transition and of each phase, the first finding, and the duration of each unit must be the same in all
commands and formats. The script has no expected values: it only compares the commands.

    tools/check_consistency.py ONOFF RECORDING...

RECORDING is a file, or a folder with one recording per file.
"""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TRANSITION_COMMANDS = ("boot", "shutdown", "suspend")
PAGE_DATA = re.compile(r'<script type="application/json" id="page-data">(.*?)</script>', re.S)


class Onoff:
    """Runs the program on one recording."""

    def __init__(self, program, recording):
        self.program, self.recording = program, str(recording)

    def text(self, *arguments):
        """Returns the standard output of a run; None if the program has no data (exit code 2)."""
        run = subprocess.run([self.program, *arguments], capture_output=True, stdin=subprocess.DEVNULL)
        if run.returncode == 2:
            return None
        if run.returncode != 0:
            raise RuntimeError(f"onoff {' '.join(arguments)} exited {run.returncode}: {run.stderr.decode()}")
        return run.stdout.decode()

    def ask(self, command, *options):
        return self.text(command, self.recording, *options)

    def json(self, command, *options):
        answer = self.ask(command, *options, "--format", "json")
        return None if answer is None else json.loads(answer)

    def page(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.html"
            self.ask("view", "-o", str(path))
            return json.loads(PAGE_DATA.search(path.read_text())[1])

    def baseline(self, transition):
        """Returns the measures of a transition in `gate` and `compare`."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "baseline.json"
            self.text("gate", "--baseline", self.recording, "--transition", transition.replace(" ", ":"), "--save-baseline", str(path))
            (run,) = json.loads(path.read_text())["runs"]
            return {measure["key"]: measure["value"] for measure in run["measures"]}


class Facts:
    """Values of each fact by source."""

    def __init__(self):
        self.values = defaultdict(list)
        self.faults = []
        self.compared = 0

    def add(self, source, value, *fact):
        self.values[fact].append((source, value))

    def require(self, condition, fault):
        self.compared += 1
        if not condition:
            self.faults.append(fault)

    def disagreements(self):
        faults = list(self.faults)
        for fact, values in self.values.items():
            self.compared += len(values) - 1
            if len({json.dumps(value) for _, value in values}) > 1:
                faults.append(f"{' '.join(map(str, fact))}: " + ", ".join(f"{source} {value}" for source, value in values))
        return faults


def format_duration(ns):
    """Formats a duration as in the text output."""
    if ns >= 999_500_000_000:
        minutes, rest = divmod((ns + 500_000_000) // 10**9, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            value = ns / size
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
    return f"{ns} ns" if ns else "0 s"


def transitions_of(onoff):
    """Returns the transitions by name, each with the command that reports it and its report."""
    transitions = {}
    for command in TRANSITION_COMMANDS:
        answer = onoff.json(command)
        if answer is None:
            continue
        # A boot with fast startup is reported as a sleep.
        reports = answer["transitions"] if "transitions" in answer else [answer]
        for report in reports:
            name = f"suspend {report['number']}" if report["kind"] == "suspend" else report["kind"]
            if name in transitions:
                continue
            transitions[name] = (command, report)
    return transitions


def by_transition(rows, kind_of):
    """Returns the rows by the name of their transition; sleeps are numbered."""
    rows_by_name, sleeps = {}, 0
    for row in rows:
        kind = kind_of(row)
        if kind not in ("boot", "shutdown"):
            sleeps += 1
            kind = f"suspend {sleeps}"
        rows_by_name[kind] = row
    return rows_by_name


def fix_of(finding):
    return finding and (finding["name"], finding["phase"], finding["cost_ns"], finding["certainty"])


def check_lengths(onoff, facts, transitions):
    diagnosis = onoff.json("diagnose")
    diagnosed = {transition["name"]: transition for transition in diagnosis["transitions"]}
    rows = by_transition(onoff.json("summary")["rows"], lambda row: row["transition"])
    table = by_transition(csv.DictReader(io.StringIO(onoff.ask("summary", "--format", "csv"))), lambda row: row["transition"])
    pages = by_transition(onoff.page()["recordings"][0]["transitions"], lambda transition: transition["kind"])
    for source, names in (("diagnose", diagnosed), ("summary", rows), ("summary csv", table), ("page", pages)):
        facts.add(source, sorted(names), "transitions")
    facts.add("reports", sorted(transitions), "transitions")
    overview = onoff.text(onoff.recording)
    for name, (command, report) in transitions.items():
        if not all(name in source for source in (diagnosed, rows, table, pages)):
            continue
        measures = onoff.baseline(name)
        kind = name.split()[0]
        length = report["total_ns"] if "startup_ns" not in report else report["total_ns"] or report["startup_ns"]
        facts.add(command, length, "length of", name)
        facts.add("diagnose", diagnosed[name]["duration_ns"], "length of", name)
        facts.add("summary", rows[name]["duration_ns"], "length of", name)
        facts.add("summary csv", int(table[name]["duration_ns"]) if table[name]["duration_ns"] else None, "length of", name)
        if f"{kind}.total" in measures:
            facts.add("gate", measures[f"{kind}.total"], "length of", name)
        headline = pages[name]["headline"]
        if length is not None:
            facts.require(format_duration(length) in headline[0], f"{name}: the page says {headline[0]!r}, not {format_duration(length)}")
            if kind != "suspend":
                text = onoff.ask(command).split("\n", 2)
                facts.require(format_duration(length) in " ".join(text[:2]), f"{name}: {command} says {text[0]!r}, not {format_duration(length)}")
                facts.require(format_duration(length) in overview, f"{name}: the overview lacks {format_duration(length)}")
        check_fix_first(onoff, facts, name, command, report, diagnosis, diagnosed[name], rows[name], headline)
        check_phases(facts, name, command, report, measures, pages[name])


def check_fix_first(onoff, facts, name, command, report, diagnosis, diagnosed, row, headline):
    fix = report["fix_first"]
    facts.add(command, fix_of(fix), "fix first of", name)
    facts.add("diagnose", fix_of(diagnosed["fix_first"]), "fix first of", name)
    first = [fix["name"], fix["cost_ns"]] if fix else ["", None]
    facts.add("diagnose", first, "first subject of", name)
    facts.add("summary", [row["subject"], row["subject_ns"]], "first subject of", name)
    # A finding in a phase that two transitions share is listed once, possibly under the other transition.
    costs = [finding["cost_ns"] for finding in diagnosis["findings"] if finding["transition"] == name and finding["cost_ns"]]
    if costs:
        facts.require(fix is not None and (fix["cost_ns"] or 0) >= max(costs), f"{name}: a finding costs {max(costs)}, first is {fix_of(fix)}")
    if fix:
        facts.require(any(fix["title"] in line for line in headline), f"{name}: the page's headline lacks {fix['title']!r}")
    if fix and fix["cost_ns"] is not None:
        text = " ".join(onoff.ask(command).split())
        facts.require(format_duration(fix["cost_ns"]) in text, f"{name}: {command} lacks the cost {format_duration(fix['cost_ns'])} of {fix['name']}")
    if not fix:
        facts.require(not any("Fix first" in line for line in headline), f"{name}: the page names something to fix first")


def check_phases(facts, name, command, report, measures, page):
    """Compares the lengths of phases. Adds up phases of the same name. Phases include user time, measures do not."""
    reported, user_input = defaultdict(int), defaultdict(int)
    unknown = set()
    for phase in report["phases"]:
        if phase["duration_ns"] is None:
            unknown.add(phase["name"])
        else:
            reported[phase["name"]] += phase["duration_ns"]
            user_input[phase["name"]] += phase["user_input_ns"]
    drawn = defaultdict(int)
    for phase in page["phases"]:
        drawn[phase["name"]] += phase["end_ns"] - phase["start_ns"]
        if phase["is_open"]:
            unknown.add(phase["name"])
    bounded = {phase["name"] for phase in report["phases"] if phase["start_ns"] is not None and phase["end_ns"] is not None}
    for phase, length in reported.items():
        if phase in unknown:
            continue
        fact = ("phase", phase, "of", name)
        facts.add(command, length, *fact)
        key = f"{name.split()[0]}.phase.{phase}"
        if key in measures:
            facts.add("gate", measures[key] + user_input[phase], *fact)
        if phase in drawn and phase in bounded:
            facts.add("page", drawn[phase], *fact)


def check_usage(onoff, facts, name, command, report):
    """Compares lists filtered by phase with the report. Only for recordings of one transition, where phase names are unique."""
    names = [phase["name"] for phase in report["phases"]]
    for interval in (onoff.json("why") or {"intervals": []})["intervals"]:
        if interval["kind"] == "phase" and names.count(interval["name"]) == 1:
            facts.add("why", interval["duration_ns"], "phase", interval["name"], "of", name)
    for phase in report["phases"]:
        if not phase.get("cpu") or not phase["duration_ns"] or not phase.get("recorded_ns"):
            continue
        cpu, processes, disk = (onoff.json(verb, "--phase", phase["name"]) for verb in ("cpu", "processes", "disk"))
        fact = ("processor time in", phase["name"], "of", name)
        facts.add(command, phase["cpu"]["busy_ns"], *fact)
        if cpu:
            facts.add("cpu", cpu["cpu"]["busy_ns"], *fact)
        if processes:
            facts.add("processes", processes["cpu"]["busy_ns"], *fact)
        if disk and phase.get("disk"):
            facts.add(command, phase["disk"]["service_ns"], "disk time in", phase["name"], "of", name)
            facts.add("disk", disk["total"]["service_ns"], "disk time in", phase["name"], "of", name)


def check_units(onoff, facts, transitions):
    services = onoff.json("services")
    if services is None:
        return
    durations = {(unit["name"], unit["kind"], unit["start_ns"]): unit["duration_ns"] for unit in services["services"]}
    for command, report in transitions.values():
        for unit in report.get("units") or []:
            key = (unit["name"], unit["kind"], unit["start_ns"])
            facts.require(key in durations, f"{command} has {key}, and services does not")
            facts.add(command, unit["duration_ns"], "unit", *key)
            facts.add("services", durations.get(key), "unit", *key)


def check_network_boots(onoff, facts):
    """Checks the network boots of a capture, and returns their number."""
    answer = onoff.json("netboot")
    if answer is None:
        return 0
    boots, rows, text = answer["boots"], onoff.json("summary")["rows"], onoff.ask("netboot")
    pages = onoff.page()["recordings"][0]["transitions"]
    facts.require(len(boots) == len(rows) == len(pages), f"{len(boots)} network boots, {len(rows)} rows, {len(pages)} on the page")
    for number, (boot, row, page) in enumerate(zip(boots, rows, pages), 1):
        name = f"network boot {number}"
        drawn = defaultdict(int)
        for phase in page["phases"]:
            # The page numbers stages of the same name.
            drawn[re.sub(r" \d+$", "", phase["name"])] += phase["end_ns"] - phase["start_ns"]
        facts.add("netboot", boot["duration_ns"], "length of", name)
        facts.add("summary", row["duration_ns"], "length of", name)
        facts.add("page", page["end_ns"] - page["start_ns"], "length of", name)
        facts.add("netboot", boot["outcome"]["verdict"], "verdict of", name)
        facts.add("summary", row["variant"], "verdict of", name)
        facts.add("netboot", sum(stage["duration_ns"] for stage in boot["stages"]), "stages of", name)
        facts.add("page", sum(drawn.values()), "stages of", name)
        facts.require(page["headline"][0] in text, f"{name}: the page says {page['headline'][0]!r}, and netboot does not")
        if len(boots) == 1:
            measures = onoff.baseline("netboot")
            facts.add("gate", measures["netboot.total"], "length of", name)
            for stage, length in drawn.items():
                facts.add("page", length, "stage", stage, "of", name)
                facts.add("gate", measures.get(f"netboot.phase.{stage}"), "stage", stage, "of", name)
    return len(boots)


def check(onoff):
    facts = Facts()
    if ".pcap" in onoff.recording:
        count = check_network_boots(onoff, facts)
        return facts.disagreements(), count, facts.compared
    transitions = transitions_of(onoff)
    if transitions:
        check_lengths(onoff, facts, transitions)
        check_units(onoff, facts, transitions)
        if len(transitions) == 1:
            ((name, (command, report)),) = transitions.items()
            check_usage(onoff, facts, name, command, report)
    return facts.disagreements(), len(transitions), facts.compared


def recordings(arguments):
    for argument in map(Path, arguments):
        yield from sorted(path for path in argument.rglob("*") if path.is_file()) if argument.is_dir() else [argument]


def main():
    program, *arguments = sys.argv[1:]
    programs = [Onoff(program, path) for path in recordings(arguments)]
    faults = transitions = compared = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for onoff, (disagreements, count, comparisons) in zip(programs, pool.map(check, programs)):
            transitions += count
            compared += comparisons
            faults += len(disagreements)
            for fault in disagreements:
                print(f"{onoff.recording}: {fault}")
    print(f"{len(programs)} recordings, {transitions} transitions, {compared} comparisons, {faults} disagreements")
    return 1 if faults or transitions == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
