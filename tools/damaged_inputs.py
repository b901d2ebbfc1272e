#!/usr/bin/env python3
"""Damages recordings and runs the program on them, all commands in all formats.

A failure is a panic, a signal, more than 1 GiB of memory or more than 5 s of CPU time; rejecting the file is not a failure.
The same seed gives the same inputs. Inputs that cause a failure are kept.

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


def command_lines(file, folder):
    """Yields all command lines for one file."""
    for output_format in ["text", "json", "xml", "csv", "svg"]:
        for verb in ["boot", "shutdown", "suspend"]:
            yield [verb, "--format", output_format, file]
    for output_format in ["text", "json", "csv", "svg"]:
        for verb in ["netboot", "io", "summary", *LISTS]:
            yield [verb, "--format", output_format, file]
    for output_format in ["text", "json", "csv"]:
        for verb in ["firmware", "why", "diagnose", "image", "prefetch"]:
            yield [verb, "--format", output_format, file]
    for output_format in ["text", "json"]:
        yield ["info", "--format", output_format, file]
        yield ["events", "--format", output_format, file]
    for output_format in ["text", "json", "csv", "markdown", "svg"]:
        yield ["compare", "--format", output_format, file, file]
    yield [file]
    yield ["boot", "--list-boots", file]
    yield ["view", "-o", f"{folder}/view.html", file]
    yield ["gate", "--baseline", file, "--candidate", file]
    for output_format in ["perfetto", "firefox", "csv"]:
        yield ["export", "--format", output_format, "-o", f"{folder}/export-{output_format}", file]
    for action in ACTIONS:
        yield ["xperf", "-tle", "-tti", "-i", file, "-a", action]


def contents(file):
    """Returns the uncompressed bytes of a recording, because a checksum would detect damage to compressed data; None if too large."""
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


def damage(rng, original):
    """Returns the bytes of a file with some of them changed, removed, repeated or moved."""
    data = bytearray(original)
    for _ in range(rng.choice([1, 1, 2, 4, 16, 64])):
        if not data:
            break
        offset = rng.randrange(len(data))
        length = min(rng.choice([1, 2, 4, 8, 64, 4096]), len(data) - offset)
        match rng.randrange(8):
            case 0:
                data[offset] ^= 1 << rng.randrange(8)
            case 1:
                data[offset : offset + length] = rng.randbytes(length)
            case 2:
                data[offset : offset + length] = bytes(length)
            case 3:
                data[offset : offset + length] = b"\xff" * length
            case 4:
                value = rng.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1, rng.getrandbits(16)])
                width = rng.choice([2, 4, 8])
                text = (value & ((1 << (8 * width)) - 1)).to_bytes(width, rng.choice(["little", "big"]))
                data[offset : offset + width] = text[: len(data) - offset]
            case 5:
                del data[offset:]
            case 6:
                del data[offset : offset + length]
            case 7:
                target = rng.randrange(len(data))
                data[target:target] = data[offset : offset + length]
    return bytes(data[:MAX_BYTES])


def run(program, arguments, folder, seconds):
    """Runs the program. Returns the failure, or None."""

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (4 * seconds, 4 * seconds))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))

    error_path = pathlib.Path(folder, "errors")
    with error_path.open("wb") as stderr:
        child = subprocess.Popen(
            [program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, preexec_fn=limits, cwd=folder
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    text = error_path.read_text(errors="replace")
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
    parser.add_argument("--runs", type=int, default=1000, help="number of runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=MAX_SECONDS, help="CPU time limit; use more for an unoptimized build")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for inputs that cause a failure")
    arguments = parser.parse_args()
    seeds = []
    for folder in arguments.folders:
        files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        seeds += [(file, data) for file in files if (data := contents(file))]
    if not seeds:
        sys.exit("damaged_inputs: no files of at most 4 MiB")
    rng = random.Random(arguments.seed)
    faults, runs, inputs, start = {}, 0, 0, time.monotonic()
    program = arguments.program.resolve()
    with tempfile.TemporaryDirectory() as folder:
        while runs < arguments.runs:
            seed, original = rng.choice(seeds)
            file = pathlib.Path(folder, f"damaged-{inputs}{seed.suffix}")
            file.write_bytes(damage(rng, original))
            inputs += 1
            commands = list(command_lines(str(file), folder))
            # A few commands on many inputs find more than all commands on a few inputs.
            for command in rng.sample(commands, 12):
                fault = run(program, command, folder, arguments.seconds)
                runs += 1
                if fault is None:
                    continue
                is_new = fault not in faults
                faults.setdefault(fault, []).append((seed.name, command[:3]))
                if is_new:
                    print(f"{seed.name}: onoff {' '.join(command[:6])}: {fault}", flush=True)
                    if arguments.keep:
                        arguments.keep.mkdir(parents=True, exist_ok=True)
                        kept_path = arguments.keep / f"{len(faults)}-{file.name}"
                        kept_path.write_bytes(file.read_bytes())
            for leftover in pathlib.Path(folder).glob("*"):
                if leftover.is_dir():
                    for inner in leftover.rglob("*"):
                        if inner.is_file():
                            inner.unlink()
                    for inner in sorted(leftover.rglob("*"), reverse=True):
                        inner.rmdir()
                    leftover.rmdir()
                else:
                    leftover.unlink()
    print(
        f"damaged_inputs: {runs} runs on {inputs} damaged inputs from {len(seeds)} files in {time.monotonic() - start:.0f} s: "
        f"{sum(map(len, faults.values()))} failures of {len(faults)} kinds"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
