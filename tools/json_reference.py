#!/usr/bin/env python3
"""Writes docs/src/reference/json.md: the names and units of `--format json`, from the comments of the result types.

tools/json_reference.py            write the page
tools/json_reference.py --check    fail when the page is not what the code says
"""

import copy
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/src/reference/json.md"
SOURCES = ["crates/netboot/src", "crates/trace/src", "crates/analysis/src", "crates/findings/src", "crates/report/src/json"]
HEADER = "DocumentHeader"

# What the transitions of a list are called.
TRANSITIONS = {"WindowsSuspend": "PowerTransition", "LinuxSuspend": "LinuxSleep"}

# What the commands print, with how the page introduces it.
COMMANDS = [
    ("RecordingSummary", "`onoff info --format json`"),
    ("BootReport", "`onoff boot --format json`"),
    ("LinuxBootReport", "`onoff boot --format json` of a Linux recording"),
    ("BootAxis", "`onoff boot --firmware FILE --capture FILE --format json` without a recording"),
    ("BootList", "`onoff boot --list-boots --format json`"),
    ("Diagnosis", "`onoff diagnose --format json`"),
    ("RuleDescription", "`onoff diagnose --explain CODE --format json`"),
    ("RuleList", "`onoff diagnose --list --format json`"),
    ("FirmwareReport", "`onoff firmware --format json`"),
    ("FirmwareComparison", "`onoff firmware --compare OTHER --format json`"),
    ("SuspendReport", "`onoff suspend --format json`"),
    ("ShutdownReport", "`onoff shutdown --format json`"),
    ("LinuxSuspendReport", "`onoff suspend --format json` of a Linux recording"),
    ("LinuxShutdownReport", "`onoff shutdown --format json` of a Linux recording"),
    ("ProcessList", "`onoff processes --format json`"),
    ("CpuList", "`onoff cpu --format json`"),
    ("InterruptList", "`onoff interrupts --format json`"),
    ("DiskReport", "`onoff disk --format json`"),
    ("FileReport", "`onoff files --format json`"),
    ("HardFaultReport", "`onoff hardfaults --format json`"),
    ("ServiceList", "`onoff services --format json`"),
    ("DeviceList", "`onoff devices --format json`"),
    ("PolicyList", "`onoff policy --format json`"),
    ("Comparison", "`onoff compare --format json`"),
    ("GateReport", "`onoff gate --format json`"),
    ("WhyReport", "`onoff why --format json`"),
    ("IoReport", "`onoff io --format json`"),
    ("IoComparison", "`onoff io --compare OTHER --format json`"),
    ("ImageAnswer", "`onoff image --format json`"),
    ("ImageComparison", "`onoff image --compare OTHER --format json`"),
    ("PrefetchReport", "`onoff prefetch --format json`"),
    ("NetbootReport", "`onoff netboot --format json`"),
    ("Summary", "`onoff summary --format json`"),
]

PLAIN = {
    "String": "text",
    "&'static str": "text",
    "bool": "true or false",
    "f64": "number",
    "TableName": "name of a table",
    "MacAddress": "text such as `52:54:00:77:00:01`",
}
PLAIN |= {kind: "integer" for kind in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")}

INTRODUCTION = """\
# JSON

With `--format json` each command prints one object, `onoff events` one per line. `--format csv` of a command that lists rows has
the names of its rows here. The names below are a contract: names are added; when one is removed, renamed or given another unit, `onoff.schema` of
the document grows, and the list of changes says how.

- Every document begins with `onoff`: [which onoff wrote it, by which version of the contract, and of which recordings](#documentheader).
- A name that ends in `_ns` is in nanoseconds: a time counts from the recording's first event, a duration is a length.
- What the recording cannot tell is `null`, never zero. Texts that are not known are empty.
- Control characters and marks that reorder text are escaped (`\\u009b`, `\\u202e`), so that a name from a recording does nothing to a
  terminal. In CSV a text that a spreadsheet would take for a formula (it begins with `=`, `+`, `-` or `@`) has an apostrophe before it.
- Names that end in `_percent` say in their description what they are a percentage of.

This page is made from the code by `tools/json_reference.py`; `make lint` fails when it is out of date.
"""

# `onoff events` writes its lines itself, in crates/report/src/json/event.rs; a test of the program keeps the two equal.
EVENTS = """\
## `onoff events --format json`

One object per line for each event. Numbers that are read in hexadecimal (addresses, flags, codes, keywords) are texts
such as `"0xffff8000deadbeef"`, because many readers of JSON lose the low bits of large numbers.

| name | | |
| --- | --- | --- |
| `time_ns` | integer | Time, ns. |
| `unix_ns` | integer or null | Real time, ns since 1970-01-01 UTC. |
| `name` | text | Event's name, as `onoff info` lists it and `--event` takes it. |
| `kind` | text | `kernel`, `classic`, `manifest`, `tracelogging`, `message` (software tracing, raw) or `unknown`. |
| `provider` | text | Provider's name; its GUID when the name is not known. |
| `guid` | text | Provider's or class's GUID; empty when there is none. |
| `task` | text | Task's name; empty when not known. |
| `opcode_name` | text | Opcode's name; empty when not known. |
| `id` | integer | Event id; the opcode of kernel and classic events, the number of messages. |
| `version` | integer | Version. |
| `opcode` | integer | Opcode. |
| `level` | integer | Level, 1 critical to 5 verbose, 0 always. |
| `keyword` | text | Keyword bits in hexadecimal. |
| `cpu` | integer | Processor. |
| `pid` | integer or null | Process it is charged to. |
| `process` | text or null | That process's image name, as far as the events so far and the recording's end tell it. |
| `tid` | integer or null | Thread it is charged to. |
| `size` | integer | Bytes of the record, header included. |
| `described` | true or false | Whether a schema of the event is known; without one its field `Payload` is the raw bytes in hexadecimal. |
| `complete` | true or false | Whether the fields account for the whole payload. |
| `fields` | any names | The event's own fields, in their order. |
| `derived` | [Derived](#derived) or null | What follows from the events before; left out when nothing does. |

### Derived

What the recording does not hold as such but follows from events before. Each name is left out when it does not apply.

| name | | |
| --- | --- | --- |
| `elapsed_ns` | integer | How long the work took that the event ends: interrupt, disk request, fault. |
| `service_ns` | integer | Time the disk itself worked on the request. |
| `since_last_ns` | integer | Time since the new thread of a context switch last ran. |
| `ran_ns` | integer | How long the old thread of a context switch had run. |
| `stack_of_ns` | integer | Time of the event that a call stack belongs to. |
| `old_state` | text | State of the old thread of a context switch. |
| `old_wait_reason` | text | Why the old thread of a context switch waits. |
| `file` | text | Path of the file the event is about. |
"""


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class Item:
    """A serialized struct or enum: its comment, and per member its name, type and comment."""

    def __init__(self, name, comment, attributes, body, is_enum):
        self.name, self.comment, self.is_enum = name, comment, is_enum
        self.transparent = "transparent" in attributes
        rename = re.search(r'rename_all = "(\w+)"', attributes)
        self.members = []
        pending, notes = [], []
        # A type may span lines: join each member up to its comma.
        for line in re.sub(r"<\s*\n\s*", "<", body).splitlines():
            line = line.strip()
            if line.startswith("///"):
                pending.append(line[3:].strip())
            elif line.startswith("#["):
                notes.append(line)
            elif line:
                member = self.member(line, " ".join(notes), rename)
                if member:
                    self.members.append((*member, " ".join(pending)))
                pending, notes = [], []

    def of(self, name, comment, details):
        """The same, of an alias that says what stands for the parameter `D`."""
        item = copy.copy(self)
        item.name, item.comment = name, comment
        item.members = [
            (member, re.sub(r"\bD\b", details, kind), flattened, said)
            for member, kind, flattened, said in ((each if each[1] != "Vec<Transition<D>>" else (each[0], f"Vec<{TRANSITIONS[details]}>", *each[2:])) for each in self.members)
        ]
        return item

    def member(self, line, notes, rename):
        if "serde(skip)" in notes:
            return None
        renamed = re.search(r'serde\(rename = "([^"]+)"', notes)
        if self.is_enum:
            found = re.match(r'(\w+)(?: = "([^"]+)")?', line)
            if not found:
                return None
            name = renamed[1] if renamed else found[2] or (snake(found[1]) if rename else found[1])
            return name, None, False
        found = re.match(r"(?:pub )?(\w+): (.+?),?$", line)
        if not found:
            return None
        return (renamed[1] if renamed else found[1]), found[2], "flatten" in notes


def items():
    pattern = re.compile(
        r"(?P<comment>(?:^[ \t]*///[^\n]*\n)*)(?P<attributes>(?:^[ \t]*#\[[^\n]*\]\n)*)"
        r"^[ \t]*pub (?P<kind>struct|enum) (?P<name>\w+)(?:<[^<>{]*>)? \{\n(?P<body>.*?)^[ \t]*\}",
        re.MULTILINE | re.DOTALL,
    )
    alias = re.compile(r"((?:^///[^\n]*\n)+)^pub type (\w+) = (\w+)<(\w+)>;", re.MULTILINE)
    found, aliases = {}, {}
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.rs")):
            for comment, name, generic, details in alias.findall(path.read_text()):
                aliases[name] = " ".join(line[3:].strip() for line in comment.splitlines()), generic, details
            for match in pattern.finditer(path.read_text()):
                comment = [line.strip()[3:].strip() for line in match["comment"].splitlines()]
                found[match["name"]] = Item(
                    match["name"], " ".join(comment), match["attributes"], match["body"], match["kind"] == "enum"
                )
    for name, (comment, generic, details) in aliases.items():
        found[name] = found[generic].of(name, comment, details)
    return found


def inner(kind):
    return re.sub(r"^(?:Option|Vec)<(.+)>$", r"\1", kind)


def target(known, kind):
    """The type that a member's type comes down to, when it has a section of its own."""
    while inner(kind) != kind:
        kind = inner(kind)
    kind = kind.removeprefix("&'static [").removeprefix("&'r [").removesuffix("]")
    item = known.get(kind)
    if item and item.transparent:
        return target(known, item.members[0][1])
    return kind if item else None


def worded(known, kind):
    if kind.startswith("&'r ["):
        return f"list of {worded(known, kind[5:-1])}"
    if kind.startswith("Option<"):
        return f"{worded(known, inner(kind))} or null"
    if kind.startswith("Vec<"):
        return f"list of {worded(known, inner(kind))}"
    if kind.startswith("&'static ["):
        return f"list of {worded(known, kind[10:-1])}"
    if kind in PLAIN:
        return PLAIN[kind]
    item = known.get(kind)
    if item and item.transparent:
        return worded(known, item.members[0][1])
    if item:
        return f"[{kind}](#{kind.lower()})"
    raise SystemExit(f"json_reference: type {kind!r} is not known: say in this script what it is in JSON")


def clean(known, comment):
    def link(match):
        name = match[1]
        return f"[{name}](#{name.lower()})" if name in known else f"`{name}`"

    comment = re.sub(r"\[`([^`\]]+)`\]", link, comment)
    return comment.replace("`None`", "`null`").replace("|", r"\|")


def members(known, item):
    """The members as printed: those of a flattened member stand among its own."""
    for name, kind, flattened, comment in item.members:
        if flattened:
            yield from members(known, known[kind])
        else:
            yield name, kind, comment


def section(known, item, heading, is_document=False):
    lines = [heading, "", clean(known, item.comment), ""]
    if item.is_enum:
        lines += ["| text | means |", "| --- | --- |"]
        lines += [f"| `{name}` | {clean(known, comment)} |" for name, _, _, comment in item.members]
    else:
        lines += ["| name | | |", "| --- | --- | --- |"]
        if is_document:
            lines.append(f"| `onoff` | [{HEADER}](#{HEADER.lower()}) | {clean(known, known[HEADER].comment)} |")
        for name, kind, comment in members(known, item):
            lines.append(f"| `{name}` | {worded(known, kind)} | {clean(known, comment)} |")
    return "\n".join(lines) + "\n"


def page():
    known = items()
    parts = [INTRODUCTION]
    queue, seen = [], set()

    def reach(item):
        for _, kind, _ in [] if item.is_enum else members(known, item):
            name = target(known, kind)
            if name and name not in seen:
                seen.add(name)
                queue.append(name)

    seen.add(HEADER)
    queue.append(HEADER)
    for root, heading in COMMANDS:
        seen.add(root)
        reach(known[root])
        parts.append(section(known, known[root], f"## {heading}", is_document=True))
    parts.append(EVENTS)
    parts.append("## The objects and texts inside\n")
    while queue:
        name = queue.pop(0)
        reach(known[name])
        parts.append(section(known, known[name], f"### {name}"))
    return "\n".join(parts)


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != text:
            print(f"{PAGE.relative_to(ROOT)} is out of date: run tools/json_reference.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
