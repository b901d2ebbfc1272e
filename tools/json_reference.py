#!/usr/bin/env python3
"""Generates files from the JSON Schema of the types that onoff serializes.

The schema is derived from the types (feature `schema`, `cargo run -p onoff-page --example schema`). This script generates
docs/src/reference/json.md, with the names and units of `--format json`, and viewer/src/types.ts, the types for the page of `onoff view`.

tools/json_reference.py              derive the schema again and write all three files
tools/json_reference.py --check      fail if the page or the viewer's types do not match the committed schema
tools/json_reference.py --check-all  also fail if the committed schema does not match the code (builds the crates with schemas)
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/src/reference/json.md"
SCHEMA = ROOT / "docs/src/reference/onoff.schema.json"
TYPES = ROOT / "viewer/src/types.ts"
HEADER = "DocumentHeader"

# Names and descriptions of transitions and lists of transitions, by the type of their details.
NAMES = {
    "TransitionOfWindowsBoot": ("BootReport", "Where the time of a boot of Windows went."),
    "TransitionOfWindowsShutdown": ("ShutdownReport", "Where the time of a shutdown of Windows went."),
    "TransitionOfWindowsSuspend": ("PowerTransition", "A sleep of Windows: both halves, and the time asleep between."),
    "TransitionsOfWindowsSuspend": ("SuspendReport", "The sleeps of a recording of Windows."),
    "TransitionOfLinuxBoot": (
        "LinuxBootReport",
        "Where the time of a boot of Linux went. Times are ns of the monotonic clock, from the kernel's start; times of firmware and loader are negative.",
    ),
    "TransitionOfLinuxShutdown": ("LinuxShutdownReport", "Where the time of a shutdown of Linux went."),
    "TransitionOfLinuxSuspend": ("LinuxSleep", "A sleep of Linux: both halves, and the time asleep between."),
    "TransitionsOfLinuxSuspend": ("LinuxSuspendReport", "The sleeps of a recording of Linux."),
}

# The documents with their introductions on the page.
COMMANDS = [
    ("info", "`onoff info --format json`"),
    ("boot", "`onoff boot --format json`"),
    ("linux_boot", "`onoff boot --format json` of a Linux recording"),
    ("boot_axis", "`onoff boot --firmware FILE --capture FILE --format json` without a recording"),
    ("boot_history", "`onoff compare --boots --format json`"),
    ("sleep_history", "`onoff compare --sleeps --format json`"),
    ("boots", "`onoff boot --list-boots --format json`"),
    ("diagnosis", "`onoff diagnose --format json`"),
    ("rule", "`onoff diagnose --explain CODE --format json`"),
    ("rules", "`onoff diagnose --list --format json`"),
    ("firmware", "`onoff firmware --format json`"),
    ("firmware_comparison", "`onoff firmware --compare OTHER --format json`"),
    ("suspend", "`onoff suspend --format json`"),
    ("shutdown", "`onoff shutdown --format json`"),
    ("linux_suspend", "`onoff suspend --format json` of a Linux recording"),
    ("linux_shutdown", "`onoff shutdown --format json` of a Linux recording"),
    ("processes", "`onoff processes --format json`"),
    ("cpu", "`onoff cpu --format json`"),
    ("functions", "`onoff cpu`, `disk` and `hardfaults` with `--by function`, `stack` or, of waits, disk requests and faults, `module`, and `--format json`"),
    ("interrupts", "`onoff interrupts --format json`"),
    ("disk", "`onoff disk --format json`"),
    ("files", "`onoff files --format json`"),
    ("hardfaults", "`onoff hardfaults --format json`"),
    ("services", "`onoff services --format json`"),
    ("devices", "`onoff devices --format json`"),
    ("policy", "`onoff policy --format json`"),
    ("comparison", "`onoff compare --format json`"),
    ("gate", "`onoff gate --format json`"),
    ("why", "`onoff why --format json`"),
    ("what_if", "`onoff what-if --format json`"),
    ("what_if_plan", "`onoff what-if --plan N --format json`"),
    ("what_if_limit", "`onoff what-if --limit --format json`"),
    ("io", "`onoff io --format json`"),
    ("io_comparison", "`onoff io --compare OTHER --format json`"),
    ("image", "`onoff image --format json`"),
    ("image_comparison", "`onoff image --compare OTHER --format json`"),
    ("prefetch", "`onoff prefetch --format json`"),
    ("netboot", "`onoff netboot --format json`"),
    ("summary", "`onoff summary --format json`"),
]

PLAIN = {"string": "text", "boolean": "true or false", "number": "number", "integer": "integer"}
FORMATS = {"mac-address": "text such as `52:54:00:77:00:01`", "guid": "text such as `1BA0062E-C779-4582-8566-336AE8F78F09`"}

INTRODUCTION = """\
# JSON

With `--format json` each command prints one object, `onoff events` one per line. For commands that list rows, `--format csv` uses the same
names. The names below are stable: new names may be added, but if one is removed, renamed or changes its unit, `onoff.schema` of the document is
incremented and the changelog lists the change.

- Every document starts with `onoff`: [the version of onoff, the version of the schema, and the recordings](#documentheader).
- Names ending in `_ns` are in nanoseconds: times are relative to the recording's first event.
- Unknown values are `null`, never zero. Unknown texts are empty.
- Control characters and marks that reorder text are escaped (`\\u009b`, `\\u202e`), so that names from a recording cannot affect a
  terminal. In CSV, a text that a spreadsheet would interpret as a formula (starting with `=`, `+`, `-` or `@`) is prefixed with an apostrophe.
- The descriptions of names ending in `_percent` state the base of the percentage.

The JSON Schema is [onoff.schema.json](onoff.schema.json), generated from the serialized types. This page is generated from it by
`tools/json_reference.py`; `make lint` fails when one of them is out of date.
"""

# `onoff events` writes its lines in crates/output/sections/src/json/event.rs; a test compares them with this list.
EVENTS = """\
## `onoff events --format json`

One line with an object per event. Hexadecimal numbers (addresses, flags, codes, keywords) are strings
such as `"0xffff8000deadbeef"`, because many JSON parsers lose the low bits of large numbers.

| name | | |
| --- | --- | --- |
| `time_ns` | integer | Time, ns. |
| `unix_ns` | integer or null | Real time, ns since 1970-01-01 UTC. |
| `name` | text | Event name, as in `onoff info` and `--event`. |
| `kind` | text | `kernel`, `classic`, `manifest`, `tracelogging`, `message` (software tracing, WPP), `ftrace` (Linux), `log_line` (the kernel's log or a journal) or `unknown`. |
| `provider` | text | Provider name, or its GUID if the name is unknown. |
| `guid` | text | GUID of the provider or class; empty if there is none. |
| `task` | text | Task name; empty if unknown. |
| `opcode_name` | text | Opcode name; empty if unknown. |
| `id` | integer | Event id; for kernel and classic events the opcode, for messages their number. |
| `version` | integer | Version. |
| `opcode` | integer | Opcode. |
| `level` | integer | Level, 1 critical to 5 verbose, 0 always. |
| `keyword` | text | Keyword bits in hexadecimal. |
| `cpu` | integer or null | CPU; `null` for log lines. |
| `pid` | integer or null | Process id. |
| `process` | text or null | Image name of the process, if known from earlier events or from the end of the recording. |
| `tid` | integer or null | Thread id. |
| `size` | integer | Size of the record with its header, bytes. |
| `activity` | text | Activity id of the event; omitted if there is none. |
| `related_activity` | text | Id of the activity that started the event's activity; omitted if there is none. |
| `described` | true or false | True if the event's schema is known; otherwise the field `Payload` has the raw bytes in hexadecimal. |
| `complete` | true or false | True if the fields cover the whole payload. |
| `fields` | any names | The event's fields, in order. |
| `derived` | [Derived](#derived) or null | Values derived from earlier events; omitted if there are none. |

### Derived

Values derived from earlier events. Names that do not apply are omitted.

| name | | |
| --- | --- | --- |
| `elapsed_ns` | integer | Duration of the operation that ends with the event: interrupt, disk request, fault. |
| `service_ns` | integer | Time that the disk spent on the request. |
| `since_last_ns` | integer | Time since the new thread of a context switch last ran. |
| `ran_ns` | integer | How long the old thread of a context switch had run. |
| `stack_of_ns` | integer | Time of the event that a call stack belongs to. |
| `old_state` | text | State of the old thread of a context switch. |
| `old_wait_reason` | text | Wait reason of the old thread of a context switch. |
| `file` | text | Path of the event's file. |
"""


def derive_schema():
    """Derives the schema from the code, with readable type names."""
    command = ["cargo", "run", "--quiet", "--locked", "-p", "onoff-page", "--features", "schema", "--example", "schema"]
    text = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    for name, (readable_name, _) in NAMES.items():
        text = re.sub(rf'"(#/\$defs/)?{name}"', rf'"\g<1>{readable_name}"', text)
    document = json.loads(text)
    for readable_name, description in NAMES.values():
        document["$defs"][readable_name]["description"] = description
    return document


class Schema:
    """The committed schema, with its types as text and as TypeScript."""

    def __init__(self, document):
        self.documents, self.page, self.definitions = document["documents"], document["page"], document["$defs"]

    def name(self, schema):
        """Returns the name of the definition that a schema refers to."""
        return schema["$ref"].removeprefix("#/$defs/") if "$ref" in schema else None

    def alternatives(self, schema):
        return schema.get("oneOf") or schema.get("anyOf")

    def codes(self, schema):
        """Returns the values of an enumeration with their descriptions; `None` for other schemas."""
        if "enum" in schema:
            return [(text, "") for text in schema["enum"]]
        codes = []
        for alternative in self.alternatives(schema) or []:
            if "const" in alternative:
                codes.append((alternative["const"], alternative.get("description", "")))
            elif "enum" in alternative:
                codes += [(text, alternative.get("description", "")) for text in alternative["enum"]]
            else:
                return None
        return codes or None

    def variants(self, schema):
        """Returns the codes of a union with their arguments and descriptions; `None` for other schemas."""
        variants = []
        for alternative in self.alternatives(schema) or []:
            code = alternative.get("properties", {}).get("code", {}).get("const")
            if code is None:
                return None
            arguments = [name for name in alternative["properties"] if name != "code"]
            if "$ref" in alternative:
                arguments += self.definitions[self.name(alternative)]["properties"]
            variants.append((code, arguments, alternative.get("description", "")))
        return variants or None

    def has_section(self, name):
        """Returns whether a definition has its own section; other definitions are described where they are used."""
        schema = self.definitions[name]
        return "properties" in schema or bool(self.codes(schema)) or bool(self.variants(schema))

    def references(self, schema):
        """Yields the definitions that a schema refers to, in order."""
        name = self.name(schema)
        if name:
            yield from [name] if self.has_section(name) else self.references(self.definitions[name])
            return
        for alternative in self.alternatives(schema) or []:
            yield from self.references(alternative)
        for item in schema.get("prefixItems", []):
            yield from self.references(item)
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                yield from self.references(schema[key])
        for field in schema.get("properties", {}).values():
            yield from self.references(field)

    def as_text(self, schema):
        """Returns the type of a schema in words."""
        name = self.name(schema)
        if name:
            return f"[{name}](#{name.lower()})" if self.has_section(name) else self.as_text(self.definitions[name])
        kinds = schema.get("type")
        if isinstance(kinds, list):
            without_null = [kind for kind in kinds if kind != "null"]
            words = " or ".join(self.as_text({**schema, "type": kind}) for kind in without_null)
            return f"{words} or null"
        if self.alternatives(schema):
            parts = [alternative for alternative in self.alternatives(schema) if alternative.get("type") != "null"]
            words = " or ".join(self.as_text(part) for part in parts)
            return words if len(parts) == len(self.alternatives(schema)) else f"{words} or null"
        if kinds == "array":
            if "prefixItems" in schema:
                return "list of " + " and ".join(self.as_text(item) for item in schema["prefixItems"])
            return f"list of {self.as_text(schema['items'])}"
        if kinds == "object" and isinstance(schema.get("additionalProperties"), dict):
            return f"any names, each with {self.as_text(schema['additionalProperties'])}"
        if kinds == "object":
            return "object with " + ", ".join(f"`{name}`" for name in schema.get("properties", {}))
        if "const" in schema:
            return f"`{schema['const']}`"
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        if kinds in PLAIN:
            return PLAIN[kinds]
        raise SystemExit(f"json_reference: no words for the schema {schema}")

    def as_typescript(self, schema):
        """Returns the type of a schema in TypeScript."""
        name = self.name(schema)
        if name and "properties" in schema:
            return f"{name} & {self.as_typescript({key: value for key, value in schema.items() if key != '$ref'})}"
        if name:
            return name
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return " | ".join(self.as_typescript({**schema, "type": kind}) for kind in kinds)
        if self.codes(schema):
            return " | ".join(json.dumps(text) for text, _ in self.codes(schema))
        if self.alternatives(schema):
            return " | ".join(self.as_typescript(alternative) for alternative in self.alternatives(schema))
        if "const" in schema:
            return json.dumps(schema["const"])
        if kinds == "array" and "prefixItems" in schema:
            return "[" + ", ".join(self.as_typescript(item) for item in schema["prefixItems"]) + "]"
        if kinds == "array":
            inner = self.as_typescript(schema["items"])
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        if kinds == "object":
            fields = [f"{name}: {self.as_typescript(field)}" for name, field in schema.get("properties", {}).items()]
            return "{ " + "; ".join(fields) + " }"
        return {"string": "string", "boolean": "boolean", "null": "null", "integer": "number", "number": "number"}[kinds]


def plain(text):
    return " ".join((text or "").split())


def clean(schema, comment):
    def link(match):
        name = match[1]
        has_link = name in schema.definitions and schema.has_section(name)
        return f"[{name}](#{name.lower()})" if has_link else f"`{name}`"

    comment = re.sub(r"\[`([^`\]]+)`\]", link, plain(comment))
    return comment.replace("`None`", "`null`").replace("|", r"\|")


def section(schema, definition, heading, is_document=False):
    lines = [heading, "", clean(schema, definition.get("description")), ""]
    codes, variants = schema.codes(definition), schema.variants(definition)
    if variants:
        lines += ["An object with a `code` and the arguments of that code.", "", "| code | with | means |", "| --- | --- | --- |"]
        for code, arguments, description in variants:
            lines.append(f"| `{code}` | {', '.join(f'`{name}`' for name in arguments)} | {clean(schema, description)} |")
    elif codes:
        lines += ["| text | means |", "| --- | --- |"]
        lines += [f"| `{text}` | {clean(schema, description)} |" for text, description in codes]
    else:
        lines += ["| name | | |", "| --- | --- | --- |"]
        if is_document:
            header = schema.definitions[HEADER].get("description")
            lines.append(f"| `onoff` | [{HEADER}](#{HEADER.lower()}) | {clean(schema, header)} |")
        for name, field in definition.get("properties", {}).items():
            lines.append(f"| `{name}` | {schema.as_text(field)} | {clean(schema, field.get('description'))} |")
    return "\n".join(lines) + "\n"


def page(schema):
    parts = [INTRODUCTION]
    queue, seen = [HEADER], {HEADER}

    def add_references(definition):
        for name in schema.references(definition):
            if name not in seen:
                seen.add(name)
                queue.append(name)

    if {name for name, _ in COMMANDS} != set(schema.documents):
        raise SystemExit("json_reference: COMMANDS does not list exactly the documents of the schema")
    for document, heading in COMMANDS:
        root = schema.name(schema.documents[document]["allOf"][0])
        seen.add(root)
        add_references(schema.definitions[root])
        parts.append(section(schema, schema.definitions[root], f"## {heading}", is_document=True))
    parts.append(EVENTS)
    parts.append("## Nested objects and texts\n")
    while queue:
        name = queue.pop(0)
        add_references(schema.definitions[name])
        parts.append(section(schema, schema.definitions[name], f"### {name}"))
    return "\n".join(parts)


def types(schema):
    lines = ["// What the page is given: made from docs/src/reference/onoff.schema.json by tools/json_reference.py, not by hand."]
    queue, seen = [], set()

    def add_references(part):
        if isinstance(part, dict):
            name = schema.name(part)
            if name and name not in seen:
                seen.add(name)
                queue.append(name)
            for value in part.values():
                add_references(value)
        elif isinstance(part, list):
            for item in part:
                add_references(item)

    add_references(schema.page)
    while queue:
        name = queue.pop(0)
        definition = schema.definitions[name]
        add_references(definition)
        lines += ["", f"/** {plain(definition.get('description'))} */"]
        if "properties" not in definition:
            lines.append(f"export type {name} = {schema.as_typescript(definition)};")
            continue
        lines.append(f"export interface {name} {{")
        for field, field_schema in definition["properties"].items():
            optional = "" if field in definition.get("required", []) else "?"
            lines.append(f"  /** {plain(field_schema.get('description'))} */")
            lines.append(f"  {field}{optional}: {schema.as_typescript(field_schema)};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def main():
    arguments = sys.argv[1:]
    if arguments not in ([], ["--check"], ["--check-all"]):
        raise SystemExit(__doc__)
    document = json.loads(SCHEMA.read_text()) if arguments else derive_schema()
    files = {PAGE: page(Schema(document)), TYPES: types(Schema(document))}
    if arguments != ["--check"]:
        files[SCHEMA] = json.dumps(derive_schema() if arguments else document, indent=1, ensure_ascii=False) + "\n"
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run tools/json_reference.py", file=sys.stderr)
        return 1 if stale else 0
    for path, text in files.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
