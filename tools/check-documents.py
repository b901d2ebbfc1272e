#!/usr/bin/env python3
"""Checks what the verbs print with '--format json' against the JSON Schema that is made from the types.

Every verb that answers about a recording is run on the project's own samples. Each document must be what the schema calls by the
name in its header, with no name that the schema does not have: a program generated from the schema then reads all that is there.

    tools/check-documents.py ONOFF FILE...
"""

import copy
import json
import pathlib
import subprocess
import sys

from jsonschema import Draft202012Validator

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "docs/src/reference/onoff.schema.json"
SAMPLES = ROOT / "samples"
RUNS = [str(SAMPLES / "runs" / side) for side in ("before", "after")]

OF_RECORDINGS = (
    "info boot shutdown suspend why diagnose processes cpu interrupts disk files hardfaults services devices policy io summary"
).split()
OTHERS = [
    ["boot", "--list-boots", str(SAMPLES / "linux-boot.tar.xz")],
    ["diagnose", "--list"],
    ["diagnose", "--explain", "boot/service-start-slow"],
    ["firmware", str(SAMPLES / "firmware-FBPT.bin.xz")],
    ["firmware", str(SAMPLES / "firmware-FBPT.bin.xz"), "--compare", str(SAMPLES / "firmware-FBPT.bin.xz")],
    ["boot", "--firmware", str(SAMPLES / "firmware-FBPT.bin.xz")],
    ["netboot", str(SAMPLES / "netboot-slow-link.pcap.xz")],
    ["netboot", str(SAMPLES / "netboot-file-not-found.pcap.xz")],
    ["io", str(SAMPLES / "four-byte-reads.csv.gz")],
    ["io", str(SAMPLES / "four-byte-reads.csv.gz"), "--compare", str(SAMPLES / "four-byte-reads.csv.gz")],
    ["cpu", str(SAMPLES / "slow-boot.etl"), "--by", "function"],
    ["cpu", str(SAMPLES / "slow-boot.etl"), "--by", "process,stack"],
    ["image", str(SAMPLES / "image/before")],
    ["image", str(SAMPLES / "image/before"), "--compare", str(SAMPLES / "image/after")],
    ["compare", *RUNS],
    ["compare", "--boots", str(SAMPLES / "linux-boot.tar.xz")],
    ["gate", *RUNS, "--limit", "boot.total 5%"],
]
# Documents that none of the project's samples leads to.
UNSEEN = {"files", "linux_shutdown", "linux_suspend", "prefetch"}


def closed(schema):
    """The schema with every object closed: a name that it does not have is a fault."""
    schema = copy.deepcopy(schema)

    def close(part):
        if not isinstance(part, dict):
            return
        inner = [*part.get("properties", {}).values(), *part.get("prefixItems", [])]
        inner += [part[key] for key in ("items", "additionalProperties") if isinstance(part.get(key), dict)]
        for each in inner:
            # Where it is used, not where it is defined: names of a flattened part are the whole's.
            each["unevaluatedProperties"] = False
            close(each)
        for key in ("allOf", "anyOf", "oneOf"):
            for each in part.get(key, []):
                close(each)

    for definition in schema["$defs"].values():
        close(definition)
    for document in schema["documents"].values():
        document["unevaluatedProperties"] = False
    return schema


def faults(schema, document):
    name = document.get("onoff", {}).get("document")
    if name not in schema["documents"]:
        return name, [f"document {name!r} is not in the schema"]
    root = {**schema, "oneOf": [{"$ref": f"#/documents/{name}"}]}
    found = sorted(Draft202012Validator(root).iter_errors(document), key=lambda error: list(error.absolute_path))
    return name, [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in leaves(found)]


def leaves(errors):
    """Where the faults really are: those inside an alternative, not that no alternative fits."""
    for error in errors:
        if error.context:
            yield from leaves(error.context)
        else:
            yield error


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    program, recordings = sys.argv[1], sys.argv[2:]
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    schema = closed(schema)
    questions = [[verb, recording] for recording in recordings for verb in OF_RECORDINGS] + OTHERS
    seen, failed, checked = set(), 0, 0
    for question in questions:
        result = subprocess.run([program, *question, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        words = " ".join(question)
        # 2: the recording does not hold what was asked for.
        if result.returncode == 2:
            continue
        if not result.stdout:
            print(f"{words}: no document, exit code {result.returncode}: {result.stderr.strip()}", file=sys.stderr)
            failed += 1
            continue
        name, found = faults(schema, json.loads(result.stdout))
        seen.add(name)
        checked += 1
        for fault in found[:10]:
            print(f"{words}: {fault}", file=sys.stderr)
        failed += bool(found)
    never = set(schema["documents"]) - seen - UNSEEN
    if never:
        print(f"no sample leads to these documents: {', '.join(sorted(never))}", file=sys.stderr)
    print(f"{checked} documents of {len(seen)} kinds checked against {SCHEMA.relative_to(ROOT)}, {failed} failed")
    return 1 if failed or never else 0


if __name__ == "__main__":
    sys.exit(main())
