#!/usr/bin/env python3
"""Generates docs/src/reference/findings.md: every rule of `onoff diagnose`, from the comments in the rules' source files, and the findings
in the scenarios, from crates/support/simulator/expected/findings.toml, which a test compares with the program's output.

tools/findings_page.py            write the page
tools/findings_page.py --check    fail if the page is out of date
"""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = ROOT / "crates/answers/findings/src/rules"
SCENARIOS = ROOT / "crates/support/simulator/scenarios"
EXPECTED = ROOT / "crates/support/simulator/expected/findings.toml"
PAGE = ROOT / "docs/src/reference/findings.md"
HEADINGS = ["What it finds", "Why it costs time", "Evidence needed", "What to do", "When it is wrong", "Source"]
GROUPS = {
    "account": "Any transition",
    "boot": "Boot",
    "image": "An installation that is not running (`onoff image`)",
    "linux": "Boot, shutdown and sleep of Linux",
    "shutdown": "Shutdown",
    "suspend": "Sleep, hibernation, fast startup",
    "recording": "How far a recording can be trusted",
}

ENDS = {
    "cpu": "computing",
    "device": "a deferred procedure call of {}",
    "disk": "requests to {}",
    "other": "not known: {}",
    "timer": "a timer",
}

INTRODUCTION = """\
# Findings

The rules of `onoff diagnose`. Each finding has a stable code; `onoff diagnose --explain CODE` prints the text below. A service, driver,
program, script, subscriber or unit is reported from 5 % of the transition on, at least 300 ms and at most 1 s; its times in all phases of the
transition are added. The other thresholds are in `crates/answers/findings/src/thresholds.rs`, each with its source.

The cost of a finding is what fixing it alone would save, predicted by a replay of the recording with a range, if context switches and
ready threads were recorded and the replay is reliable. Otherwise it is the time that the critical path spent in its subject or in what the
subject waited for; without a critical path it is an upper bound, marked `≤`: the time in which the subject ran. Boots, shutdowns and sleeps
of Linux have measured costs.
Rules marked ↻ also apply to a fast startup, from the resume on: there the new session corresponds to a boot.
Advice never suggests disabling services of Windows or of its protection; for others it suggests checking ERROR_CONTROL first, which is not
recorded.

This page is generated from the code by `tools/findings_page.py`; `make lint` fails when it is out of date.
"""


def rules():
    pattern = re.compile(r"rule! \{\n(?P<text>(?:\s*///[^\n]*\n)+)\s*\"(?P<code>[^\"]+)\",\s*\"(?P<title>[^\"]+)\",\s*(?P<kind>\w+)\(", re.M)
    for path in sorted(RULES.rglob("*.rs")):
        match = pattern.search(path.read_text())
        if not match:
            continue
        group = path.parent.name
        code = f"{group}/{path.stem.replace('_', '-')}"
        if match["code"] != code:
            raise SystemExit(f"findings_page: {path.relative_to(ROOT)} contains {match['code']}, not {code}")
        lines = [line.strip()[3:].strip() for line in match["text"].splitlines()]
        sections, heading = {}, None
        for line in lines:
            if line.startswith("# "):
                heading = line[2:]
                sections[heading] = []
            elif heading:
                sections[heading].append(line)
        if list(sections) != HEADINGS:
            raise SystemExit(f"findings_page: {code} has the headings {list(sections)}")
        title = match["title"] + (" ↻" if match["kind"].startswith("Session") else "")
        yield group, code, title, {name: " ".join(filter(None, text)) for name, text in sections.items()}


def codes(names):
    return ", ".join(f"`{name}`" for name in names) or "none"


def table():
    expected = tomllib.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    if not expected:
        return
    yield "## Findings in the scenarios"
    yield ""
    yield "Each scenario (`crates/support/simulator/scenarios`) is a simulated computer with known problems. *First* is the finding that must come first;"
    yield "*also* lists other correct findings, *missed* correct findings that are not reported, *false* incorrect findings. A test checks this table."
    yield ""
    yield "| scenario | first | also | missed | false |"
    yield "| --- | --- | --- | --- | --- |"
    counts = [0, 0, 0]
    for name, row in sorted(expected.items()):
        title = tomllib.loads((SCENARIOS / f"{name}.toml").read_text())["name"]
        first, also = row.get("first"), row.get("also", [])
        missed, false = row.get("missed", []), row.get("false", [])
        counts[0] += len(also) + bool(first)
        counts[1] += len(missed)
        counts[2] += len(false)
        first_code = f"`{first}`" if first else "nothing"
        yield f"| {title} (`{name}`) | {first_code} | {codes(also)} | {codes(missed)} | {codes(false)} |"
    yield ""
    yield f"{len(expected)} scenarios: {counts[0]} findings, {counts[1]} missed, {counts[2]} false."
    yield ""
    yield "## Costs and wait chains"
    yield ""
    yield "*Injected* is computed from the scenario's definition, without the recording. The first finding's cost and the chain of"
    yield "`onoff why` must be within the given tolerance."
    yield ""
    yield "| scenario | finding | injected | tolerance | reason |"
    yield "| --- | --- | --- | --- | --- |"
    for name, row in sorted(expected.items()):
        if cost := row.get("cost"):
            sign = "≤ " if cost["basis"] == "at_most" else ""
            yield f"| `{name}` | {sign}{cost['subject']} | {cost['put_in']} | {cost['within_ms']} ms | {cost['because']} |"
    yield ""
    yield "| scenario | arguments | chain | injected | tolerance | reason |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, row in sorted(expected.items()):
        if chain := row.get("chain"):
            through = chain.get("through") or [f"thread {tid}" for tid in chain["threads"]]
            steps = " → ".join([*through, ENDS[chain["ends"]].format(chain["of"])])
            yield (
                f"| `{name}` | `{chain['question']}` | {steps} | {chain['put_in']} | {chain['within_ms']} ms | {chain['because']} |"
            )
    yield ""


def page():
    parts = [INTRODUCTION]
    all_rules = list(rules())
    for group, title in GROUPS.items():
        parts.append(f"## {title}\n")
        parts.append("| code | finds |\n| --- | --- |")
        parts += [f"| [`{code}`](#{code.replace('/', '')}) | {name} |" for rule_group, code, name, _ in all_rules if rule_group == group]
        parts.append("")
        for rule_group, code, name, sections in all_rules:
            if rule_group == group:
                parts.append(f"### `{code}`\n")
                parts += [f"**{heading}.** {text}\n" for heading, text in sections.items()]
    parts += table()
    return "\n".join(parts).rstrip() + "\n"


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != text:
            print(f"{PAGE.relative_to(ROOT)} is out of date: run tools/findings_page.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
