#!/usr/bin/env python3
"""Checks the output of '--format json' against the JSON Schema that is derived from the types.

Runs every command on the project's samples. Each document must match the schema definition named in its header, without
unknown properties, so that a program generated from the schema can read all of it.

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

RECORDING_COMMANDS = (
    "info boot shutdown suspend why diagnose processes cpu interrupts disk files hardfaults services devices policy io summary"
).split()
OTHER_COMMANDS = [
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
    ["what-if", str(SAMPLES / "slow-boot.etl"), "--without", "SoundShaper"],
    ["what-if", str(SAMPLES / "slow-sleep.etl"), "--without", "VpnClient"],
    ["what-if", str(SAMPLES / "linux-boot.tar.xz"), "--parallel", "networking"],
    ["what-if", str(SAMPLES / "slow-boot.etl"), "--plan", "2"],
    ["what-if", str(SAMPLES / "slow-boot.etl"), "--limit"],
]
# Documents that no sample produces.
WITHOUT_SAMPLE = {"files", "linux_shutdown", "linux_suspend", "prefetch", "sleep_history"}


def close_objects(schema):
    """Returns the schema with all objects closed, so that unknown properties are errors."""
    schema = copy.deepcopy(schema)

    def close(part):
        if not isinstance(part, dict):
            return
        children = [*part.get("properties", {}).values(), *part.get("prefixItems", [])]
        children += [part[key] for key in ("items", "additionalProperties") if isinstance(part.get(key), dict)]
        for child in children:
            # Close an object where it is used, because a flattened part shares the properties of its parent.
            child["unevaluatedProperties"] = False
            close(child)
        for key in ("allOf", "anyOf", "oneOf"):
            for alternative in part.get(key, []):
                close(alternative)

    for definition in schema["$defs"].values():
        close(definition)
    for document in schema["documents"].values():
        document["unevaluatedProperties"] = False
    return schema


def validation_errors(schema, document):
    """Returns the name of the document and its errors, one line each."""
    name = document.get("onoff", {}).get("document")
    if name not in schema["documents"]:
        return name, [f"document {name!r} is not in the schema"]
    root = {**schema, "oneOf": [{"$ref": f"#/documents/{name}"}]}
    errors = sorted(Draft202012Validator(root).iter_errors(document), key=lambda error: list(error.absolute_path))
    return name, [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in leaves(errors)]


def leaves(errors):
    """Yields the errors inside the alternatives, instead of 'no alternative matches'."""
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
    schema = close_objects(schema)
    commands = [[verb, recording] for recording in recordings for verb in RECORDING_COMMANDS] + OTHER_COMMANDS
    documents, failed, checked = set(), 0, 0
    for command in commands:
        result = subprocess.run([program, *command, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        command_line = " ".join(command)
        # Exit code 2 means that the recording has no data for the command.
        if result.returncode == 2:
            continue
        if not result.stdout:
            print(f"{command_line}: no document, exit code {result.returncode}: {result.stderr.strip()}", file=sys.stderr)
            failed += 1
            continue
        name, errors = validation_errors(schema, json.loads(result.stdout))
        documents.add(name)
        checked += 1
        for error in errors[:10]:
            print(f"{command_line}: {error}", file=sys.stderr)
        failed += bool(errors)
    missing = set(schema["documents"]) - documents - WITHOUT_SAMPLE
    if missing:
        print(f"no sample produces these documents: {', '.join(sorted(missing))}", file=sys.stderr)
    print(f"{checked} documents of {len(documents)} kinds checked against {SCHEMA.relative_to(ROOT)}, {failed} failed")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
