#!/usr/bin/env python3
"""Records boots of a guest with and without a cause, several runs each: the pairs that test `onoff what-if`.

lab/pairs/record.py CACHE OUT [VARIANT...] [--runs N] [--jobs N]    OUT/VARIANT/RUN.tar.xz

Runs that exist are kept, so that an interrupted recording continues. The variants take turns. table.py compares them.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile
import time

import machine

# Kernel options of each variant (machine.INIT). The modules that the guest loads at the start of user space include the lab's, whose
# initialization takes 2 s, except in variants without it.
WITHOUT_MODULE = "lab.remove=etc/modules-load.d/onoff-lab.conf"
SLOW_DISK = "lab.disk=mb_per_s=20"
BOTH = ["lab.enable=multi-user.target/onoff-pair-first.service", "lab.enable=multi-user.target/onoff-pair-second.service"]
VARIANTS = {
    "plain": [WITHOUT_MODULE],
    "sleep": [WITHOUT_MODULE, "lab.enable=sysinit.target/onoff-pair-sleep.service"],
    "aside": [WITHOUT_MODULE, "lab.enable=multi-user.target/onoff-pair-aside.service"],
    "burn": [WITHOUT_MODULE, "lab.enable=multi-user.target/onoff-pair-burn.service"],
    "module": [],
    "serial": [WITHOUT_MODULE, *BOTH],
    "parallel": [WITHOUT_MODULE, *BOTH, "lab.remove=etc/systemd/system/onoff-pair-second.service.d/order.conf"],
    "slow-disk": [WITHOUT_MODULE, SLOW_DISK],
    "plain-2": [WITHOUT_MODULE],
    "burn-2": [WITHOUT_MODULE, "lab.enable=multi-user.target/onoff-pair-burn.service"],
}
# Variants with two processors take the host's time: record them on an idle host.
MACHINES = {"plain-2": {"processors": 2}, "burn-2": {"processors": 2}}
# The same variants on a processor half as fast, which is busy during the whole boot.
SLOW = "slow-processor-"
VARIANTS |= {SLOW + name: options for name, options in VARIANTS.items() if name not in MACHINES}
MACHINES |= {name: {"shift": machine.SHIFT + 1} for name in VARIANTS if name.startswith(SLOW)}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("cache", type=pathlib.Path, help="cache folder for downloads and builds")
    arguments.add_argument("out", type=pathlib.Path, help="output folder for the recordings")
    arguments.add_argument("variants", nargs="*", metavar="VARIANT", help=", ".join(VARIANTS))
    arguments.add_argument("--runs", type=int, default=5, help="number of boots of each variant (default: 5)")
    arguments.add_argument("--full", type=int, default=None, help="number of boots of each variant to record in full; of the others, only "
                           "the service manager's times (default: all)")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of guests at a time (default: one per processor)")
    arguments = arguments.parse_args()
    if unknown := set(arguments.variants) - set(VARIANTS):
        arguments.error(f"no such variant: {', '.join(sorted(unknown))}")
    names = arguments.variants or [name for name in VARIANTS if "processors" not in MACHINES.get(name, {})]
    paths = machine.prepare(arguments.cache)
    jobs = [(name, run) for run in range(1, arguments.runs + 1) for name in names]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = [pool.submit(record, paths, arguments, *job) for job in jobs]
        try:
            for done in concurrent.futures.as_completed(running):
                print(f"record: {done.result()}", flush=True)
        except machine.Failed as reason:
            pool.shutdown(cancel_futures=True)
            sys.exit(f"record: {reason}")


def record(paths, arguments, name, run):
    target = arguments.out / name / f"{run}.tar.xz"
    if target.exists():
        return f"{target} exists"
    began = time.monotonic()
    options = VARIANTS[name] + (["lab.times-only"] if arguments.full is not None and run > arguments.full else [])
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.cache) as work:
        folder = machine.boot(paths, pathlib.Path(work) / "guest", options, **MACHINES.get(name, {}))
        new = target.with_suffix(".new")
        with tarfile.open(new, "w:xz", preset=1) as archive:
            archive.add(folder, arcname=f"{name}-{run}")
        shutil.move(new, target)
    return f"{target}, {time.monotonic() - began:.0f} s"


if __name__ == "__main__":
    main()
