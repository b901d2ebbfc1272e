#!/usr/bin/env python3
"""Fills fuzz/corpus with recordings to start from: those of this repository, of the test kit and of ONOFF_SAMPLES.

Broken variants of a short recording are tried far more often than those of a long one, so
long recordings give their first part only. Nothing here is committed.
"""

import gzip
import hashlib
import lzma
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGEST = 128 * 1024
OPENERS = {".xz": lzma.open, ".gz": gzip.open}


def recordings():
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    folders = [ROOT / "samples", *sorted((ROOT / "crates").glob("*/tests/found")), pathlib.Path(samples) / "etl"]
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and (".etl" in path.suffixes or folder.name == "found"):
                yield path


def firmware_tables():
    """Firmware tables, for the target that reads them."""
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    for path in sorted((pathlib.Path(samples) / "fpdt").rglob("*.bin")):
        yield path


def captures():
    """Network captures, for the target that reads them."""
    samples = os.environ.get("ONOFF_SAMPLES", ROOT.parent / "shared" / "samples")
    for path in sorted((pathlib.Path(samples) / "netboot").rglob("*.pcap*")):
        if path.is_file():
            yield path


# Targets whose seeds are no Event Trace Logs.
SEEDS = {"capture": captures, "firmware": firmware_tables}


def main():
    for target in sorted(path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs")):
        corpus = ROOT / "fuzz" / "corpus" / target
        corpus.mkdir(parents=True, exist_ok=True)
        count = 0
        for path in SEEDS.get(target, recordings)():
            with OPENERS.get(path.suffix, open)(path, "rb") as file:
                data = file.read(LONGEST)
            (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)
            count += 1
        print(f"seeds: {count} for {target} in {corpus.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
