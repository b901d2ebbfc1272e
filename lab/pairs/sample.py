#!/usr/bin/env python3
"""Packs one boot of each variant as small as possible, for tests: of each recording, what a prediction by unit reads.

lab/pairs/sample.py RECORDINGS OUT [--trace]    OUT/VARIANT.tar.xz

Of each variant, takes the run whose user space has the median duration. `--trace` keeps the kernel's trace.
"""

import argparse
import io
import lzma
import pathlib
import re
import statistics
import sys
import tarfile

# Properties and journal fields that onoff reads.
PROPERTIES = set("""Id Names Slice Description Result ActiveState Type CPUUsageNSec ExecMainPID InactiveExitTimestampMonotonic
    ActiveEnterTimestampMonotonic ActiveExitTimestampMonotonic InactiveEnterTimestampMonotonic ExecMainStartTimestampMonotonic
    TimeoutStartUSec After Before Requires Requisite BindsTo PartOf Wants""".split())
FIELDS = set("""__REALTIME_TIMESTAMP __MONOTONIC_TIMESTAMP _BOOT_ID MESSAGE MESSAGE_ID UNIT JOB_ID JOB_TYPE JOB_RESULT PRIORITY
    SYSLOG_IDENTIFIER KERNEL_USEC USERSPACE_USEC _PID _COMM _TRANSPORT _HOSTNAME _MACHINE_ID""".split())
WHOLE = ["show-manager.txt", "uname", "meminfo", "cpuinfo"]
TRACE = ["boot.trace.txt", "boot.saved_cmdlines", "boot.stats.txt", "clock.txt", "trace_clock", "dmesg.txt"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("recordings", type=pathlib.Path, help="folder with the recordings")
    arguments.add_argument("out", type=pathlib.Path, help="folder for the samples")
    arguments.add_argument("--trace", action="store_true", help="keep the kernel's trace")
    arguments = arguments.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for folder in sorted(path for path in arguments.recordings.iterdir() if path.is_dir()):
        recordings = [files for path in sorted(folder.glob("*.tar.xz")) if "show-units.txt" in (files := contents(path))]
        if recordings:
            typical = statistics.median_low(user_space_us(files) for files in recordings)
            files = next(files for files in recordings if user_space_us(files) == typical)
            target = arguments.out / f"{folder.name}.tar.xz"
            pack(files, target, WHOLE + (TRACE if arguments.trace else []))
            print(f"{target}: {target.stat().st_size} bytes, user space {typical / 1e6:.3f} s")


def contents(archive):
    with tarfile.open(archive) as files:
        return {pathlib.PurePath(member.name).name: files.extractfile(member).read() for member in files if member.isfile()}


def user_space_us(files):
    times = dict(re.findall(rb"^(Userspace|Finish)TimestampMonotonic=(\d+)$", files["show-manager.txt"], re.MULTILINE))
    if len(times) != 2:
        sys.exit("sample: a boot was not finished")
    return int(times[b"Finish"]) - int(times[b"Userspace"])


def pack(files, target, whole):
    kept = {name: files[name] for name in whole}
    kept["show-units.txt"] = b"\n\n".join(
        b"\n".join(line for line in unit.splitlines() if line.partition(b"=")[0].decode() in PROPERTIES and not line.endswith(b"="))
        for unit in files["show-units.txt"].split(b"\n\n")) + b"\n"
    kept["journal.export"] = b"".join(entry + b"\n" for entry in entries(files["journal.export"]))
    with lzma.open(target, "wb", preset=9 | lzma.PRESET_EXTREME) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in sorted(kept.items()):
            header = tarfile.TarInfo(f"lab/{name}")
            header.size = len(text)
            archive.addfile(header, io.BytesIO(text))


def entries(export):
    """The entries of a journal by the service manager, with the fields that onoff reads. Fields with line breaks are left out."""
    position, lines = 0, []
    while position < len(export):
        end = export.index(b"\n", position)
        line, position = export[position:end], end + 1
        if not line:
            if any(line == b"SYSLOG_IDENTIFIER=systemd" for line in lines):
                yield b"".join(line + b"\n" for line in lines)
            lines = []
        elif b"=" in line:
            if line.partition(b"=")[0].decode() in FIELDS:
                lines.append(line)
        else:
            position += 8 + int.from_bytes(export[position:position + 8], "little") + 1


if __name__ == "__main__":
    main()
