#!/usr/bin/env python3
"""Extracts facts about providers from public manifests, in the format that `make catalog` reads.

    tools/provider_facts.py NAMES MANIFEST... > crates/formats/etw/examples/catalog/further_providers.json

NAMES is a text file with lines `{GUID}<tab>Manifest<tab>name`. If several manifests declare a provider, the first one wins for
each event and version. The output has ids, names (also of values), types and numbers, but no message texts.
"""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree

LEVELS = {"LogAlways": 0, "Critical": 1, "Error": 2, "Warning": 3, "Informational": 4, "Verbose": 5}
OPCODES = {"Info": 0, "Start": 1, "Stop": 2, "DC_Start": 3, "DC_Stop": 4, "Extension": 5, "Reply": 6, "Resume": 7,
           "Suspend": 8, "Send": 9, "Receive": 240}
KEYWORDS = {"ResponseTime": 1 << 48, "WDIContext": 1 << 49, "WDIDiagnostic": 1 << 50, "SQM": 1 << 51,
            "AuditFailure": 1 << 52, "AuditSuccess": 1 << 53, "CorrelationHint": 1 << 52, "EventlogClassic": 1 << 55}
TYPES = {"Null", "UnicodeString", "AnsiString", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64",
         "Float", "Double", "Boolean", "Binary", "GUID", "Pointer", "FILETIME", "SYSTEMTIME", "SID", "HexInt32",
         "HexInt64", "CountedUnicodeString", "CountedAnsiString", "CountedBinary"}


def tag_name(element):
    return element.tag.rsplit("}", 1)[-1]


def children(element, name):
    return [child for child in element if tag_name(child) == name]


def grandchildren(provider, plural, singular):
    return [item for group in children(provider, plural) for item in children(group, singular)]


def standard_number(name, numbers):
    return numbers.get(name[4:]) if name and name.startswith("win:") else None


def text(element, strings):
    message = element.get("message", "")
    reference = re.fullmatch(r"\$\(string\.(.*)\)", message)
    return strings.get(reference.group(1), "").strip() if reference else message


def field(element, known_maps):
    if tag_name(element) == "struct":
        fact = {"name": element.get("name"), "inType": "Struct"}
        fact["members"] = [field(member, known_maps) for member in element if tag_name(member) == "data"]
    else:
        name = element.get("inType").removeprefix("win:")
        # Some manifests have the index of a struct's first member as its type.
        fact = {"name": element.get("name"), "inType": name if name in TYPES else "Struct"}
        out_type = element.get("outType")
        if out_type:
            fact["outType"] = out_type
        if element.get("map") in known_maps:
            fact["map"] = element.get("map")
    for extent in ("length", "count"):
        if element.get(extent):
            fact[extent] = element.get(extent)
    # The .NET runtime's manifest declares two frames; the event has FrameCount frames.
    if fact["name"] == "Stack" and fact.get("count") == "2":
        fact["count"] = "FrameCount"
    return fact


def value_maps(provider, strings):
    maps = {}
    for group in children(provider, "maps"):
        for value_map in group:
            values = {}
            for entry in children(value_map, "map"):
                values[entry.get("value")] = text(entry, strings)
            maps[value_map.get("name")] = {"kind": tag_name(value_map), "values": values}
    return maps


def provider_facts(provider, strings):
    maps = value_maps(provider, strings)
    keywords = {keyword.get("name"): int(keyword.get("mask"), 0) for keyword in grandchildren(provider, "keywords", "keyword")}
    tasks, opcodes, display_names = {}, {}, {}

    def name(key, element):
        # A manifest regenerated from a computer has symbols made from the names that Windows shows; use these names.
        if provider.get("source"):
            display_names[key] = text(element, strings) or element.get("name")
        return int(element.get("value"), 0)

    for opcode in grandchildren(provider, "opcodes", "opcode"):
        opcodes["", opcode.get("name")] = name(("", opcode.get("name")), opcode)
    for task in grandchildren(provider, "tasks", "task"):
        tasks[task.get("name")] = name(task.get("name"), task)
        for opcode in grandchildren(task, "opcodes", "opcode"):
            opcodes[task.get("name"), opcode.get("name")] = name((task.get("name"), opcode.get("name")), opcode)
    levels = {level.get("name"): int(level.get("value"), 0) for level in grandchildren(provider, "levels", "level")}
    layouts = {template.get("tid"): [field(item, maps) for item in template if tag_name(item) in ("data", "struct")]
               for template in grandchildren(provider, "templates", "template")}
    events = {}
    for event in grandchildren(provider, "events", "event"):
        task, opcode, level = event.get("task") or "", event.get("opcode") or "", event.get("level") or ""
        number = opcodes.get((task, opcode), opcodes.get(("", opcode)))
        mask = 0
        for name in re.split(r"[ ,\t\r\n]+", event.get("keywords") or ""):
            mask |= keywords.get(name, standard_number(name, KEYWORDS) or 0)
        fact = {"id": int(event.get("value"), 0) & 0xFFFF, "version": int(event.get("version") or 0),
                "symbol": event.get("symbol") or "", "task": tasks.get(task, 0), "taskName": display_names.get(task, task),
                "opcode": standard_number(opcode, OPCODES) if number is None else number, "opcodeName": display_names.get((task, opcode), display_names.get(("", opcode), opcode)),
                "level": levels.get(level, standard_number(level, LEVELS) or 0), "keywords": hex(mask),
                "fields": layouts.get(event.get("template"), [])}
        if not opcode:
            fact["opcode"] = 0
        events.setdefault((fact["id"], fact["version"]), fact)
    return {"name": provider.get("name"), "guid": provider.get("guid").strip("{}").lower(),
            "keywords": {name: hex(mask) for name, mask in keywords.items()}, "maps": maps, "events": events}


def main(names_path, manifests):
    providers = {}
    for path in manifests:
        root = ElementTree.parse(path).getroot()
        strings = {element.get("id"): element.get("value") for element in root.iter() if tag_name(element) == "string"}
        for element in root.iter():
            if tag_name(element) != "provider" or not element.get("guid"):
                continue
            facts = provider_facts(element, strings)
            merged = providers.setdefault(facts["guid"], facts)
            for part in ("keywords", "maps", "events"):
                for key, value in facts[part].items():
                    merged[part].setdefault(key, value)
    lines = []
    for guid in sorted(providers):
        facts = providers[guid]
        layouts = []
        for event in facts["events"].values():
            fields = event.pop("fields")
            if fields not in layouts:
                layouts.append(fields)
            event["layout"] = layouts.index(fields)
        head = {key: facts[key] for key in ("name", "guid", "keywords", "maps")}
        rows = [f'"{key}": {json.dumps(value, sort_keys=True, separators=(",", ":"))}' for key, value in head.items()]
        for key, values in (("layouts", layouts), ("events", [facts["events"][key] for key in sorted(facts["events"])])):
            listing = ",\n".join(json.dumps(value, separators=(",", ":")) for value in values)
            rows.append(f'"{key}": [\n{listing}\n]')
        lines.append("{" + ",\n".join(rows) + "}")
    names = {}
    with open(names_path, encoding="utf-8", errors="replace") as text:
        for line in text:
            match = re.match(r"\{([0-9A-Fa-f-]{36})\}\tManifest\t(.+)", line)
            if match and match.group(1).lower() not in providers:
                names.setdefault(match.group(1).lower(), match.group(2).strip())
    listing = ",\n".join(json.dumps({"guid": guid, "name": names[guid]}) for guid in sorted(names))
    print('{"providers": [\n' + ",\n".join(lines) + '\n],\n"names": [\n' + listing + "\n]}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
