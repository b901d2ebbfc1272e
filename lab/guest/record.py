#!/usr/bin/env python3
"""Records transitions of a guest with `onoff record`, and stores known facts with the recordings.

lab/guest/record.py ONOFF CACHE OUT [SCENARIO...]    OUT/SCENARIO/boot-1.tar.gz …, OUT/SCENARIO/facts.json

See SCENARIOS for the scenarios; the default is all of them. check.py checks the results.
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

# Paths in the guest.
RECORDINGS = "/var/tmp/recordings"
STATE = "/var/lib/onoff-record"

# Prints everything that a recording may change, for comparison: boot and service configuration, EFI variables of the boot loader, and
# the state of the kernel trace.
PRINT_STATE = r"""
cd /
places='boot/efi boot/grub etc usr/lib/systemd usr/local var/lib'
find $places -xdev \( -type d -printf '%p/\n' -o -printf '%p %m %l\n' \) | grep -v '^var/lib/systemd/' | sort
find $places -xdev -type f ! -path 'var/lib/systemd/*' ! -name random-seed -print0 | xargs -0 sha256sum | sort -k 2
for name in LoaderEntryOneShot LoaderEntryDefault LoaderConfigTimeout LoaderConfigTimeoutOneShot; do
    for variable in /sys/firmware/efi/efivars/$name-*; do [ -e "$variable" ] && echo "$variable $(sha256sum < "$variable")"; done
done
systemctl list-unit-files --no-pager --no-legend 'onoff*'
buffer=$(grep -o "[0-9]*" /sys/kernel/tracing/buffer_size_kb | tail -1)
# The kernel rounds the size up to whole pages.
echo "tracing $(wc -l < /sys/kernel/tracing/set_event) events, buffer $((buffer / 64 * 64)) KiB"
true
"""


@dataclasses.dataclass
class Scenario:
    """A recording job: the units to enable first, the arguments of `onoff record`, and the expected recordings."""
    job: str
    recordings: list[str]
    units: tuple[str, ...] = ()
    # Cut the power after the first recorded boot, then restore the guest manually.
    power_fails: bool = False
    restarts: int = 0
    # Press the power button repeatedly, to end a sleep.
    button: bool = False
    # One of build.VARIANTS.
    guest: str = "debian"


@dataclasses.dataclass
class Observation:
    """A restart without a recording. The guest's journal is saved during the boot and after the power was cut."""
    units: tuple[str, ...]
    recordings: list[str]
    guest: str = "debian"


@dataclasses.dataclass
class Requests:
    """A command with known I/O requests, recorded by `onoff io record` with ftrace, which requires root."""
    command: str
    # By direction: request size in bytes and number of requests. No other program makes requests of these sizes.
    known: dict[str, dict[str, int]]
    units: tuple[str, ...] = ()
    guest: str = "debian"


SLOW_START = "onoff-lab-slow-start.service"
SLOW_STOP = "onoff-lab-slow-stop.service"
# Loads a module that takes 2 s to initialize and a driver that takes 3 s to probe.
DRIVERS = "onoff-lab-drivers.service"
# The first sleeps forever; the second needs a disk that does not exist, for which systemd waits 20 s.
NEVER_ENDS = "onoff-lab-never-ends.service"
NO_DEVICE = "onoff-lab-no-device.service"
# How long to let the unfinished boot run: long enough for the device timeout, and for the kernel to write the journal to the disk.
UNFINISHED_S = 60
# Data that a user could send from a computer that did not finish booting; `jobs.txt` and `show-…` are additional facts.
COLLECT = r"""
set -e
mkdir -p {folder}
cd {folder}
journalctl --sync
# The journal changes while it is copied, for which tar returns status 1.
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
    # On a busy host, the machine takes long to go to sleep, and an alarm before that would prevent the sleep.
    "suspend": Scenario("suspend --mem-sleep deep --wake-after 60 --post-boot-delay 13", ["suspend-1"]),
    # The emulated real-time clock does not end this sleep.
    "idle": Scenario("suspend --mem-sleep s2idle --wake-after 30 --post-boot-delay 13", ["suspend-1"], button=True),
    "hibernate": Scenario("hibernate --hibernate-mode shutdown --post-boot-delay 13", ["hibernate-1"]),
    # systemd runs in the initramfs.
    "dracut": Scenario("boot --runs 1 --post-boot-delay 13", ["boot-1"], (SLOW_START,), restarts=1, guest="dracut"),
    # GRUB does not report how long firmware and loader took. The menu of the first boot was not generated by Debian's tools.
    "grub": Scenario("boot --runs 1 --post-boot-delay 13", ["boot-1"], (SLOW_START,), restarts=1, guest="grub"),
    # The second program is a grandchild. The 5-byte reads follow the pattern in the paper: each is followed by a write.
    "requests": Requests("sh -c 'dd if=/etc/passwd of=/dev/null bs=5 count=100 status=none; "
                         "sh -c \"dd if=/bin/sh of=/dev/null bs=3001 count=40 status=none\"; true'",
                         {"read": {"5": 100, "3001": 40}, "write": {"5": 100, "3001": 40}}),
    # A boot that never finishes and ends with a power cut.
    "unfinished": Observation((NEVER_ENDS, NO_DEVICE), ["cut", "hung"]),
    "interrupted": Scenario("boot --runs 3 --post-boot-delay 30", [], power_fails=True),
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("onoff", type=pathlib.Path, help="the program, built for this Debian")
    arguments.add_argument("cache", type=pathlib.Path, help="folder for downloads and build results")
    arguments.add_argument("out", type=pathlib.Path, help="folder for the recordings")
    arguments.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    arguments.add_argument("--processors", type=int, default=2, help="number of guest CPUs; 1 is faster on a busy host (default 2)")
    arguments = arguments.parse_args()
    if unknown := set(arguments.scenarios) - set(SCENARIOS):
        arguments.error(f"no such scenario: {', '.join(sorted(unknown))}")
    try:
        for name in record(arguments, arguments.scenarios or list(SCENARIOS)):
            print(f"record: {name}: see {arguments.out / name}")
    except Failed as reason:
        sys.exit(f"record: {reason}")


def record(arguments, names):
    """Runs scenarios in turn, one virtual machine per variant; yields the name of each completed scenario."""
    for variant in build.VARIANTS:
        if matching := [name for name in names if SCENARIOS[name].guest == variant]:
            yield from record_in(build.image(arguments.cache, variant), arguments, matching)


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
                run = {Observation: observe, Requests: trace_requests}.get(type(SCENARIOS[name]), run_scenario)
                run(guest, SCENARIOS[name], arguments.out / name)
                yield name
            guest.turn_off()
        finally:
            arguments.out.mkdir(parents=True, exist_ok=True)
            shutil.copy(guest.console, arguments.out / "console.log")


def observe(guest, scenario, out):
    """Restarts the guest, saves its journal during the unfinished boot, cuts the power, and saves the remaining journal."""
    began = time.monotonic()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    wait_until_settled(guest)
    guest.do(f"systemctl --quiet enable {' '.join(scenario.units)}")
    starts = len(guest.starts)
    guest.ask("systemctl --no-block reboot")
    while len(guest.starts) == starts:
        guest.ask("true", 600)
    hung = guest.starts[-1]
    print(f"record: {out.name}: {time.monotonic() - began:.0f} s: the boot does not finish", file=sys.stderr, flush=True)
    # Wait until only the unit that never finishes is still starting.
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
    """Records a command's requests, and saves the recording and the output of onoff in the guest."""
    began = time.monotonic()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    wait_until_settled(guest)
    guest.do(f"mkdir -p {RECORDINGS}")
    instances = "ls /sys/kernel/tracing/instances"
    before = guest.do(instances)
    guest.do(f"{PROGRAM} io record --tracer ftrace --keep {RECORDINGS}/requests.trace --format json -- {scenario.command} "
             f"> {RECORDINGS}/answer.json", 600)
    # onoff must not replace an existing file.
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


def run_scenario(guest, scenario, out):
    began = time.monotonic()

    def progress(what):
        print(f"record: {out.name}: {time.monotonic() - began:.0f} s: {what}", file=sys.stderr, flush=True)

    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    wait_until_settled(guest)
    for unit in scenario.units:
        guest.do(f"systemctl --quiet enable {unit} && systemctl daemon-reload")
        # Start it now, so that this does not become part of a recording.
        guest.do(f"systemctl start {unit}")
    before = guest.do(PRINT_STATE, 300)
    check = guest.ask(f"{PROGRAM} record {scenario.job} --out {RECORDINGS} --check")
    progress(f"onoff record {scenario.job}")
    starts, console = len(guest.starts), guest.console.stat().st_size
    with guest.pressing_power_button(every=40) if scenario.button else contextlib.nullcontext():
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
    wait_until_settled(guest)
    after = guest.do(PRINT_STATE, 300)
    if not scenario.power_fails:
        failed = guest.ask(f"cat {RECORDINGS}/FAILED.txt")
        if failed and failed[0] == 0:
            raise Failed(f"onoff record {scenario.job}: {failed[1]}")
        guest.fetch(RECORDINGS, out)
    guest.do(f"rm -rf {RECORDINGS}")
    for unit in scenario.units:
        guest.do(f"systemctl --quiet disable {unit}")
        # Stop it while nothing is recorded.
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


def wait_until_settled(guest):
    """Waits until systemd has no more startup jobs."""
    guest.wait_until("systemctl is-system-running | grep -qvE 'starting|initializing'", 600)


def after_power_failure(guest, starts):
    """Cuts the power after the recorded boot, turns the guest on and restores it manually."""
    guest.wait_until(f"test -e {STATE}", 600)
    while len(guest.starts) == starts:
        guest.ask("true", 600)
    guest.cut_power()
    guest.wait_for_start()
    return guest.do(f"{PROGRAM} record --restore")


if __name__ == "__main__":
    main()
