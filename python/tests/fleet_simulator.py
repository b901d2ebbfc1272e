"""Simulates the tables of fleets with planted causes, independent of the code that detects causes."""

import csv
import datetime
import hashlib
import random

from onoff._summaries import SCHEMA, _Store, _tables

PHASES = (("PreSMSS", 0.3), ("SMSSInit", 0.15), ("WinLogonInit", 0.3), ("ExplorerInit", 0.05), ("PostBoot", 0.2))
MODELS = ("Contoso 100", "Contoso 200", "Fabrikam X", "Fabrikam Y", "Northwind 9")
BUILDS = (19045, 22621, 26100)
DRIVERS = ("6.0.1", "6.0.2", "6.1.0")
# Windows modules have the build as their version; third-party modules have one of DRIVERS.
WINDOWS_MODULES = tuple(f"system{number}.dll" for number in range(20))
OTHER_MODULES = tuple(f"driver{number}.sys" for number in range(40))
FIRST = datetime.datetime(2026, 1, 5)
DAYS = 60


class Cause:
    """A cause of slow runs: affected runs (a predicate), delay in a phase, and the subject to blame."""

    def __init__(self, applies, seconds, phase, subject):
        self.applies, self.seconds, self.phase, self.subject = applies, seconds, phase, subject


def simulate(folder, seed, computers=700, runs=2000, causes=()):
    """Writes the tables of a fleet to ``folder/runs``, and the versions of one driver to ``folder/tags.csv``."""
    rng = random.Random(seed)
    fleet = []
    for number in range(computers):
        model = rng.choice(MODELS)
        fleet.append(
            {
                "computer": f"PC-{number:04}",
                "model": model,
                "firmware": f"{model.split()[0]} 1.{rng.choice('012')}",
                "os_build": rng.choice(BUILDS),
                "audio_driver": rng.choice(DRIVERS),
                "others": {module: rng.choice(DRIVERS) for module in OTHER_MODULES},
                # Computers vary more than the boots of one computer.
                "speed": rng.lognormvariate(0, 0.12),
            }
        )
    batch = {name: [] for name in ("recordings", "transitions", "phases", "account", "versions")}
    for number in range(runs):
        computer = fleet[number % computers]
        recorded = FIRST + datetime.timedelta(seconds=rng.randrange(DAYS * 86400))
        run = {**computer, "when": recorded}
        digest = hashlib.sha256(f"{seed} {number}".encode()).hexdigest()
        # Some runs are slow without a cause.
        random_delay = rng.expovariate(1) * 6 if rng.random() < 0.05 else 0.0
        durations, entries = {}, []
        for phase, share in PHASES:
            duration = 30 * share * computer["speed"] * rng.lognormvariate(0, 0.08)
            parts = {"System": 0.5 * duration, rng.choice(("svchost.exe", "MsMpEng.exe")): 0.3 * duration, "disk": 0.2 * duration}
            if phase == "WinLogonInit" and random_delay:
                parts[f"service{rng.randrange(40)}"] = random_delay
                duration += random_delay
            for cause in causes:
                if cause.phase == phase and cause.applies(run):
                    delay = cause.seconds * rng.lognormvariate(0, 0.2)
                    parts[cause.subject] = parts.get(cause.subject, 0.0) + delay
                    duration += delay
            durations[phase] = duration
            entries += [(phase, subject, seconds) for subject, seconds in parts.items()]
        total = int(1e9 * sum(durations.values()))
        longest = max(durations, key=durations.get)
        batch["recordings"].append(
            {
                "recording": digest,
                "path": f"{computer['computer']}/{number}.etl",
                "kind": "a Windows event trace log",
                "computer": computer["computer"],
                "os": "Windows",
                "os_build": computer["os_build"],
                "model": computer["model"],
                "firmware": computer["firmware"],
                "recorded_utc": recorded.isoformat() + "Z",
                "error": "",
                "schema": SCHEMA,
                "version": "simulated",
            }
        )
        batch["transitions"].append(
            {"recording": digest, "transition": "boot", "number": 0, "variant": "cold", "duration_ns": total, "at_least_ns": total,
             "phase": longest, "phase_ns": int(1e9 * durations[longest]), "subject": "System", "subject_ns": 1}
        )
        for index, (phase, duration) in enumerate(durations.items()):
            batch["phases"].append(
                {"recording": digest, "transition": "boot", "number": 0, "place": index, "phase": phase, "duration_ns": int(1e9 * duration)}
            )
        versions = {"audio.sys": computer["audio_driver"], **computer["others"], **{module: f"10.0.{computer['os_build']}" for module in WINDOWS_MODULES}}
        batch["versions"] += [{"recording": digest, "module": module, "version": version} for module, version in versions.items()]
        for phase, subject, seconds in entries:
            batch["account"].append(
                {"recording": digest, "transition": "boot", "phase": phase, "kind": "process", "subject": subject, "ns": int(1e9 * seconds)}
            )
    folder.mkdir(parents=True, exist_ok=True)
    _Store(folder / "runs").write(_tables(batch))
    with open(folder / "tags.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(("computer", "audio_driver"))
        out.writerows((computer["computer"], computer["audio_driver"]) for computer in fleet)
    return folder
