"""In-memory fleets to measure coverage: computers vary by 15 %, their runs by 8 %, and modules follow update rings."""

import datetime

import numpy

from onoff._fleet import Fleet

SECONDS = 30.0
SPREAD, NOISE = 0.15, 0.08
FIRST = datetime.datetime(2026, 1, 5)


class PlantedFleet(Fleet):
    """A fleet of given runs, without a folder. ``planted_ns`` is the delay added to each run."""

    def __init__(self, lengths, planted, computers, attributes=None, modules=None, days=None):
        self.attributes = tuple(attributes or ())
        self.modules = modules or {}
        self.planted_ns = 1e9 * planted
        self.all_runs = [
            {
                "recording": str(number),
                "number": 0,
                "computer": f"PC-{computer:04}",
                "recorded_utc": None if days is None else (FIRST + datetime.timedelta(days=float(days[number]))).isoformat(),
                "duration_ns": int(1e9 * length),
                **{name: str(values[number]) for name, values in (attributes or {}).items()},
            }
            for number, (length, computer) in enumerate(zip(lengths + planted, computers))
        ]

    def runs(self, transition="boot"):
        return self.all_runs

    def _tables(self):
        return set()

    def _parts(self, runs):
        for name, has_new in self.modules.items():
            yield (name, "2"), has_new

    def truth_ns(self, what):
        """Returns the mean planted difference between runs with and without a module."""
        mask = self.modules[what.split(" = ")[0]]
        return self.planted_ns[mask].mean() - self.planted_ns[~mask].mean()


def durations(rng, computers, runs):
    """Returns the duration of each run without planted delays, and its computer."""
    typical = SECONDS * numpy.exp(rng.normal(0, SPREAD, computers))
    computer = numpy.repeat(numpy.arange(computers), runs)
    return typical[computer] * numpy.exp(rng.normal(0, NOISE, len(computer))), computer


def slow_module_fleet(rng, seconds, computers=200, runs=2):
    """Returns a fleet with three update rings. Twelve modules were updated on some rings, with stragglers; ``updated0.sys`` is
    slow. Five other modules are distributed randomly."""
    lengths, computer = durations(rng, computers, runs)
    ring = rng.choice(3, computers, p=(0.15, 0.35, 0.5))
    modules = {}
    for number in range(12):
        is_straggler = rng.random(computers) < 0.05
        modules[f"updated{number}.sys"] = ((ring <= number % 2) ^ is_straggler)[computer]
    for number in range(5):
        modules[f"other{number}.sys"] = (rng.random(computers) < 0.3)[computer]
    return PlantedFleet(lengths, seconds * modules["updated0.sys"], computer, modules=modules)


def two_build_fleet(rng, baseline, candidate, share, runs=2):
    """Returns two cohorts of computers; the second is slower by a share."""
    lengths, computer = durations(rng, baseline + candidate, runs)
    is_new = computer >= baseline
    return PlantedFleet(lengths, share * lengths * is_new, computer, attributes={"build": numpy.where(is_new, 2, 1)})


def changed_fleet(rng, seconds, computers=120, day=35):
    """Returns computers with one run each within 60 days, slower after one day."""
    lengths, computer = durations(rng, computers, 1)
    days = numpy.sort(rng.uniform(0, 60, computers))
    return PlantedFleet(lengths, seconds * (days >= day), computer, days=days)
