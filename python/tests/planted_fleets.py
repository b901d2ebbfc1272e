"""In-memory fleets to measure coverage: computers vary by 15 %, their runs by 8 %, and modules follow update rings."""

import datetime

import numpy

from onoff._fleet import Fleet
from onoff._sample import Sample, attribute_groups, module_groups

SECONDS = 30.0
SPREAD, NOISE = 0.15, 0.08
FIRST = datetime.datetime(2026, 1, 5)


class PlantedFleet(Fleet):
    """A fleet of given runs, without a folder. ``planted_ns`` is the delay added to each run."""

    def __init__(self, lengths, planted, computers, attributes=None, modules=None, days=None):
        self.attributes = tuple(attributes or ())
        self.columns = attributes or {}
        self.modules = modules or {}
        self.planted_ns = 1e9 * planted
        stamps = None if days is None else [(FIRST + datetime.timedelta(days=float(day))).isoformat() for day in days]
        self.planted_sample = Sample(numpy.asarray(computers), 1e9 * (lengths + planted), days, stamps)

    def _sample(self, transition):
        return self.planted_sample

    def _groups(self, transition, sample):
        for name, values in self.columns.items():
            yield from attribute_groups(name, values, sample)
        everywhere = numpy.ones(len(sample), bool)
        for name, has_new in self.modules.items():
            versions = {"1": numpy.flatnonzero(~has_new), "2": numpy.flatnonzero(has_new)}
            yield from module_groups(name, versions, everywhere, sample)

    def _values(self, transition, name):
        return self.columns[name]

    def _subject(self, transition, sample, group):
        return {"subject": "", "subject_phase": "", "subject_ns": None}

    def truth_ns(self, what):
        """Returns the mean planted difference between runs with and without a module."""
        name, version = what.split(" = ")
        mask = self.modules[name] == (version == "2")
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


def upgraded_fleet(rng, computers, share, runs=4):
    """Returns computers with half of their runs before an upgrade and half after it, slower by a share."""
    lengths, computer = durations(rng, computers, runs)
    is_new = numpy.tile(numpy.arange(runs) >= runs // 2, computers)
    return PlantedFleet(lengths, share * lengths * is_new, computer, attributes={"build": numpy.where(is_new, 2, 1)})


def changed_fleet(rng, seconds, computers=120, day=35, runs=1):
    """Returns computers with runs within 60 days, slower after one day."""
    lengths, computer = durations(rng, computers, runs)
    days = numpy.sort(rng.uniform(0, 60, computers)) if runs == 1 else rng.uniform(0, 60, computers * runs)
    return PlantedFleet(lengths, seconds * (days >= day), computer, days=days)


def drifting_fleet(rng, share, computers=120, runs=4):
    """Returns computers that become slower by a share within 60 days."""
    lengths, computer = durations(rng, computers, runs)
    days = rng.uniform(0, 60, computers * runs)
    return PlantedFleet(lengths, share * SECONDS * days / 60, computer, days=days)
