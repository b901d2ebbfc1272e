#!/usr/bin/env python3
"""Damages recordings and runs every command in every format on them.

A panic, a signal, more than 1 GiB of memory or more than 5 s of CPU time is a fault; an error message is not. The damage depends only on
the seed: the same seed gives the same inputs. Inputs that cause a fault are kept.

    tools/damaged_inputs.py ONOFF FOLDER... [--runs N] [--seed S] [--keep DIR]
"""

import argparse
import gzip
import lzma
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

MAX_BYTES = 4 << 20
MAX_MEMORY = 1 << 30
MAX_SECONDS = 5

LISTS = ["services", "devices", "processes", "cpu", "interrupts", "disk", "files", "hardfaults", "policy"]
ACTIONS = (
    "boot bootprefetch cpudisk cswitch diskidlehistogram diskio dpcisr drvdelay dumper eventmetadata filename focuschange hardfault heap"
    " image marks pagefault perfctrs pnp pool pooltag prefetch process profile readythread registry services shutdown spinlock stack suspend"
    " symcache sysconfig tracestats winlogon winsat"
).split()


def questions(file, folder):
    """All command lines for a file."""
    for form in ["text", "json", "xml", "csv", "svg"]:
        for verb in ["boot", "shutdown", "suspend"]:
            yield [verb, "--format", form, file]
    for form in ["text", "json", "csv", "svg"]:
        for verb in ["netboot", "io", "summary", *LISTS]:
            yield [verb, "--format", form, file]
    for form in ["text", "json", "csv"]:
        for verb in ["firmware", "why", "diagnose", "image", "prefetch"]:
            yield [verb, "--format", form, file]
    for form in ["text", "json"]:
        yield ["info", "--format", form, file]
        yield ["events", "--format", form, file]
    for form in ["text", "json", "csv", "markdown", "svg"]:
        yield ["compare", "--format", form, file, file]
    yield [file]
    yield ["boot", "--list-boots", file]
    yield ["view", "-o", f"{folder}/view.html", file]
    yield ["gate", "--baseline", file, "--candidate", file]
    for form in ["perfetto", "firefox", "csv"]:
        yield ["export", "--format", form, "-o", f"{folder}/export-{form}", file]
    for action in ACTIONS:
        yield ["xperf", "-tle", "-tti", "-i", file, "-a", action]


def contents(file):
    """The decompressed bytes of a recording, because damage to a compressed file would only fail its checksum. None if too large."""
    if not file.is_file() or file.stat().st_size > MAX_BYTES:
        return None
    data = file.read_bytes()
    unpack = {".xz": lzma.decompress, ".gz": gzip.decompress}.get(file.suffix)
    if unpack:
        try:
            data = unpack(data)
        except (OSError, EOFError, lzma.LZMAError):
            pass
    return data if 0 < len(data) <= MAX_BYTES else None


def damaged(chance, whole):
    """Changes, removes, repeats or moves some bytes of a file."""
    data = bytearray(whole)
    for _ in range(chance.choice([1, 1, 2, 4, 16, 64])):
        if not data:
            break
        at = chance.randrange(len(data))
        length = min(chance.choice([1, 2, 4, 8, 64, 4096]), len(data) - at)
        match chance.randrange(8):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data[at : at + length] = chance.randbytes(length)
            case 2:
                data[at : at + length] = bytes(length)
            case 3:
                data[at : at + length] = b"\xff" * length
            case 4:
                value = chance.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1, chance.getrandbits(16)])
                width = chance.choice([2, 4, 8])
                text = (value & ((1 << (8 * width)) - 1)).to_bytes(width, chance.choice(["little", "big"]))
                data[at : at + width] = text[: len(data) - at]
            case 5:
                del data[at:]
            case 6:
                del data[at : at + length]
            case 7:
                to = chance.randrange(len(data))
                data[to:to] = data[at : at + length]
    return bytes(data[:MAX_BYTES])


def ask(program, words, folder, seconds):
    """Runs the program and returns the fault, or None."""

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (4 * seconds, 4 * seconds))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))

    errors = pathlib.Path(folder, "errors")
    with errors.open("wb") as complaints:
        child = subprocess.Popen(
            [program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints, preexec_fn=limits, cwd=folder
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    text = errors.read_text(errors="replace")
    if "panicked at" in text or child.returncode == 101:
        return "panic: " + next((line for line in text.splitlines() if "panicked" in line), "")
    if child.returncode < 0:
        return f"signal {signal.Signals(-child.returncode).name}"
    if child.returncode not in (0, 1, 2, 64):
        return f"exit code {child.returncode}"
    if usage.ru_maxrss * 1024 > MAX_MEMORY:
        return f"{usage.ru_maxrss >> 10} MiB of memory"
    if usage.ru_utime + usage.ru_stime > seconds:
        return f"{usage.ru_utime + usage.ru_stime:.1f} s of processor time"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=1000, help="how often the program is run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=MAX_SECONDS, help="processor time that is a fault; more for a build without optimization")
    parser.add_argument("--keep", type=pathlib.Path, help="where inputs that made a fault are kept")
    arguments = parser.parse_args()
    seeds = []
    for folder in arguments.folders:
        files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        seeds += [(file, data) for file in files if (data := contents(file))]
    if not seeds:
        sys.exit("damaged_inputs: no files of at most 4 MiB")
    chance = random.Random(arguments.seed)
    faults, asked, inputs, began = {}, 0, 0, time.monotonic()
    program = arguments.program.resolve()
    with tempfile.TemporaryDirectory() as folder:
        while asked < arguments.runs:
            seed, whole = chance.choice(seeds)
            file = pathlib.Path(folder, f"damaged-{inputs}{seed.suffix}")
            file.write_bytes(damaged(chance, whole))
            inputs += 1
            every = list(questions(str(file), folder))
            # Few commands on many inputs find more than many commands on few inputs.
            for words in chance.sample(every, 12):
                fault = ask(program, words, folder, arguments.seconds)
                asked += 1
                if fault is None:
                    continue
                first = fault not in faults
                faults.setdefault(fault, []).append((seed.name, words[:3]))
                if first:
                    print(f"{seed.name}: onoff {' '.join(words[:6])}: {fault}", flush=True)
                    if arguments.keep:
                        arguments.keep.mkdir(parents=True, exist_ok=True)
                        kept = arguments.keep / f"{len(faults)}-{file.name}"
                        kept.write_bytes(file.read_bytes())
            for left in pathlib.Path(folder).glob("*"):
                if left.is_dir():
                    for inner in left.rglob("*"):
                        if inner.is_file():
                            inner.unlink()
                    for inner in sorted(left.rglob("*"), reverse=True):
                        inner.rmdir()
                    left.rmdir()
                else:
                    left.unlink()
    print(
        f"damaged_inputs: {asked} runs on {inputs} damaged inputs from {len(seeds)} files in {time.monotonic() - began:.0f} s: "
        f"{sum(map(len, faults.values()))} faults of {len(faults)} kinds"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
