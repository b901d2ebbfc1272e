#!/usr/bin/env python3
"""Records transitions of a guest with `onoff record`, and stores the expected facts next to the recordings.

lab/guest/record.py ONOFF CACHE OUT [SCENARIO...]    OUT/SCENARIO/boot-1.tar.gz …, OUT/SCENARIO/facts.json

Default: all SCENARIOS. check.py checks the recordings.
"""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import shutil
import sys
import tempfile
import time

import build
from guest import PROGRAM, Failed, Guest

# In the guest.
RECORDINGS = "/var/tmp/recordings"
STATE = "/var/lib/onoff-record"

# Everything that a recording may change, as comparable lines: boot and service configuration, EFI variables of the boot
# loader, and the kernel's trace settings.
STATE_OF_THE_GUEST = r"""
cd /
places='boot/efi boot/grub etc usr/lib/systemd usr/local var/lib'
find $places -xdev \( -type d -printf '%p/\n' -o -printf '%p %m %l\n' \) | grep -v '^var/lib/systemd/' | sort
find $places -xdev -type f ! -path 'var/lib/systemd/*' ! -name random-seed -print0 | xargs -0 sha256sum | sort -k 2
for name in LoaderEntryOneShot LoaderEntryDefault LoaderConfigTimeout LoaderConfigTimeoutOneShot; do
    for variable in /sys/firmware/efi/efivars/$name-*; do [ -e "$variable" ] && echo "$variable $(sha256sum < "$variable")"; done
done
systemctl list-unit-files --no-pager --no-legend 'onoff*'
buffer=$(grep -o "[0-9]*" /sys/kernel/tracing/buffer_size_kb | tail -1)
# The kernel rounds it up to its pages.
echo "tracing $(wc -l < /sys/kernel/tracing/set_event) events, buffer $((buffer / 64 * 64)) KiB"
true
"""


@dataclasses.dataclass
class Scenario:
    """A recording job: files to install in the guest, arguments of `onoff record`, and the expected files."""
    job: str
    recordings: list[str]
    units: tuple[str, ...] = ()
    # Cut the power after the first recorded boot, then restore the settings by hand.
    power_fails: bool = False
    restarts: int = 0
    # Press the power button from time to time, which ends a sleep.
    button: bool = False
    # Guest variant (build.VARIANTS).
    guest: str = "debian"


@dataclasses.dataclass
class Observation:
    """A restart that is not recorded: keeps the guest's journal during the boot and after a power cut."""
    units: tuple[str, ...]
    recordings: list[str]
    guest: str = "debian"


@dataclasses.dataclass
class Requests:
    """A command with known requests, recorded by `onoff io record` with the kernel's tracer (needs root)."""
    command: str
    # By direction: number of requests by size, for sizes that no other program uses.
    known: dict[str, dict[str, int]]
    units: tuple[str, ...] = ()
    guest: str = "debian"


SLOW_START = "onoff-lab-slow-start.service"
SLOW_STOP = "onoff-lab-slow-stop.service"
# Loads a module whose initialization takes 2 s and a driver whose probe takes 3 s.
DRIVERS = "onoff-lab-drivers.service"
# One unit sleeps forever; the other needs a missing disk, for which systemd times out after 20 s.
NEVER_ENDS = "onoff-lab-never-ends.service"
NO_DEVICE = "onoff-lab-no-device.service"
# How long the start that never ends goes on: the device is given up, and the kernel has written what the journal holds by then to the disk.
UNFINISHED_S = 60
# What a user can send after a failed boot; `jobs.txt` and `show-…` have the expected facts.
COLLECT = r"""
set -e
mkdir -p {folder}
cd {folder}
journalctl --sync
# tar exits with 1 because the journal changes while it is copied.
tar -C /var/log/journal -cf journal.tar . || test $? -eq 1
journalctl --boot {boot} -o export > journal.export
journalctl --list-boots --no-pager > list-boots.txt
systemctl list-jobs --no-pager --no-legend > jobs.txt
systemctl show '*' > show-units.txt
"""
SCENARIOS = {
    # A shutdown and a boot with one restart, for continuous integration.
    "quick": Scenario("reboot-cycle --post-boot-delay 13", ["shutdown-1", "boot-1"], (SLOW_START, SLOW_STOP), restarts=1),
    "plain": Scenario("reboot-cycle --post-boot-delay 13", ["shutdown-1", "boot-1"], restarts=1),
    "boot": Scenario("boot --train 1 --runs 2 --post-boot-delay 13", ["boot-1", "boot-2"], (SLOW_START,), restarts=3),
    "drivers": Scenario("boot --runs 1 --post-boot-delay 13", ["boot-1"], (DRIVERS,), restarts=1),
    "shutdown": Scenario("shutdown --post-boot-delay 5", ["shutdown-1"], (SLOW_STOP,), restarts=1),
    # On a busy host the machine takes long to sleep, and an alarm that fires earlier prevents the sleep.
    "suspend": Scenario("suspend --mem-sleep deep --wake-after 60 --post-boot-delay 13", ["suspend-1"]),
    # The emulated real-time clock does not wake the machine.
    "idle": Scenario("suspend --mem-sleep s2idle --wake-after 30 --post-boot-delay 13", ["suspend-1"], button=True),
    "hibernate": Scenario("hibernate --hibernate-mode shutdown --post-boot-delay 13", ["hibernate-1"]),
    # systemd runs in the initramfs.
    "dracut": Scenario("boot --runs 1 --post-boot-delay 13", ["boot-1"], (SLOW_START,), restarts=1, guest="dracut"),
    # Times of firmware and loader are not available. The first boot uses a menu that Debian's tools did not generate.
    "grub": Scenario("boot --runs 1 --post-boot-delay 13", ["boot-1"], (SLOW_START,), restarts=1, guest="grub"),
    # The second program is a grandchild. As in the paper, each 5-byte read is followed by a write.
    "requests": Requests("sh -c 'dd if=/etc/passwd of=/dev/null bs=5 count=100 status=none; "
                         "sh -c \"dd if=/bin/sh of=/dev/null bs=3001 count=40 status=none\"; true'",
                         {"read": {"5": 100, "3001": 40}, "write": {"5": 100, "3001": 40}}),
    # A boot that does not finish, followed by a power cut.
    "unfinished": Observation((NEVER_ENDS, NO_DEVICE), ["cut", "hung"]),
    "interrupted": Scenario("boot --runs 3 --post-boot-delay 30", [], power_fails=True),
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("onoff", type=pathlib.Path, help="onoff, built for this Debian release")
    arguments.add_argument("cache", type=pathlib.Path, help="cache folder for downloads and builds")
    arguments.add_argument("out", type=pathlib.Path, help="output folder for the recordings")
    arguments.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    arguments.add_argument("--processors", type=int, default=2, help="number of processors of the guest; 1 is faster on a busy host (default: 2)")
    arguments = arguments.parse_args()
    if unknown := set(arguments.scenarios) - set(SCENARIOS):
        arguments.error(f"no such scenario: {', '.join(sorted(unknown))}")
    try:
        for name in record(arguments, arguments.scenarios or list(SCENARIOS)):
            print(f"record: {name}: see {arguments.out / name}")
    except Failed as reason:
        sys.exit(f"record: {reason}")


def record(arguments, names):
    """Runs the scenarios, sharing one machine per guest variant. Yields the name of each finished scenario."""
    for variant in build.VARIANTS:
        if mine := [name for name in names if SCENARIOS[name].guest == variant]:
            yield from record_in(build.image(arguments.cache, variant), arguments, mine)


def record_in(image, arguments, names):
    with tempfile.TemporaryDirectory(dir=arguments.cache) as work, Guest(image, pathlib.Path(work) / "guest", arguments.processors) as guest:
        guest.install_program(arguments.onoff)
        if any(DRIVERS in SCENARIOS[name].units for name in names):
            for module in build.modules(arguments.cache):
                guest.install(module, f"/usr/local/lib/{module.name}", mode=0o644)
        try:
            guest.wait_for_start()
            if build.VARIANTS[SCENARIOS[names[0]].guest].loader == "grub":
                guest.do("grub-mkconfig -o /boot/grub/grub.cfg", 300)
            for name in names:
                done = {Observation: observe, Requests: trace_requests}.get(type(SCENARIOS[name]), play)
                done(guest, SCENARIOS[name], arguments.out / name)
                yield name
            guest.turn_off()
        finally:
            arguments.out.mkdir(parents=True, exist_ok=True)
            shutil.copy(guest.console, arguments.out / "console.log")


def observe(guest, scenario, out):
    """Restarts the guest into an endless boot, saves its journal, cuts the power, and saves the remaining journal."""
    began = time.monotonic()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    settled(guest)
    guest.do(f"systemctl --quiet enable {' '.join(scenario.units)}")
    starts = len(guest.starts)
    guest.ask("systemctl --no-block reboot")
    while len(guest.starts) == starts:
        guest.ask("true", 600)
    hung = guest.starts[-1]
    print(f"record: {out.name}: {time.monotonic() - began:.0f} s: the boot does not finish", file=sys.stderr, flush=True)
    # Wait until only the endless unit is still starting.
    running = "systemctl list-jobs --no-pager --no-legend | awk '$4 == \"running\" { print $2 }'"
    guest.wait_until(f"test $(cut -d. -f1 /proc/uptime) -ge {UNFINISHED_S} && test \"$({running})\" = {NEVER_ENDS}", 900)
    guest.do(COLLECT.format(folder=f"{RECORDINGS}/hung", boot=hung.replace("-", "")), 600)
    guest.do("sync")
    guest.cut_power()
    guest.wait_for_start()
    guest.do(COLLECT.format(folder=f"{RECORDINGS}/cut", boot=hung.replace("-", "")), 600)
    guest.fetch(RECORDINGS, out)
    guest.do(f"rm -rf {RECORDINGS}; systemctl --quiet disable {' '.join(scenario.units)}; systemctl stop {' '.join(scenario.units)}")
    facts = {
        "expected": scenario.recordings,
        "recordings": sorted(path.name for path in out.iterdir() if path.is_dir()),
        "boot_id": hung.replace("-", ""),
        "slow_units": list(scenario.units),
        "took_s": round(time.monotonic() - began, 1),
    }
    (out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


def trace_requests(guest, scenario, out):
    """Records the requests of a command, and saves the recording and the report that onoff printed in the guest."""
    began = time.monotonic()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    settled(guest)
    guest.do(f"mkdir -p {RECORDINGS}")
    instances = "ls /sys/kernel/tracing/instances"
    before = guest.do(instances)
    guest.do(f"{PROGRAM} io record --tracer ftrace --keep {RECORDINGS}/requests.trace --format json -- {scenario.command} "
             f"> {RECORDINGS}/answer.json", 600)
    # What is kept is what is not replaced.
    again = guest.ask(f"{PROGRAM} io record --tracer ftrace --keep {RECORDINGS}/requests.trace -- true")
    after = guest.do(instances)
    guest.fetch(RECORDINGS, out)
    guest.do(f"rm -rf {RECORDINGS}")
    facts = {
        "known": scenario.known,
        "recordings": sorted(path.name for path in out.glob("*.trace")),
        "instances": [before.split(), after.split()],
        "again": again[0] if again else None,
        "took_s": round(time.monotonic() - began, 1),
    }
    (out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


def play(guest, scenario, out):
    began = time.monotonic()

    def progress(what):
        print(f"record: {out.name}: {time.monotonic() - began:.0f} s: {what}", file=sys.stderr, flush=True)

    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    settled(guest)
    for unit in scenario.units:
        guest.do(f"systemctl --quiet enable {unit} && systemctl daemon-reload")
        # This start belongs to no recording.
        guest.do(f"systemctl start {unit}")
    before = guest.do(STATE_OF_THE_GUEST, 300)
    check = guest.ask(f"{PROGRAM} record {scenario.job} --out {RECORDINGS} --check")
    progress(f"onoff record {scenario.job}")
    starts, console = len(guest.starts), guest.console.stat().st_size
    with guest.pressing_the_button(every=40) if scenario.button else contextlib.nullcontext():
        answer = guest.ask(f"{PROGRAM} record {scenario.job} --out {RECORDINGS}", 1200)
    if answer and answer[0] != 0:
        raise Failed(f"onoff record {scenario.job}: status {answer[0]}\n{answer[1]}")
    if scenario.power_fails:
        progress("a power failure")
        restored = after_power_failure(guest, starts)
    else:
        guest.wait_until(f"test ! -e {STATE}", 900 * (1 + scenario.restarts), every=10)
        restored = None
    progress("done")
    settled(guest)
    after = guest.do(STATE_OF_THE_GUEST, 300)
    if not scenario.power_fails:
        failed = guest.ask(f"cat {RECORDINGS}/FAILED.txt")
        if failed and failed[0] == 0:
            raise Failed(f"onoff record {scenario.job}: {failed[1]}")
        guest.fetch(RECORDINGS, out)
    guest.do(f"rm -rf {RECORDINGS}")
    for unit in scenario.units:
        guest.do(f"systemctl --quiet disable {unit}")
        # Stop the guest when nothing is being recorded.
        guest.ask(f"systemctl stop {unit}")
    facts = {
        "job": scenario.job,
        "expected": scenario.recordings,
        "recordings": sorted(path.name.removesuffix(".tar.gz") for path in out.glob("*.tar.gz")),
        "slow_units": list(scenario.units),
        "guest": scenario.guest,
        "check": {"status": check[0], "text": check[1]} if check else None,
        "boot_ids": guest.starts[starts - 1:],
        "restarts": scenario.restarts,
        "restored": restored,
        "changed": sorted(set(before.splitlines()) ^ set(after.splitlines())),
        "console": guest.console.read_bytes()[console:].decode(errors="replace"),
        "took_s": round(time.monotonic() - began, 1),
    }
    (out / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


def settled(guest):
    """Waits until systemd has no more jobs."""
    guest.wait_until("systemctl is-system-running | grep -qvE 'starting|initializing'", 600)


def after_power_failure(guest, starts):
    """Cuts the power after the recorded boot, turns the guest on, and restores the settings by hand."""
    guest.wait_until(f"test -e {STATE}", 600)
    while len(guest.starts) == starts:
        guest.ask("true", 600)
    guest.cut_power()
    guest.wait_for_start()
    return guest.do(f"{PROGRAM} record --restore")


if __name__ == "__main__":
    main()
