#!/usr/bin/env python3
"""Validates the output of '--format json' against the JSON Schema that is generated from the types.

Runs every command on the project's samples. Each document must match the schema definition named in its header and have no unknown
fields, so that programs generated from the schema can read it completely.

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
# Documents that none of the samples produces.
UNSEEN = {"files", "linux_shutdown", "linux_suspend", "prefetch"}


def closed(schema):
    """The schema without additional properties: an unknown field is an error."""
    schema = copy.deepcopy(schema)

    def close(part):
        if not isinstance(part, dict):
            return
        inner = [*part.get("properties", {}).values(), *part.get("prefixItems", [])]
        inner += [part[key] for key in ("items", "additionalProperties") if isinstance(part.get(key), dict)]
        for each in inner:
            # Close objects where they are used, not where they are defined: flattened fields belong to the outer object.
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
    """The underlying errors: those inside the alternatives, not that no alternative matches."""
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
        # Exit code 2: the recording does not contain the requested data.
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
        print(f"no sample produces these documents: {', '.join(sorted(never))}", file=sys.stderr)
    print(f"{checked} documents of {len(seen)} kinds checked against {SCHEMA.relative_to(ROOT)}, {failed} failed")
    return 1 if failed or never else 0


if __name__ == "__main__":
    sys.exit(main())
