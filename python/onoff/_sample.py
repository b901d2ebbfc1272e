"""The runs of one transition as columns, and the groups to compare, read from the tables with DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Optional

MIN_RUNS = 10
"""Minimum number of runs in a group and outside it."""
MIN_COMPUTERS = 5
"""Minimum number of computers in a group and outside it, because runs of one computer are not independent."""
_MAX_PADDING = 4
"""Maximum ratio of the size of a table with one row for each computer to the number of runs."""
_MAX_THRESHOLDS = 20
"""Maximum number of thresholds tried for one ordered attribute."""


class Sample:
    """The runs of one transition. Computers are numbered; times are in days."""

    def __init__(
        self,
        computer: Any,
        total_ns: Any,
        days: Any = None,
        stamps: Any = None,
        phases: Optional[Mapping[str, Any]] = None,
        subjects: Optional[list[tuple[str, str]]] = None,
        subject_ns: Any = None,
    ) -> None:
        import numpy

        self.computer = computer
        self.total_ns = total_ns
        self.computers = int(computer.max()) + 1 if len(computer) else 0
        self.days = numpy.full(len(computer), numpy.nan) if days is None else days
        self.stamps = stamps
        """Times as text, in the order of the runs."""
        self.phases = dict(phases or {})
        """Duration of each phase by run, in ns; NaN if unknown."""
        self.subjects = subjects or []
        """Phase and subject of each column of ``subject_ns``."""
        self.subject_ns = numpy.zeros((self.computers, 0)) if subject_ns is None else subject_ns
        """Mean time of each subject by computer."""
        self.runs_of_computer = numpy.bincount(computer, minlength=self.computers)
        # Place of each run among the runs of its computer.
        order = numpy.argsort(computer, kind="stable")
        starts = numpy.r_[0, numpy.cumsum(self.runs_of_computer)[:-1]] if self.computers else numpy.zeros(0, int)
        self._place: Any = numpy.empty(len(computer), dtype="int64")
        self._place[order] = numpy.arange(len(computer)) - starts[computer[order]]

    def __len__(self) -> int:
        return len(self.computer)

    def sums(self, values: Any) -> Any:
        """Returns the sum over the runs of each computer."""
        import numpy

        return numpy.bincount(self.computer, weights=values, minlength=self.computers)

    def medians(self, values: Any) -> Any:
        """Returns the median over the runs of each computer with a known value."""
        import numpy

        known = numpy.isfinite(values)
        counts = numpy.bincount(self.computer[known], minlength=self.computers)
        longest = int(self.runs_of_computer.max()) if self.computers else 0
        result: Any = numpy.full(self.computers, numpy.nan)
        if not known.any():
            return result
        has_any = counts > 0
        if longest * self.computers <= _MAX_PADDING * len(self):
            # One row for each computer, with unknown values last.
            rows: Any = numpy.full((self.computers, longest), numpy.inf)
            rows[self.computer[known], self._place[known]] = values[known]
            rows.sort(axis=1)
            low, high = (numpy.take_along_axis(rows, numpy.maximum(index, 0)[:, None], axis=1)[:, 0] for index in ((counts - 1) // 2, counts // 2))
            result[has_any] = (low[has_any] + high[has_any]) / 2
            return result
        order = numpy.lexsort((values[known], self.computer[known]))
        ordered = values[known][order]
        starts = numpy.r_[0, numpy.cumsum(counts)[:-1]][has_any]
        counts = counts[has_any]
        result[has_any] = (ordered[starts + (counts - 1) // 2] + ordered[starts + counts // 2]) / 2
        return result


class Part:
    """A condition on runs: an attribute or module, a comparison, and a value."""

    def __init__(self, name: str, relation: str, value: str, is_attribute: bool) -> None:
        self.name = name
        self.relation = relation
        self.value = value
        self.is_attribute = is_attribute

    @property
    def text(self) -> str:
        """Description, such as ``model = Contoso 1`` or ``audio.sys >= 6.0``."""
        value = self.value
        if self.name.endswith("_bytes") and value.isdigit() and int(value) % (1 << 30) == 0:
            value = f"{int(value) >> 30} GiB"
        return " ".join(part for part in (self.name, self.relation, value) if part)


class Group:
    """Runs with something in common. ``share`` is the share of each computer's runs in the group (NaN if unknown);
    ``mask`` selects the runs if the share is not 0 or 1 for all computers."""

    def __init__(self, parts: tuple[Part, ...], share: Any, mask: Any = None, values: Any = None) -> None:
        self.parts = parts
        self.share = share
        self.mask = mask
        self.values = values
        """A number by run in place of the membership, for a change over time."""
        self.also: list[str] = []
        """Names of merged groups with the same runs."""
        self.parents: tuple[Group, ...] = ()
        """The groups whose intersection this is; ``mask`` is not stored then."""

    @property
    def name(self) -> str:
        """Description of the group."""
        return " and ".join(part.text for part in self.parts)

    @property
    def varies(self) -> bool:
        """Whether a computer has runs in the group and outside it."""
        return self.mask is not None or self.values is not None or any(parent.varies for parent in self.parents)

    def run_mask(self, sample: Sample) -> Any:
        """Returns the runs in the group."""
        if self.mask is None and self.parents and self.varies:
            return self.parents[0].run_mask(sample) & self.parents[1].run_mask(sample)
        return self.mask if self.mask is not None else self.share[sample.computer] > 0.5

    def known_runs(self, sample: Sample) -> Any:
        """Returns the runs that are known to be in the group or outside it."""
        import numpy

        return numpy.isfinite(self.share)[sample.computer]

    def counts(self, sample: Sample) -> tuple[int, int, int, int]:
        """Returns the numbers of runs and computers in the group, and outside it."""
        import numpy

        known = numpy.isfinite(self.share)
        runs = sample.runs_of_computer
        inside = float((self.share[known] * runs[known]).sum())
        return (
            round(inside),
            int((self.share[known] > 0).sum()),
            round(float(runs[known].sum()) - inside),
            int((self.share[known] < 1).sum()),
        )

    def is_large_enough(self, sample: Sample) -> bool:
        """Returns whether both sides have enough runs and computers."""
        runs, computers, other_runs, other_computers = self.counts(sample)
        return min(runs, other_runs) >= MIN_RUNS and min(computers, other_computers) >= MIN_COMPUTERS


def group_of_mask(parts: tuple[Part, ...], mask: Any, sample: Sample) -> Group:
    """Returns a group of runs, which needs no mask if each computer is entirely in it or outside it."""
    share = sample.sums(mask.astype(float)) / sample.runs_of_computer
    varies = bool(((share > 0) & (share < 1)).any())
    return Group(parts, share, mask if varies else None)


def version_key(text: str) -> tuple[tuple[int, Any], ...]:
    """Returns a key that sorts versions by their numbers.

    >>> sorted(["10.1", "9.2", "9.10", "9.2b"], key=version_key)
    ['9.2', '9.2b', '9.10', '10.1']
    """
    return tuple((1, int(part)) if part.isdigit() else (0, part) for part in re.findall(r"\d+|[^\d.\-_ ]+", text))


def number(text: str) -> Optional[float]:
    """Returns a finite number, or ``None`` if the text is not one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e30 else None


def attribute_groups(name: str, values: Any, sample: Sample) -> Iterator[Group]:
    """Yields the groups with one value of an attribute, and below or above each number if all values are numbers.
    Runs without a value are neither in the group nor outside it."""
    import numpy

    texts = numpy.array(["" if value is None else str(value) for value in values], dtype=object).astype(str)
    found, codes = numpy.unique(texts, return_inverse=True)
    unknown = codes == numpy.flatnonzero(found == "")[0] if "" in found else numpy.zeros(len(texts), bool)
    known_computers = sample.sums((~unknown).astype(float)) == sample.runs_of_computer
    choices = [value for value in found.tolist() if value]
    if len(choices) < 2 and known_computers.all():
        return
    code_of = {value: index for index, value in enumerate(found.tolist())}

    def group(part: Part, chosen: list[str]) -> Group:
        is_chosen: Any = numpy.zeros(len(found), bool)
        is_chosen[[code_of[value] for value in chosen]] = True
        result = group_of_mask((part,), is_chosen[codes], sample)
        result.share = numpy.where(known_computers, result.share, numpy.nan)
        return result

    for value in choices:
        yield group(Part(name, "=", value, True), [value])
    numbers = {value: number(value) for value in choices}
    if len(choices) > 2 and all(value is not None for value in numbers.values()):
        ordered = sorted(choices, key=lambda value: numbers[value] or 0.0)
        for index in _thresholds(len(ordered)):
            yield group(Part(name, "<=", ordered[index - 1], True), ordered[:index])
            yield group(Part(name, ">=", ordered[index], True), ordered[index:])


def module_groups(module: str, runs_of_version: Mapping[str, Any], has_versions: Any, sample: Sample) -> Iterator[Group]:
    """Yields the groups with one version of a module, below or above each version, and with or without the module."""
    import numpy

    known_computers = sample.sums(has_versions.astype(float)) == sample.runs_of_computer

    def group(part: Part, mask: Any) -> Group:
        result = group_of_mask((part,), mask, sample)
        result.share = numpy.where(known_computers, result.share, numpy.nan)
        return result

    def union(versions: list[str]) -> Any:
        mask: Any = numpy.zeros(len(sample), bool)
        for version in versions:
            mask[runs_of_version[version]] = True
        return mask

    ordered = sorted(runs_of_version, key=version_key)
    for version in ordered:
        yield group(Part(module, "=", version, False), union([version]))
    if len(ordered) > 1:
        yield group(Part(module, "is present", "", False), union(ordered))
    yield group(Part(module, "is absent", "", False), has_versions & ~union(ordered))
    if len(ordered) > 2:
        for index in _thresholds(len(ordered)):
            yield group(Part(module, "<=", ordered[index - 1], False), union(ordered[:index]))
            yield group(Part(module, ">=", ordered[index], False), union(ordered[index:]))


def _thresholds(count: int) -> list[int]:
    """Returns evenly spread positions between ordered values."""
    positions = count - 1
    if positions <= _MAX_THRESHOLDS:
        return list(range(1, count))
    return sorted({1 + index * (positions - 1) // (_MAX_THRESHOLDS - 1) for index in range(_MAX_THRESHOLDS)})

