"""Generates fleets as operators have them: update rings, models with drivers of their vendor, several BIOS versions.

Computers differ by 15 %, their runs by 8 %. Independent of ``fleet_simulator``: versions change during the recorded
period, a driver's time replaces other time on some models, and any computer sometimes has a slow run.
"""

import datetime

import numpy
import pyarrow
import pyarrow.parquet

PHASES = {"PreSMSS": 9.0, "SMSSInit": 4.0, "WinLogonInit": 9.0, "ExplorerInit": 2.0, "PostBoot": 6.0}
FIRST = datetime.datetime(2026, 3, 2)
DAYS = 60
MODELS = tuple(f"{vendor} {number}" for vendor, number in (("Contoso", 1), ("Contoso", 2), ("Fabrikam", 7), ("Fabrikam", 8), ("Northwind", 3), ("Tailspin", 9)))
MODULES = 30
RINGS = (0.1, 0.2, 0.3, 0.4)
MEMORY_GIB = (4, 8, 16, 32)


class Generated:
    """The runs of a fleet as columns, before they are written."""

    def __init__(self, seed, computers=240, runs=6):
        self.rng = rng = numpy.random.default_rng(seed)
        self.computers = computers
        self.computer = numpy.repeat(numpy.arange(computers), runs)
        count = len(self.computer)
        self.day = rng.uniform(0, DAYS, count)
        self.model = rng.choice(len(MODELS), computers, p=(0.25, 0.2, 0.2, 0.15, 0.1, 0.1))
        self.bios = rng.integers(0, 3, computers)
        self.memory = rng.choice(len(MEMORY_GIB), computers, p=(0.1, 0.3, 0.4, 0.2))
        self.processors = 2 ** rng.integers(1, 4, computers)
        self.build = rng.choice((19045, 22631, 26100), computers)
        self.ring = rng.choice(len(RINGS), computers, p=RINGS)
        # Versions by module and run; 0: absent.
        self.versions = {}
        for number in range(MODULES):
            name = f"mod{number}.sys"
            if number % 3 == 0:  # Updated during the period, one ring after another, with stragglers.
                update_day = rng.uniform(0, 25) + 12.0 * self.ring[:, None].ravel() + rng.uniform(0, 2, computers)
                update_day[rng.random(computers) < 0.1] = numpy.inf
                index = 1 + (self.day >= update_day[self.computer])
                versions = ("", "5.4.0", "5.5.0")
            elif number % 3 == 1:  # One of several versions, for good.
                index = rng.integers(1, 5, computers)[self.computer]
                versions = ("", "5.2.9", "5.10.1", "6.0.2", "6.1.0")
            else:  # Installed on some computers.
                index = (rng.random(computers) < rng.uniform(0.2, 0.7))[self.computer].astype(int)
                versions = ("", "1.0.7")
            self.versions[name] = (versions, index)
        speed = numpy.exp(rng.normal(0, 0.15, computers))[self.computer]
        run_noise = numpy.exp(rng.normal(0, 0.05, count))
        self.parts = {}
        for phase, base in PHASES.items():
            length = base * speed * run_noise * numpy.exp(rng.normal(0, 0.08, count))
            share = rng.dirichlet((8, 5, 4, 3), count)
            # The storage driver of the vendor takes the place of other disk time.
            vendor = numpy.array([MODELS[model].split()[0] for model in self.model])[self.computer]
            for subject, values in zip(("System", "svchost.exe", "MsMpEng.exe", "disk"), share.T):
                if subject == "disk" and phase == "PreSMSS":
                    for name in sorted(set(vendor)):
                        self.parts[phase, f"{name.lower()}stor.sys"] = numpy.where(vendor == name, values * length, 0.0)
                else:
                    self.parts[phase, subject] = values * length
            for number in rng.choice(MODULES, 4, replace=False):
                name = f"mod{number}.sys"
                short = rng.exponential(0.05, count) * (self.versions[name][1] > 0)
                self.parts[phase, name] = self.parts.get((phase, name), 0.0) + short
        # Slow runs without a cause that any group shares.
        for number in numpy.flatnonzero(rng.random(count) < 0.03):
            self.add("WinLogonInit", f"service{rng.integers(25)}", numpy.arange(count) == number, rng.exponential(8.0), spread=0.0)

    def add(self, phase, subject, mask, seconds, spread=0.2):
        """Adds time of a subject to a phase of some runs."""
        delay = seconds * numpy.exp(self.rng.normal(0, spread, len(mask))) if spread else seconds
        self.parts[phase, subject] = self.parts.get((phase, subject), 0.0) + numpy.where(mask, delay, 0.0)

    def has(self, module, version):
        versions, index = self.versions[module]
        return numpy.array(versions)[index] == version

    def of(self, values):
        """Returns the value of the computer for each run."""
        return values[self.computer]

    def write(self, folder):
        """Writes the tables of ``onoff.summaries``."""
        count = len(self.computer)
        ids = numpy.array([f"{number:064x}" for number in range(count)])
        total = sum(self.parts.values())
        stamps = [(FIRST + datetime.timedelta(days=float(day))).isoformat(timespec="seconds") + "Z" for day in self.day]
        ns = lambda seconds: (1e9 * seconds).astype("int64")  # noqa: E731
        write = lambda name, **columns: _write(folder, name, columns)  # noqa: E731
        models = numpy.array(MODELS)[self.model]
        write(
            "recordings",
            recording=ids,
            path=[f"boots/{number}.etl" for number in range(count)],
            kind=["a Windows event trace log"] * count,
            computer=[f"PC-{number:05}" for number in self.computer],
            os=["Windows"] * count,
            os_build=self.of(self.build).astype("int64"),
            model=models[self.computer],
            firmware=[f"{model.split()[0]} {model[-1]}.{bios}" for model, bios in zip(models[self.computer], self.of(self.bios))],
            processor=["Contoso CPU"] * count,
            processors=self.of(self.processors).astype("int64"),
            memory_bytes=self.of(numpy.array(MEMORY_GIB)[self.memory]).astype("int64") << 30,
            recorded_utc=stamps,
            error=[""] * count,
            schema=[3] * count,
            version=["generated"] * count,
        )
        lengths = {phase: sum(values for (name, _), values in self.parts.items() if name == phase) for phase in PHASES}
        matrix = numpy.array(list(lengths.values()))
        longest = matrix.argmax(axis=0)
        write(
            "transitions", recording=ids, transition=["boot"] * count, number=[0] * count, variant=["cold"] * count, duration_ns=ns(total),
            at_least_ns=ns(total), phase=numpy.array(list(lengths))[longest], phase_ns=ns(matrix.max(axis=0)),
            subject=["System"] * count, subject_ns=[1] * count, subject_certainty=["high"] * count,
        )
        for place, (phase, values) in enumerate(lengths.items()):
            write(
                "phases", recording=ids, transition=["boot"] * count, number=[0] * count, place=[place] * count, phase=[phase] * count,
                half=[None] * count, duration_ns=ns(values), certainty=["high"] * count,
            )
        for (phase, subject), values in self.parts.items():
            present = values > 0
            amount = int(present.sum())
            if amount:
                write(
                    "account", recording=ids[present], transition=["boot"] * amount, phase=[phase] * amount, start_ns=[0] * amount,
                    phase_ns=ns(lengths[phase][present]), kind=["driver" if subject.endswith(".sys") else "process"] * amount,
                    subject=[subject] * amount, ns=ns(values[present]), certainty=["high"] * amount,
                )
        for module, (versions, index) in self.versions.items():
            for number, version in enumerate(versions):
                has = index == number
                if version and has.any():
                    amount = int(has.sum())
                    write("versions", recording=ids[has], module=[module] * amount, version=[version] * amount)
        for name, parts in self._written.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            pyarrow.parquet.write_table(pyarrow.concat_tables(parts, promote_options="permissive"), folder / name / "part.parquet")
        return folder

    @property
    def _written(self):
        return _TABLES


_TABLES = {}


def _write(folder, name, columns):
    _TABLES.setdefault(name, []).append(pyarrow.table(columns))


def driver_on_model(fleet):
    """A driver delays one phase by 5 s on one model."""
    rng = fleet.rng
    module = f"mod{rng.choice([number for number in range(MODULES) if number % 3 == 2])}.sys"
    model = int(rng.integers(0, 4))
    mask = fleet.has(module, "1.0.7") & (fleet.of(fleet.model) == model)
    fleet.add(rng.choice(("PreSMSS", "WinLogonInit", "PostBoot")), module, mask, 5.0)
    return mask, 5.0, (f"model = {MODELS[model]}", module)


def one_bios(fleet):
    """A BIOS delays the start by 4 s."""
    model, bios = int(fleet.rng.integers(0, 4)), int(fleet.rng.integers(0, 3))
    mask = fleet.of((fleet.model == model) & (fleet.bios == bios))
    fleet.add("PreSMSS", "ACPI", mask, 4.0)
    return mask, 4.0, (f"{MODELS[model].split()[0]} {MODELS[model][-1]}.{bios}",)


def flaky_driver(fleet):
    """A driver makes 20 % of its boots 30 s slower."""
    module = f"mod{fleet.rng.choice([number for number in range(MODULES) if number % 3 == 2])}.sys"
    mask = fleet.has(module, "1.0.7")
    if mask.mean() > 0.4:  # Fewer computers are harder.
        keep = fleet.rng.random(fleet.computers) < 0.3
        versions, index = fleet.versions[module]
        fleet.versions[module] = (versions, index * fleet.of(keep))
        mask = fleet.has(module, "1.0.7")
    fleet.add("WinLogonInit", module, mask & (fleet.rng.random(len(mask)) < 0.2), 30.0)
    return mask, 6.0, (module,)


def slow_drift(fleet):
    """Boots become 10 % slower in 60 days."""
    total = sum(fleet.parts.values())
    fleet.parts["PostBoot", "svchost.exe"] = fleet.parts["PostBoot", "svchost.exe"] + 0.1 * total * fleet.day / DAYS
    return None, 3.0, ("drift",)


def step_after_update(fleet):
    """All boots become 2 s slower on one day."""
    day = float(fleet.rng.uniform(15, 45))
    mask = fleet.day >= day
    fleet.add("WinLogonInit", "UpdateAgent.exe", mask, 2.0)
    return mask, 2.0, ("since", (FIRST + datetime.timedelta(days=day)).isoformat())


def small_memory(fleet):
    """Computers with at most 8 GiB are 3 s slower."""
    mask = fleet.of(fleet.memory <= 1)
    fleet.add("PostBoot", "disk", mask, 3.0)
    return mask, 3.0, ("memory_bytes",)


def newer_versions(fleet):
    """All versions 6 of a driver take 3 s longer than its versions 5."""
    module = f"mod{fleet.rng.choice([number for number in range(MODULES) if number % 3 == 1])}.sys"
    mask = fleet.has(module, "6.0.2") | fleet.has(module, "6.1.0")
    fleet.add("PreSMSS", module, mask, 3.0)
    return mask, 3.0, (module,)


def present_module(fleet):
    """A program delays the computers that have it by 3 s."""
    module = f"mod{fleet.rng.choice([number for number in range(MODULES) if number % 3 == 2])}.sys"
    mask = fleet.has(module, "1.0.7")
    fleet.add("ExplorerInit", "agent.exe", mask, 3.0)
    return mask, 3.0, (module,)


def ringed_update(fleet):
    """A new version of a driver, distributed in rings during the period, takes 3 s longer."""
    module = f"mod{fleet.rng.choice([number for number in range(MODULES) if number % 3 == 0])}.sys"
    mask = fleet.has(module, "5.5.0")
    fleet.add("PreSMSS", "System", mask, 3.0)
    return mask, 3.0, (module,)


CAUSES = (driver_on_model, one_bios, flaky_driver, slow_drift, step_after_update, small_memory, newer_versions, present_module, ringed_update)


def generate(folder, seed, cause=None, **sizes):
    """Writes a fleet with or without a cause; returns the fleet, and what ``cause`` returns."""
    _TABLES.clear()
    fleet = Generated(seed, **sizes)
    truth = cause(fleet) if cause else None
    fleet.write(folder)
    return fleet, truth
