#!/usr/bin/env python3
"""Records transitions of a guest (record.py), and checks the recordings and onoff's reports.

lab/guest/check.py ONOFF CACHE [SCENARIO...] [--out OUT] [--again]

The checks cover order, presence and identities, and that the injected delays are found; no other times. `--again` checks
the existing recordings in OUT.
"""

import argparse
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import build
import record
from guest import Failed

# The injected units sleep for 6 s.
DELAY_NS = 5_900_000_000
# On an idle host, user space takes 20 s to start and 8 s to stop, including these 6 s. Beyond these limits, other units may
# take 6 s too.
BUSY_START_NS = 35_000_000_000
BUSY_STOP_NS = 25_000_000_000
# Tolerance between the journal and systemd's properties, for phases and for units other than devices. The start of a
# device's job, when a unit needs the device, is not logged.
PHASE_APART_NS = 20_000_000
UNIT_APART_NS = 50_000_000
# Even on an idle host, journald and systemd wait for a processor between two steps of some units.
UNITS_WITHIN = 0.95
# Device timeout of the guest's unit.
DEVICE_LIMIT_NS = 20_000_000_000
# Sleep times of the module's initialization and the driver's probe.
SLOW_DRIVERS = {"onoff_lab_module": 1_990_000_000, "onoff_lab_driver": 2_990_000_000}
PHASES = ["firmware", "loader", "kernel", "initrd", "user_space", "PostBoot", "TraceTail"]
# Required contents by kind of recording.
PARTS = {
    "boot": ["boot.trace.txt", "boot.saved_cmdlines", "boot.stats.txt", "clock.txt", "dmesg.txt", "journal.export", "show-units.txt",
             "show-manager.txt", "cmdline", "uname", "recording.json"],
    "shutdown": ["shutdown.trace.txt", "clock.txt", "dmesg.txt", "journal.export", "show-units.txt", "recording.json"],
    "suspend": ["sleep.trace.txt", "clock.txt", "dmesg.txt", "recording.json"],
    "hibernate": ["sleep.trace.txt", "clock.txt", "dmesg.txt", "recording.json"],
}
VERBS = {"boot": "boot", "shutdown": "shutdown", "suspend": "suspend", "hibernate": "suspend"}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("onoff", type=pathlib.Path, help="onoff, built for this Debian release")
    arguments.add_argument("cache", type=pathlib.Path, help="cache folder for downloads and builds")
    arguments.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="; ".join(record.SCENARIOS))
    arguments.add_argument("--out", type=pathlib.Path, help="folder in which to keep the recordings")
    arguments.add_argument("--again", action="store_true", help="only check the recordings in --out")
    arguments.add_argument("--processors", type=int, default=2, help="number of processors of the guest; 1 is faster on a busy host (default: 2)")
    arguments = arguments.parse_args()
    if unknown := set(arguments.scenarios) - set(record.SCENARIOS):
        arguments.error(f"no such scenario: {', '.join(sorted(unknown))}")
    # `quick` is part of the other scenarios.
    names = arguments.scenarios or [name for name in record.SCENARIOS if name != "quick"]
    with contextlib.ExitStack() as kept:
        if not arguments.out:
            arguments.out = pathlib.Path(kept.enter_context(tempfile.TemporaryDirectory()))
        try:
            found = sum(check(arguments.onoff, arguments.out / name, name)
                        for name in (names if arguments.again else record.record(arguments, names)))
        except Failed as reason:
            sys.exit(f"check: {reason}")
    if found:
        sys.exit(f"check: {found} faults")


def check(onoff, folder, name):
    """Prints the errors of a scenario, and returns their number."""
    facts = json.loads((folder / "facts.json").read_text())
    of = {record.Observation: of_observation, record.Requests: of_requests}.get(type(record.SCENARIOS[name]), differences)
    faults = list(of(onoff, folder, facts))
    for fault in faults:
        print(f"check: {name}: {fault}", file=sys.stderr)
    recordings = ", ".join(facts["recordings"]) or "no recording"
    print(f"check: {name}: {recordings}; {facts['took_s']:.0f} s; {f'{len(faults)} faults' if faults else 'passed'}", flush=True)
    return len(faults)


def differences(onoff, folder, facts):
    """The differences from the facts."""
    yield from same("recordings", sorted(facts["expected"]), facts["recordings"])
    yield from same("what the guest is like afterwards", [], facts["changed"])
    yield from same("status of --check", 0, (facts["check"] or {}).get("status"))
    yield from same("starts of the guest", len(set(facts["boot_ids"])), len(facts["boot_ids"]))
    if facts["restored"] is None:
        yield from same("restarts", facts["restarts"], len(facts["boot_ids"]) - 1)
        # A restart shows its progress on the console; a sleep reports to the caller.
        for recording in facts["recordings"] if facts["restarts"] else []:
            if f"{recording}.tar.gz" not in facts["console"]:
                yield f"the console does not tell of {recording}"
    seen = []
    for recording in facts["recordings"]:
        with tempfile.TemporaryDirectory() as unpacked:
            archive = folder / f"{recording}.tar.gz"
            with tarfile.open(archive) as files:
                files.extractall(unpacked, filter="data")
            kind, number = recording.rsplit("-", 1)
            for fault in of_recording(onoff, archive, kind, pathlib.Path(unpacked), facts, seen):
                yield f"{recording}: {fault}"
    if len(seen) != len(set(seen)):
        yield f"a boot was recorded twice: {seen}"


def of_requests(onoff, folder, facts):
    """The kernel's tracer recorded all requests of the command and its children, and was cleaned up."""
    yield from same("recordings", ["requests.trace"], facts["recordings"])
    yield from same("instances of the tracer", facts["instances"][0], facts["instances"][1])
    # 64: usage error.
    yield from same("status of a second recording into the same file", 64, facts["again"])
    in_guest = json.loads((folder / "answer.json").read_text())
    answer = ask(onoff, "io", folder / "requests.trace")
    if isinstance(answer, str):
        yield answer
        return
    yield from same("what the guest's program answered", in_guest["views"], answer["views"])
    # Programs map their libraries, and the shell was in a system call when its tracing started.
    yield from same("what was lost", {"fileio_mapped_missing", "system_calls_without_begin"}, {loss["counter"] for loss in answer["losses"]})
    views = {(view["level"], view["direction"]): view for view in answer["views"]}
    for direction, known in facts["known"].items():
        view = views.get(("application", direction))
        if not view:
            yield f"no {direction}s by programs"
            continue
        # These sizes have histogram bins to themselves: other reads are library headers of at most 832 bytes.
        for size, requests in known.items():
            of_size = [bin for bin in view["histogram"]["bins"] if bin["from_bytes"] <= int(size) <= bin["to_bytes"]]
            yield from same(f"{direction}s of {size} bytes", [(requests, int(size) * requests)], [(bin["requests"], bin["bytes"]) for bin in of_size])
    # Only these two programs write.
    writes = views.get(("application", "write"))
    if writes:
        known = facts["known"]["write"]
        yield from same("writes", sum(known.values()), writes["table"]["requests"])
        yield from same("bytes written", sum(int(size) * requests for size, requests in known.items()), writes["table"]["bytes"])
        yield from same("programs that write", {"dd"}, {group["process"] for group in writes["groups"]})


def same(what, expected, found):
    if expected != found:
        yield f"{what}: expected {expected!r}, found {found!r}"


def of_recording(onoff, archive, kind, unpacked, facts, seen):
    parts = {}
    for path in sorted(unpacked.rglob("*")):
        if path.is_file():
            # The end of a shutdown is listed before the data collected during it.
            parts.setdefault(path.name, path)
    for name in PARTS[kind]:
        if name not in parts or not parts[name].stat().st_size:
            yield f"{name} is not in it, or empty"
    answer = ask(onoff, VERBS[kind], archive)
    if isinstance(answer, str):
        yield answer
        return
    yield from {"boot": of_boot, "shutdown": of_shutdown, "suspend": of_sleep, "hibernate": of_sleep}[kind](answer, parts, facts, seen)
    if kind == "boot" and record.DRIVERS in facts["slow_units"]:
        yield from of_drivers(onoff, unpacked)
    if kind == "boot":
        yield from of_journal_alone(onoff, answer, parts["journal.export"])


def ask(onoff, verb, archive, *options):
    """The program's report, or the reason why there is none."""
    done = subprocess.run([onoff, verb, archive, *options, "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        return f"onoff {verb}: status {done.returncode}: {done.stderr.strip()}"
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        return f"onoff {verb}: no JSON: {error}"


def of_boot(answer, parts, facts, seen):
    yield from same("system", "linux", answer.get("system"))
    phases = answer["phases"]
    yield from same("phases", PHASES, [phase["name"] for phase in phases])
    variant = build.VARIANTS[facts["guest"]]
    unknown = set()
    # The initramfs of initramfs-tools has no service manager to record its start.
    if variant.initrd == "initramfs-tools":
        unknown.add("initrd")
    if variant.loader == "grub":
        unknown |= {"firmware", "loader"}
    for phase in phases[:5]:
        if phase["name"] not in unknown and not (phase["duration_ns"] or 0) > 0:
            yield f"phase {phase['name']} has no length"
        if phase["name"] in unknown - {"initrd"} and phase["duration_ns"] is not None:
            yield f"phase {phase['name']} has a length that nothing says"
    for one, next_one in zip(phases, phases[1:]):
        if one["end_ns"] is not None and next_one["start_ns"] is not None and one["end_ns"] != next_one["start_ns"]:
            yield f"{one['name']} does not end where {next_one['name']} begins"
    yield from of_systemd_analyze(answer, parts)
    # The guest reports its boot id.
    seen += [boot["id"] for boot in answer["boots"] if boot["read"]]
    known = [boot_id.replace("-", "") for boot_id in facts["boot_ids"][1:]]
    if seen and seen[-1] not in known:
        yield f"the boot {seen[-1]} is none of {known}"

    units = {unit["name"]: unit for unit in answer["units"]}
    for name in ("onoff-lab-agent.service", "systemd-journald.service", "multi-user.target"):
        if name not in units:
            yield f"no unit {name}"
    if not answer["processes"]:
        yield "no processes"
    drivers = {driver["driver"] if "driver" in driver else driver.get("name") for driver in answer["drivers"]}
    if not any("virtio" in (driver or "") for driver in drivers):
        yield f"no driver of the disk among {len(drivers)}"
    if phases[2]["cpu"] is None:
        yield "nobody used a processor in the kernel's phase"
    if not answer["clock_conversions"]:
        yield "no clock was converted"

    slow = record.SLOW_START in facts["slow_units"]
    steps = sorted(answer["critical_path"]["steps"], key=lambda step: -step["duration_ns"])
    named = [step["unit"] for step in steps]
    if slow:
        # The unit that waits for devices waited for it, and the critical path leads there.
        released = (units.get("systemd-udev-trigger.service", {}).get("waited_for") or {}).get("name")
        yield from same("what the search for devices waited for", record.SLOW_START, released)
        if not was_busy(phases[4]["duration_ns"], BUSY_START_NS):
            yield from same("the longest step on the path", record.SLOW_START, next(iter(named), None))
        took = units.get(record.SLOW_START, {}).get("duration_ns") or 0
        if took < DELAY_NS:
            yield f"{record.SLOW_START} took {took} ns, less than it sleeps"
    elif record.SLOW_START in named:
        yield "a unit that is not there is on the path"


def of_drivers(onoff, unpacked):
    """The report attributes the injected delays to the module and the driver, with and without the trace."""
    for form in ("with the trace", "without a trace"):
        if form == "without a trace":
            for path in unpacked.rglob("*.trace.*"):
                path.unlink()
        answer = ask(onoff, "boot", unpacked)
        if isinstance(answer, str):
            yield f"{form}: {answer}"
            continue
        took = {one["entry"]["name"]: one["entry"]["ns"] for one in answer["culprits"]}
        for name, least_ns in SLOW_DRIVERS.items():
            if took.get(name, 0) < least_ns:
                yield f"{form}: {name} took {took.get(name)} ns by the account, {least_ns} or more were put in; it names {sorted(took)}"


def of_journal_alone(onoff, full, journal):
    """The journal alone gives the same phases and units as systemd's properties and the trace."""
    alone = ask(onoff, "boot", journal)
    if isinstance(alone, str):
        yield f"the journal alone: {alone}"
        return
    # Both wait longer for a processor where everything takes longer.
    slowness = max(1, (full["phases"][4]["duration_ns"] or 0) / BUSY_START_NS)
    phase_apart_ns, unit_apart_ns = PHASE_APART_NS * slowness, UNIT_APART_NS * slowness
    for one, other in zip(full["phases"][:5], alone["phases"][:5]):
        if one["duration_ns"] is None and other["duration_ns"] is None:
            continue
        if None in (one["duration_ns"], other["duration_ns"]) or not one["duration_ns"]:
            yield f"the journal alone: phase {one['name']} has no length, in one of {one['duration_ns']} and {other['duration_ns']}"
        elif abs(one["duration_ns"] - other["duration_ns"]) > phase_apart_ns:
            yield f"the journal alone: phase {one['name']} is {other['duration_ns']} ns, not {one['duration_ns']}"
    starts = {}
    for unit in alone["units"]:
        if unit["kind"] == "start" and unit["end_ns"] is not None:
            starts.setdefault(unit["name"], []).append(unit)
        # The last unit of the initramfs service manager ends when the next service manager starts.
        if unit["name"] == "initrd-switch-root.service" and unit["outcome"] == "unfinished":
            yield "the journal alone: the change to the root file system is unfinished in a boot that was finished"
    apart = {}
    for unit in full["units"]:
        if unit["kind"] == "start" and unit["end_ns"] is not None and not unit["name"].endswith(".device") and unit["name"] in starts:
            # A unit of both service managers is listed twice. The switch itself ends for the new service manager when it has
            # loaded its units, and for the journal when it starts.
            if unit["name"] == "initrd-switch-root.service":
                continue
            apart[unit["name"]] = min(max(abs(one[end] - unit[end]) for end in ("start_ns", "end_ns")) for one in starts[unit["name"]])
    within = [name for name, ns in apart.items() if ns <= unit_apart_ns]
    farthest = max(apart, key=apart.get, default=None)
    found = f"the journal alone: {len(within)} of {len(apart)} units within {unit_apart_ns / 1e6:.0f} ms"
    print(f"check: {found}; largest difference: {farthest}, {apart.get(farthest, 0) / 1e6:.0f} ms")
    if len(apart) < 50 or len(within) < UNITS_WITHIN * len(apart):
        yield found


def of_observation(onoff, folder, facts):
    """A boot that never finishes: compares its journal, during the boot and after a power cut, with systemd's state."""
    yield from same("recordings", sorted(facts["expected"]), facts["recordings"])
    jobs = [line.split() for line in (folder / "hung/jobs.txt").read_text().splitlines()]
    running = sorted(unit for _, unit, kind, state in jobs if (kind, state) == ("start", "running"))
    yield from same("what systemd was starting", [record.NEVER_ENDS], running)
    for name in facts["recordings"]:
        with tempfile.TemporaryDirectory() as unpacked:
            journal = pathlib.Path(unpacked) / "journal"
            with tarfile.open(folder / name / "journal.tar") as files:
                files.extractall(journal, filter="data")
            forms = {"the journal's files": journal, "the export": folder / name / "journal.export"}
            for form, path in forms.items():
                answer = ask(onoff, "boot", path, "--boot", facts["boot_id"])
                for fault in [answer] if isinstance(answer, str) else of_unfinished(answer, running):
                    yield f"{name}: {form}: {fault}"
            listed = [line.split()[1] for line in (folder / name / "list-boots.txt").read_text().splitlines()[1:]]
            answer = ask(onoff, "boot", journal, "--boot", facts["boot_id"])
            if not isinstance(answer, str):
                yield from same(f"{name}: boots", listed, [boot["id"] for boot in answer["boots"]])
    # The units' properties show which unit waits.
    with tempfile.TemporaryDirectory() as both:
        for part in ("journal.export", "show-units.txt"):
            shutil.copy(folder / "hung" / part, both)
        answer = ask(onoff, "boot", both)
        if isinstance(answer, str):
            yield f"hung, with units: {answer}"
            return
        waiting = sorted(unit for _, unit, kind, state in jobs if (kind, state) == ("start", "waiting"))
        held = {unit for one in answer["still_starting"] for unit in one["holds_up"]}
        if "multi-user.target" not in held or not held <= set(waiting):
            yield f"hung, with units: {sorted(held)} wait for it; systemd says {waiting}"


def of_unfinished(answer, running):
    yield from same("the end of the start", None, answer["startup_ns"])
    yield from same("what was still starting", running, sorted(unit["unit"] for unit in answer["still_starting"]))
    units = {unit["name"]: unit for unit in answer["units"]}
    device = next((unit for name, unit in units.items() if name.endswith(".device") and "onoff" in name), None)
    if not device or device["outcome"] != "failed" or (device["duration_ns"] or 0) < DEVICE_LIMIT_NS:
        yield f"the device that never came: {device}"
    yield from same("what needs that device", "failed", units.get(record.NO_DEVICE, {}).get("outcome"))


def was_busy(took_ns, most_ns):
    """True if the guest was so slow that other units may have taken longer than the injected 6 s."""
    busy = (took_ns or 0) > most_ns
    if busy:
        print(f"check: the host was busy, {took_ns / 1e9:.0f} s: other units may have taken longer than 6 s", file=sys.stderr)
    return busy


def of_systemd_analyze(answer, parts):
    """The total matches the one that systemd printed in that boot; its parts are rounded to ms."""
    text = parts["analyze-time.txt"].read_text() if "analyze-time.txt" in parts else ""
    match = re.search(r"^Startup finished in .*= (?:(\d+)min )?([\d.]+)(m?s)", text)
    if not match:
        yield f"systemd-analyze did not tell the time: {text!r}"
        return
    printed_ms = int(match[1] or 0) * 60_000 + round(float(match[2]) * (1 if match[3] == "ms" else 1000))
    found_ms = (answer["startup_ns"] or 0) / 1e6
    if abs(found_ms - printed_ms) > 1:
        yield f"the start took {found_ms:.3f} ms, systemd-analyze says {printed_ms}"


def of_shutdown(answer, parts, facts, seen):
    yield from same("variant", "restart", answer["variant"])
    phases = [phase for phase in answer["phases"] if phase["start_ns"] is not None]
    for name in ("stop_units", "hooks"):
        if name not in [phase["name"] for phase in phases]:
            yield f"no phase {name}"
    starts = [phase["start_ns"] for phase in phases]
    yield from same("order of the phases", sorted(starts), starts)
    units = {unit["name"]: unit for unit in answer["units"]}
    for name in ("onoff-lab-agent.service", "systemd-logind.service"):
        if name not in units:
            yield f"{name} was not stopped"
    slow = record.SLOW_STOP
    if slow not in facts["slow_units"]:
        if slow in units:
            yield "a unit that is not there was stopped"
        return
    took = units.get(slow, {}).get("duration_ns") or 0
    if took < DELAY_NS:
        yield f"{slow} took {took} ns to stop, less than it sleeps"
    stopping = next((phase["end_ns"] - phase["start_ns"] for phase in phases if phase["name"] == "stop_units" and phase["end_ns"]), 0)
    if not was_busy(stopping, BUSY_STOP_NS):
        yield from same("what took longest", slow, (answer["longest"] or {}).get("name"))
    if slow not in [step["name"] for step in answer["path"]]:
        yield f"{slow} is not on the path"


def of_sleep(answer, parts, facts, seen):
    if not answer["transitions"]:
        yield "no sleep"
    # The kernel log also has earlier sleeps of the same boot.
    for sleep in answer["transitions"][-1:]:
        hibernates = facts["job"].startswith("hibernate")
        expected = "hibernate" if hibernates else "suspend_to_idle" if "s2idle" in facts["job"] else "sleep"
        yield from same("variant", expected, sleep["variant"])
        yield from same("outcome", "slept", sleep["outcome"])
        yield from same("error", None, sleep["error"] or None)
        starts = [phase["start_ns"] for phase in sleep["phases"]]
        yield from same("order of the phases", sorted(starts), starts)
        for half in ("suspend", "resume"):
            if not any(phase["half"] == half and (phase["work"] or {}).get("items") for phase in sleep["phases"]):
                yield f"no device was asked in the half {half}"
        if not any("virtio" in device["driver"] for device in sleep["devices"]):
            yield "the disk is none of the devices"
        if not sleep["tasks"]:
            yield "no task was frozen"
        # The alarm is set to 60 s after the request, which includes the time until the guest sleeps.
        slept_ns = sleep["asleep"]["slept_ns"] or 0
        if slept_ns <= 0:
            yield f"it slept {slept_ns} ns"
        if hibernates:
            image = sleep["image"] or {}
            if not image.get("pages"):
                yield "the image has no pages"
            # Nothing is recorded while the image is written and read.
            yield from same("time of writing the image", None, image.get("write_ns"))


if __name__ == "__main__":
    main()
