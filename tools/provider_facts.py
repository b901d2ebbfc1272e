#!/usr/bin/env python3
"""Extracts facts about providers from public manifests, in the format that `make catalog` reads.

    tools/provider_facts.py NAMES MANIFEST... > crates/formats/etw/examples/catalog/further_providers.json

NAMES is a text file with `{GUID}<tab>Manifest<tab>name` lines. If several manifests declare a provider, the first one takes
precedence for each event and version. Keeps identifiers, names (including value names), types and numbers, but no event texts.
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


def plain(element):
    return element.tag.rsplit("}", 1)[-1]


def children(element, name):
    return [child for child in element if plain(child) == name]


def listed(provider, plural, singular):
    return [item for found in children(provider, plural) for item in children(found, singular)]


def standard(name, numbers):
    return numbers.get(name[4:]) if name and name.startswith("win:") else None


def text(element, strings):
    message = element.get("message", "")
    reference = re.fullmatch(r"\$\(string\.(.*)\)", message)
    return strings.get(reference.group(1), "").strip() if reference else message


def field(element, known_maps):
    if plain(element) == "struct":
        fact = {"name": element.get("name"), "inType": "Struct"}
        fact["members"] = [field(member, known_maps) for member in element if plain(member) == "data"]
    else:
        name = element.get("inType").removeprefix("win:")
        # The generator of some manifests printed the index of a struct's first member as its type.
        fact = {"name": element.get("name"), "inType": name if name in TYPES else "Struct"}
        out_type = element.get("outType")
        if out_type:
            fact["outType"] = out_type
        if element.get("map") in known_maps:
            fact["map"] = element.get("map")
    for extent in ("length", "count"):
        if element.get(extent):
            fact[extent] = element.get(extent)
    # The .NET runtime's manifest declares two frames; the actual number is in FrameCount.
    if fact["name"] == "Stack" and fact.get("count") == "2":
        fact["count"] = "FrameCount"
    return fact


def value_maps(provider, strings):
    maps = {}
    for found in children(provider, "maps"):
        for value_map in found:
            values = {}
            for entry in children(value_map, "map"):
                values[entry.get("value")] = text(entry, strings)
            maps[value_map.get("name")] = {"kind": plain(value_map), "values": values}
    return maps


def provider_facts(provider, strings):
    maps = value_maps(provider, strings)
    keywords = {found.get("name"): int(found.get("mask"), 0) for found in listed(provider, "keywords", "keyword")}
    tasks, opcodes, shown = {}, {}, {}

    def name(key, element):
        # In manifests regenerated from a computer, names are derived from the displayed texts: use those.
        if provider.get("source"):
            shown[key] = text(element, strings) or element.get("name")
        return int(element.get("value"), 0)

    for found in listed(provider, "opcodes", "opcode"):
        opcodes["", found.get("name")] = name(("", found.get("name")), found)
    for task in listed(provider, "tasks", "task"):
        tasks[task.get("name")] = name(task.get("name"), task)
        for found in listed(task, "opcodes", "opcode"):
            opcodes[task.get("name"), found.get("name")] = name((task.get("name"), found.get("name")), found)
    levels = {found.get("name"): int(found.get("value"), 0) for found in listed(provider, "levels", "level")}
    layouts = {template.get("tid"): [field(item, maps) for item in template if plain(item) in ("data", "struct")]
               for template in listed(provider, "templates", "template")}
    events = {}
    for event in listed(provider, "events", "event"):
        task, opcode, level = event.get("task") or "", event.get("opcode") or "", event.get("level") or ""
        number = opcodes.get((task, opcode), opcodes.get(("", opcode)))
        mask = 0
        for name in re.split(r"[ ,\t\r\n]+", event.get("keywords") or ""):
            mask |= keywords.get(name, standard(name, KEYWORDS) or 0)
        fact = {"id": int(event.get("value"), 0) & 0xFFFF, "version": int(event.get("version") or 0),
                "symbol": event.get("symbol") or "", "task": tasks.get(task, 0), "taskName": shown.get(task, task),
                "opcode": standard(opcode, OPCODES) if number is None else number, "opcodeName": shown.get((task, opcode), shown.get(("", opcode), opcode)),
                "level": levels.get(level, standard(level, LEVELS) or 0), "keywords": hex(mask),
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
        strings = {found.get("id"): found.get("value") for found in root.iter() if plain(found) == "string"}
        for element in root.iter():
            if plain(element) != "provider" or not element.get("guid"):
                continue
            facts = provider_facts(element, strings)
            known = providers.setdefault(facts["guid"], facts)
            for part in ("keywords", "maps", "events"):
                for key, value in facts[part].items():
                    known[part].setdefault(key, value)
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
        for key, values in (("layouts", layouts), ("events", [facts["events"][at] for at in sorted(facts["events"])])):
            listing = ",\n".join(json.dumps(value, separators=(",", ":")) for value in values)
            rows.append(f'"{key}": [\n{listing}\n]')
        lines.append("{" + ",\n".join(rows) + "}")
    names = {}
    with open(names_path, encoding="utf-8", errors="replace") as text:
        for line in text:
            found = re.match(r"\{([0-9A-Fa-f-]{36})\}\tManifest\t(.+)", line)
            if found and found.group(1).lower() not in providers:
                names.setdefault(found.group(1).lower(), found.group(2).strip())
    listing = ",\n".join(json.dumps({"guid": guid, "name": names[guid]}) for guid in sorted(names))
    print('{"providers": [\n' + ",\n".join(lines) + '\n],\n"names": [\n' + listing + "\n]}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
