#!/usr/bin/env python3
"""Generates python/onoff/types: codes and classes of the JSON documents, options of the commands, and tables of a recording.

The sources are docs/src/reference/onoff.schema.json (of tools/json_reference.py) and python/interface.json (options and tables; written by a
test of the program with ONOFF_WRITE_REFERENCE).

tools/python_types.py            write the files
tools/python_types.py --check    fail if one is out of date
"""

import importlib
import json
import keyword
import pathlib
import re
import sys
import textwrap
import types

from json_reference import ROOT, SCHEMA, Schema, plain

TYPES = ROOT / "python/onoff/types"
INTERFACE = ROOT / "python/interface.json"
WIDTH = 120

# The result of each command: its class, its base class, and the documents that it can be.
ANSWERS = {
    "info": ("InfoAnswer", "Answer", ["info"]),
    "boot": ("BootAnswer", "Transition", ["boot", "linux_boot", "boots", "boot_axis"]),
    "shutdown": ("ShutdownAnswer", "Transition", ["shutdown", "linux_shutdown"]),
    "suspend": ("SuspendAnswer", "Transition", ["suspend", "linux_suspend"]),
    "diagnose": ("DiagnoseAnswer", "Answer", ["diagnosis"]),
    "why": ("WhyAnswer", "Answer", ["why"]),
    "what-if": ("WhatIfAnswer", "Answer", ["what_if", "what_if_plan", "what_if_limit"]),
    "netboot": ("NetbootAnswer", "Answer", ["netboot"]),
    "firmware": ("FirmwareAnswer", "Answer", ["firmware", "firmware_comparison"]),
    "io": ("IoAnswer", "Answer", ["io", "io_comparison"]),
    "image": ("ImageAnswer", "Answer", ["image", "image_comparison"]),
    "prefetch": ("PrefetchAnswer", "Answer", ["prefetch"]),
    "summary": ("SummaryAnswer", "Answer", ["summary"]),
    "compare": ("CompareAnswer", "Answer", ["comparison", "boot_history", "sleep_history"]),
    "gate": ("GateAnswer", "Answer", ["gate"]),
    "processes": ("ProcessesAnswer", "Answer", ["processes"]),
    "cpu": ("CpuAnswer", "Answer", ["cpu", "functions"]),
    "interrupts": ("InterruptsAnswer", "Answer", ["interrupts"]),
    "disk": ("DiskAnswer", "Answer", ["disk", "functions"]),
    "files": ("FilesAnswer", "Answer", ["files"]),
    "hardfaults": ("HardFaultsAnswer", "Answer", ["hardfaults", "functions"]),
    "services": ("ServicesAnswer", "Answer", ["services"]),
    "devices": ("DevicesAnswer", "Answer", ["devices"]),
    "policy": ("PolicyAnswer", "Answer", ["policy"]),
}

# Options that the package sets itself, and options of output for people.
OWN_OPTIONS = {"format", "output", "csv", "baseline", "candidate", "help"}
# Options of `diagnose` that are not about a recording.
OTHER_OPTIONS = {"list", "explain"}
# Options whose text may be a number.
NUMBERS = {"min", "disk", "cpu", "noise", "min-runs", "slice", "page", "buffer", "read-ahead", "at"}
# Options that select what is read: of functions of paths, and of opening a recording.
READING_OPTIONS = ["boot", "manifest"]

UNITS = [("_ns", "Nanoseconds", r"\bns\b|anosecond"), ("_percent", "Percent", r"%|ercent"), ("bytes", "Bytes", r"\bbytes?\b|\bBytes?\b")]

# The generated modules: what each describes, and what it imports.
MODULES = {
    "codes": ("Codes in results, with their meanings.", "from typing import Literal"),
    "results": (
        "Classes of results. A list or value that a document omits is empty or ``None``. Names ending in ``_ns`` are nanoseconds.",
        "from typing import Any, Literal, Optional, Union\n\nfrom .._answers import Answer, Record, Records, Timed, Transition\nfrom .codes import *",
    ),
    "options": (
        "Options of commands, as keyword arguments.",
        'import os\nfrom collections.abc import Iterable\nfrom typing import Literal, Optional, TypedDict, Union\n\nPath = Union[str, "os.PathLike[str]"]',
    ),
    "tables": ("Tables of a recording.", "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .._recording import Table"),
    "__init__": (
        "Codes, classes of results, options of commands, and tables of a recording.",
        "from .codes import *\nfrom .options import *\nfrom .results import *\nfrom .tables import *",
    ),
}


def base_classes():
    """Returns the module with the base classes, which needs no compiled code."""
    package = types.ModuleType("onoff_source")
    package.__path__ = [str(ROOT / "python/onoff")]
    sys.modules[package.__name__] = package
    return importlib.import_module("onoff_source._answers")


class Generator:
    def __init__(self, document, interface):
        self.schema = Schema(document)
        self.interface = interface
        self.bases = base_classes()
        self.queue, self.seen = [], set()

    def reference(self, name):
        if name not in self.seen:
            self.seen.add(name)
            self.queue.append(name)
        return name

    def python_type(self, schema):
        """Returns the type of a schema. `Optional` is outermost."""
        name = self.schema.name(schema)
        if name:
            return self.reference(name) if self.schema.has_section(name) else self.python_type(self.schema.definitions[name])
        kinds = schema.get("type")
        if isinstance(kinds, list):
            types = [self.python_type({**schema, "type": kind}) for kind in kinds if kind != "null"]
            return optional(union(types)) if "null" in kinds else union(types)
        if self.schema.codes(schema):
            return "Literal[" + ", ".join(json.dumps(text) for text, _ in self.schema.codes(schema)) + "]"
        alternatives = self.schema.alternatives(schema)
        if alternatives:
            types = [self.python_type(part) for part in alternatives if part.get("type") != "null"]
            return optional(union(types)) if any(part.get("type") == "null" for part in alternatives) else union(types)
        if kinds == "array":
            item = union([self.python_type(part) for part in schema["prefixItems"]]) if "prefixItems" in schema else self.python_type(schema["items"])
            return f"Records[{item}]" if self.is_record(item) else f"list[{item}]"
        if kinds == "object":
            return "Record"
        return {"string": "str", "boolean": "bool", "integer": "int", "number": "float"}[kinds]

    def is_record(self, name):
        definition = self.schema.definitions.get(name, {})
        return name == "Record" or "properties" in definition or bool(self.schema.variants(definition))

    def fields(self, definition):
        """Returns the fields of an object, or of all variants of a union, each with its type and description."""
        variants = self.schema.variants(definition)
        if not variants:
            required = definition.get("required", [])
            return {name: (self.field_type(field, name in required), field.get("description", "")) for name, field in definition["properties"].items()}
        codes = ", ".join(json.dumps(code) for code, _, _ in variants)
        meanings = "; ".join(f"{code}: {plain(description).rstrip('.')}" for code, _, description in variants if description)
        merged = {"code": (f"Literal[{codes}]", meanings)}
        parts = []
        for alternative in self.schema.alternatives(definition):
            properties = dict(alternative["properties"])
            if "$ref" in alternative:
                properties.update(self.schema.definitions[self.schema.name(alternative)]["properties"])
            properties.pop("code")
            parts.append({name: (self.field_type(field, True), field.get("description", "")) for name, field in properties.items()})
        merged.update(merge(parts))
        return merged

    def field_type(self, schema, is_required):
        field_type = self.python_type(schema)
        return field_type if is_required or field_type.startswith(("Records[", "list[")) else optional(field_type)

    def class_lines(self, name, base, description, fields):
        base_class = getattr(self.bases, base)
        if base == "Record" and "total_ns" in fields and "total" not in fields:
            base_class, base = self.bases.Timed, "Timed"
        lines = ["", "", f"class {name}({base}):", *docstring(description or f"{name}.", ""), "", "    __slots__ = ()"]
        for field, (field_type, text) in fields.items():
            lines.append(wrap_type(f"    {base_class._attribute(field)}: ", field_type))
            text = plain(text)
            for suffix, unit, pattern in UNITS:
                if field.endswith(suffix) and not re.search(pattern, text):
                    text = f"{text} {unit}.".strip()
            if text:
                lines += docstring(text, "")
        return lines

    def answer(self, verb):
        name, base, documents = ANSWERS[verb]
        roots = [self.schema.definitions[self.schema.name(self.schema.documents[document]["allOf"][0])] for document in documents]
        fields = {"onoff": (self.reference("DocumentHeader"), "Version, kind of document, and recordings.")}
        fields.update(merge([self.fields(root) for root in roots]))
        if len(documents) == 1:
            description = plain(roots[0].get("description"))
        else:
            parts = "; ".join(f"{document}: {plain(root.get('description')).rstrip('.')}" for document, root in zip(documents, roots))
            description = f"Result of `onoff {verb}`, by `document`: {parts}. A field of another kind of document is empty or `None`."
        return self.class_lines(name, base, description, fields)

    def options(self, verb):
        """Returns classes with the options of a command: for a recording, and for a function of paths."""
        name = "".join(part.capitalize() for part in verb.split("-")) + "Options"
        options = {option: value for option, value in self.interface["options"][verb].items() if option not in OWN_OPTIONS | OTHER_OPTIONS}
        reading = {option: options.pop(option) for option in READING_OPTIONS if option in options}
        lines = self.option_class(name, "TypedDict", f"Options of `onoff {verb}`.", options)
        return lines + self.option_class(f"{name[:-7]}PathOptions", name, f"Options of `onoff {verb}`, and options of reading.", reading)

    def option_class(self, name, base, description, options):
        lines = ["", "", f"class {name}({base}, total=False):", *docstring(description, "")]
        for option, value in options.items():
            text = "Union[int, str]" if option == "boot" else "Union[str, float]" if option in NUMBERS else "str"
            option_type = {"flag": "bool", "count": "int", "path": "Path", "text": text}[value["type"]]
            if value["choices"] and value["type"] == "text":
                option_type = "Literal[" + ", ".join(json.dumps(choice) for choice in value["choices"]) + "]"
            if value["repeated"]:
                option_type = f"Union[{option_type}, Iterable[{option_type}]]"
            attribute = option.replace("-", "_")
            attribute += "_" if keyword.iskeyword(attribute) else ""
            lines.append(wrap_type(f"    {attribute}: ", optional(option_type)))
            lines += docstring(plain(value["help"]), "")
        return lines

    def modules(self):
        """Returns the text of each generated module."""
        answers = [line for verb in ANSWERS for line in self.answer(verb)]
        aliases, classes = [], []
        while self.queue:
            name = self.queue.pop(0)
            definition = self.schema.definitions[name]
            codes = self.schema.codes(definition)
            if codes:
                values = ", ".join(json.dumps(text) for text, _ in codes)
                aliases += ["", wrap_type(f"{name} = ", f"Literal[{values}]")]
                meanings = "; ".join(f"{text}: {plain(meaning).rstrip('.')}" for text, meaning in codes if meaning)
                aliases += docstring(" ".join(filter(None, [plain(definition.get("description")), meanings])), "", indent="")
            else:
                classes += self.class_lines(name, "Record", plain(definition.get("description")), self.fields(definition))
        options = [line for verb in ANSWERS if verb not in ("info",) for line in self.options(verb)]
        tables = ["", "", "class Tables:", *docstring("Tables of a recording, as attributes. Each is read on first use.", ""), ""]
        tables += ["    if TYPE_CHECKING:"]
        for table, text in self.interface["tables"].items():
            tables += ["", "        @property", f"        def {table}(self) -> Table:", *docstring(plain(text), "", indent=" " * 12), "            ..."]
        documents = ["", "", "ANSWERS: dict[str, type[Any]] = {", *[f"    {json.dumps(verb)}: {name}," for verb, (name, _, _) in ANSWERS.items()], "}"]
        documents += docstring("Class of the result of each command.", "", indent="")
        content = {"codes": aliases, "results": classes + answers + documents, "options": options, "tables": tables, "__init__": []}
        return {module: "\n".join([*head(module), *lines]) + "\n" for module, lines in content.items()}


def head(module):
    """Returns the first lines of a generated module."""
    description, imports = MODULES[module]
    made_by = "Generated by tools/python_types.py; do not edit."
    return [*docstring(f"{description} {made_by}", "", indent=""), "", "# ruff: noqa", "from __future__ import annotations", "", imports]


def optional(python_type):
    return python_type if python_type.startswith("Optional[") else f"Optional[{python_type}]"


def union(types):
    types = list(dict.fromkeys(types))
    return types[0] if len(types) == 1 else "Union[" + ", ".join(types) + "]"


def merge(parts):
    """Merges the fields of several kinds of objects: `Optional` if a kind lacks a field that is no list."""
    merged = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        found = [part[name] for part in parts if name in part]
        types = [python_type for python_type, _ in found]
        is_optional = len(found) < len(parts) or any(python_type.startswith("Optional[") for python_type in types)
        plain_types = [python_type[9:-1] if python_type.startswith("Optional[") else python_type for python_type in types]
        merged_type = union(plain_types)
        only_lists = all(python_type.startswith(("Records[", "list[")) for python_type in types)
        description = next((text for _, text in found if text), "")
        merged[name] = (optional(merged_type) if is_optional and not only_lists else merged_type, description)
    return merged


def docstring(text, end, indent="    "):
    """Returns a description as a docstring."""
    text = re.sub(r"\[?`([^`\]]+)`\]?", r"``\1``", text).replace("\\", "\\\\").replace('"""', "'''")
    if text.endswith('"'):
        text += " "
    lines = textwrap.wrap(text, WIDTH - len(indent) - 6, break_long_words=False, break_on_hyphens=False)
    if len(lines) <= 1:
        return [f'{indent}"""{text}"""']
    return [f'{indent}"""{lines[0]}', *[indent + line for line in lines[1:]], f'{indent}"""']


def wrap_type(start, python_type):
    """Returns the line of a declaration, or several for a long list of codes."""
    if len(start) + len(python_type) <= WIDTH:
        return start + python_type
    indent = " " * (len(start) - len(start.lstrip()))
    opening, closing = re.match(r"((?:\w+\[)+)", python_type)[1], re.search(r"(\]+)$", python_type)[1]
    inner = python_type[len(opening) : len(python_type) - len(closing)]
    lines = textwrap.wrap(inner, WIDTH - len(indent) - 4, break_long_words=False, break_on_hyphens=False)
    return "\n".join([start + opening, *[f"{indent}    {line}" for line in lines], indent + closing])


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    modules = Generator(json.loads(SCHEMA.read_text()), json.loads(INTERFACE.read_text())).modules()
    paths = {TYPES / f"{module}.py": text for module, text in modules.items()}
    if not sys.argv[1:]:
        TYPES.mkdir(exist_ok=True)
        for path, text in paths.items():
            path.write_text(text)
        return 0
    outdated = [path.relative_to(ROOT) for path, text in paths.items() if not path.exists() or path.read_text() != text]
    for path in outdated:
        print(f"{path} is out of date: run tools/python_types.py", file=sys.stderr)
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
