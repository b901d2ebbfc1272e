"""Searches groups of runs for what makes them slow: in the total, in the share of slow runs, in phases, and in the time
of subjects. Each level has a part of the error probability, divided by the number of comparisons that were possible."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Optional

from ._sample import MIN_COMPUTERS, MIN_RUNS, Group, Part, Sample, group_of_mask
from ._statistics import (
    Estimate,
    Interval,
    combine,
    interval,
    log_p_of_sum,
    log_tail,
    mean_between,
    ranks,
    shift_between,
    shift_of,
    z_of_log_tail,
)

MIN_EFFECT_NS = 300_000_000
"""Minimum reported difference, equal to the minimum cost of a finding in a single recording."""
MIN_EFFECT_SHARE = 0.03
"""Minimum reported difference as a share of the median."""
CHANCE = 0.01
"""Family-wise significance level: the probability that any factor is reported for a healthy fleet."""
MAX_FACTORS = 10
DATES = 60
"""Number of dates tried as change points."""

TOTAL, TAIL, PHASE, SUBJECT = "total", "slow_runs", "phase", "subject"
_LEVEL_SHARES = {TOTAL: 0.35, TAIL: 0.15, PHASE: 0.3, SUBJECT: 0.2}
"""Share of the error probability of each level."""
SINGLE, PAIR, DATE = "single", "pair", "date"
_FAMILY_SHARES = {SINGLE: 0.6, PAIR: 0.2, DATE: 0.2}
"""Share of the error probability of each family of groups."""

SLOW_SHARE = 0.25
"""A run is slow if it takes longer than its computer's median by this share."""
_SLOW_SHARE_OF_FLEET = 0.5
"""The same for a computer with fewer than three runs, which is compared with the fleet's median."""
_MIN_SPEED_PHASES = 3
"""Minimum number of phases for estimating how fast a computer is."""
_SPEAKS_Z = 2.0
"""Minimum ``z`` of one part of a pair; the other must not point the other way."""
_WITHIN_Z = 2.33
"""Minimum ``z`` of a pair among the runs of each of its parts."""
_SLOW_PHASE_Z = 4.0
"""A group is slower in a phase above this ``z``."""
_STAYS_Z = 2.33
"""Minimum ``z`` of a factor after the other factors were removed."""
_DATE_CHOICE = 4.0
"""Minimum difference of the squared ``z`` of a step and of a steady change, for the step to be reported."""
_EXACT_Z = 3.2
"""The tail probability is computed exactly above this ``z``."""
_MAX_EXACT = 300
"""Maximum number of exact tail probabilities per round."""
_CHUNK = 256
"""Maximum number of groups compared at once."""
_CHUNK_VALUES = 4_000_000
"""Maximum number of groups times computers compared at once."""
_MAX_CACHED = 20_000_000
"""Maximum number of pairs times computers that are kept for the next round."""
_SLOPE_STEPS = 4
"""Number of times that outliers are limited again after a slope was estimated."""
_NOT_TRIED: Any = object()


class Signal:
    """A number by computer that groups are compared by, and by run if computers are compared with themselves."""

    def __init__(self, level: str, phase: str, subject: str, by_computer: Any, by_run: Any = None, is_adjusted: bool = False) -> None:
        self.level = level
        self.phase = phase
        self.subject = subject
        self.by_computer = by_computer
        self.by_run = by_run
        self.is_adjusted = is_adjusted
        """Whether the speed of the computers is taken out."""


class Hit(NamedTuple):
    """A group that differs in a signal."""

    group: Group
    signal: Signal
    z: float
    """Calibrated z-score."""
    log_chance: float
    """Logarithm of the p-value, corrected for the number of comparisons."""
    family: str

    @property
    def sign(self) -> int:
        """1 if the group is slower, -1 if it is faster."""
        return 1 if self.z > 0 else -1


class Factor(NamedTuple):
    """A factor of slow runs with its size."""

    hit: Hit
    effect: Interval
    """Difference of the total."""
    phase_effect: Optional[Interval]
    """Difference of the phase in which the group was found."""
    slow_share: float
    """Share of slow runs in the group."""
    rest_slow_share: float


class Search:
    """The groups of a fleet and the state of the search: what is left after removing the factors already found."""

    def __init__(self, sample: Sample, groups: Iterable[Group], is_drift: bool = False) -> None:
        self.sample = sample
        self.is_drift = is_drift
        """Whether only changes over time are searched, in both directions."""
        self.singles: list[Group] = []
        self.too_small: list[Group] = []
        seen: dict[bytes, Group] = {}
        for group in groups:
            if not group.is_large_enough(sample):
                if group.counts(sample)[0]:
                    self.too_small.append(group)
                continue
            # Merge groups with the same runs, attributes first: modules of one update change versions together.
            key = (group.mask if group.mask is not None else group.share.astype("float32")).tobytes()
            first = seen.setdefault(key, group)
            if first is group:
                self.singles.append(group)
            else:
                first.also.append(group.name)
        self.dates = list(date_groups(sample))
        self.found: list[Hit] = []
        self.min_effect_ns = min_effect_ns(sample.total_ns)
        self.pairs = _count_pairs(self.singles, sample)
        self.removed: list[tuple[Group, dict[str, float]]] = []
        self.chunk = max(8, min(_CHUNK, _CHUNK_VALUES // max(1, sample.computers)))
        self._pairs: dict[tuple[int, int], Optional[Group]] = {}
        self._kept = {id(group) for group in self.singles}
        """Groups that exist as long as the search, so that their ids stay theirs."""
        self._prepare()

    @property
    def tried(self) -> int:
        """Number of groups that are compared."""
        return len(self.singles) + self.pairs + len(self.dates)

    def run(self) -> list[Factor]:
        """Finds the factors, most significant first."""
        if not len(self.sample):
            return []
        while len(self.found) < MAX_FACTORS:
            best = self.best()
            if best is None:
                break
            self.found.append(best)
            self._refit()
        self._drop_explained()
        return [self._factor(hit) for hit in self.found]

    def reset(self) -> None:
        """Removes the effects of all factors, after the measurement of one."""
        self._prepare()

    # Signals

    def _prepare(self, without: Optional[Hit] = None) -> None:
        """Computes the signals, with the effects of all factors removed except ``without``."""
        import numpy

        sample = self.sample
        total, phases = sample.total_ns, dict(sample.phases)
        for hit, (group, effects) in zip(self.found, self.removed):
            if hit is without:
                continue
            x = _values(group, sample)
            total = total - x * effects[""]
            for phase in phases:
                phases[phase] = phases[phase] - x * effects[phase]
        self.total, self.phases = total, phases
        self.total_median = sample.medians(total)
        self.phase_medians = {phase: sample.medians(values) for phase, values in phases.items()}
        self.signals = [Signal(TOTAL, "", "", self.total_median, total)]
        self.adjusted_total = None if self.is_drift else self._at_same_speed(self.total_median)
        if self.adjusted_total is not None:
            self.signals.append(Signal(TOTAL, "", "", self.adjusted_total, total, is_adjusted=True))
        self.is_slow, self.slow_rate = self._slow_runs(total)
        others = [hit for hit in self.found if hit is not without]
        rate = self.slow_rate
        for hit in others:
            # Compare within the group and outside it: what is left of a removed group has another distribution.
            rate = _within_sides(rate, hit.group)
        if (self.slow_rate > 0).sum() >= MIN_COMPUTERS and not self.is_drift:
            self.signals.append(Signal(TAIL, "", "", rate))
        for phase, medians in self.phase_medians.items():
            adjusted = None if self.is_drift else self._at_same_speed(medians, phase)
            self.signals.append(Signal(PHASE, phase, "", medians if adjusted is None else adjusted, phases[phase]))
        for index, (phase, subject) in enumerate([] if self.is_drift else sample.subjects):
            values = sample.subject_ns[:, index]
            known = values[numpy.isfinite(values)]
            if len(known) < 2 * MIN_COMPUTERS or numpy.sort(known)[-MIN_COMPUTERS] - known.min() < MIN_EFFECT_NS:
                continue
            if not any(self._explains(hit, values) for hit in others):
                self.signals.append(Signal(SUBJECT, phase, subject, values))
        # Ranks within the sides of factors must not be ranked again: ties have another rank on each side.
        self.scores = numpy.array([signal.by_computer if signal.level == TAIL and others else ranks(signal.by_computer) for signal in self.signals])
        self.score_sums = self.scores.sum(axis=1), (self.scores**2).sum(axis=1)
        self.signal_variances = numpy.array([max(_deviation(signal.by_computer) ** 2, 1.0) if signal.by_run is not None else 1.0 for signal in self.signals])
        self._prepare_runs()

    def _prepare_runs(self) -> None:
        """Computes the scores by run, with a sum of 0 for each computer, of the signals that have values by run."""
        import numpy

        sample = self.sample
        by_run: list[Any] = []
        self.run_signals: list[int] = []
        """Signals with values by run."""
        places = []
        for index, signal in enumerate(self.signals):
            if signal.by_run is None:
                continue
            place = next((place for place, values in enumerate(by_run) if values is signal.by_run), len(by_run))
            if place == len(by_run):
                by_run.append(signal.by_run)
            self.run_signals.append(index)
            places.append(place)
        self.run_places: Any = numpy.array(places, dtype=int)
        """Place of each of these signals in ``run_scores``."""
        self.run_scores: list[Any] = []
        squares, variances = [], []
        freedom = numpy.maximum(1, sample.runs_of_computer - 1)
        for values in by_run:
            residuals = values - sample.medians(values)[sample.computer]
            residuals[sample.runs_of_computer[sample.computer] < 2] = numpy.nan
            aligned = ranks(residuals)
            aligned -= (sample.sums(aligned) / sample.runs_of_computer)[sample.computer]
            spread = residuals[numpy.isfinite(residuals)]
            pairs = sample.runs_of_computer[sample.computer][numpy.isfinite(residuals)]
            variance = (_deviation(spread) ** 2 * float((pairs / (pairs - 1)).mean())) if len(spread) else 1.0
            self.run_scores.append(aligned)
            squares.append(sample.sums(aligned**2) / freedom)
            variances.append(max(variance, 1.0))
        self.run_squares: Any = numpy.array(squares)
        """Variance of a score, by ``run_scores`` and computer."""
        self.run_variances: Any = numpy.array(variances)
        self._sums_by_computer: dict[int, Any] = {}

    def _explains(self, hit: Hit, values: Any) -> bool:
        """Returns whether the time of a subject differs between a factor's group and the rest."""
        import numpy

        share = hit.group.share
        if hit.group.values is not None:
            return False
        known = numpy.isfinite(values)
        inside, outside = values[known & (share > 0.5)], values[known & (share <= 0.5)]
        if min(len(inside), len(outside)) < 2:
            return False
        estimate = mean_between(inside, outside)
        return bool(estimate.error_ns > 0 and abs(estimate.ns) > 4 * estimate.error_ns)

    def _speed(self, leave_out: tuple[str, ...]) -> Any:
        """Returns the logarithm of how slow each computer is in its other phases, or ``None`` if there are too few."""
        import numpy

        logs = []
        for phase, medians in self.phase_medians.items():
            known = numpy.isfinite(medians) & (medians > 0)
            if phase in leave_out or known.sum() < 0.9 * len(medians):
                continue
            values = numpy.full(len(medians), numpy.nan)
            values[known] = numpy.log(medians[known] / numpy.median(medians[known]))
            logs.append(values)
        if len(logs) < _MIN_SPEED_PHASES - 1:
            return None
        matrix = numpy.array(logs)
        counts = numpy.isfinite(matrix).sum(axis=0)
        return numpy.where(counts > 0, numpy.nanmedian(numpy.where(counts > 0, matrix, 0.0), axis=0), 0.0)

    def _at_same_speed(self, medians: Any, *leave_out: str) -> Any:
        """Returns medians minus what the speed of the computer in other phases predicts, or ``None`` if it is
        unknown."""
        import numpy

        speed = self._speed(leave_out)
        known = numpy.isfinite(medians) & (medians > 0)
        if speed is None or known.sum() < 2 * MIN_COMPUTERS:
            return None
        typical = float(numpy.median(medians[known]))
        logs = numpy.log(medians[known] / typical)
        logs = numpy.clip(logs, *(numpy.median(logs) + 3 * _deviation(logs) * numpy.array((-1, 1))))
        centered = speed[known] - speed[known].mean()
        spread = float(centered @ centered)
        slope = min(1.5, max(0.0, float(centered @ (logs - logs.mean())) / spread)) if spread > 0 else 0.0
        return medians - typical * (numpy.exp(slope * speed) - 1)

    def _slow_runs(self, total: Any) -> tuple[Any, Any]:
        """Returns which runs are slow for their computer, and their share by computer."""
        import numpy

        sample = self.sample
        fleet = float(numpy.median(total)) if len(total) else 0.0
        own = numpy.where(sample.runs_of_computer >= 3, sample.medians(total) * (1 + SLOW_SHARE), fleet * (1 + _SLOW_SHARE_OF_FLEET))
        is_slow = total > numpy.maximum(own[sample.computer], MIN_EFFECT_NS)
        return is_slow, sample.sums(is_slow.astype(float)) / sample.runs_of_computer

    # Comparisons

    def best(self) -> Optional[Hit]:
        """Returns the most significant factor that is slow enough to be reported."""
        hits = self._hits()
        refined: set[int] = set()
        subjects = {hit.group.name for hit in hits if hit.signal.level == SUBJECT}
        for hit in hits:
            if hit.log_chance >= math.log(CHANCE):
                break
            if hit.family == PAIR and not self._is_better_than_parts(hit):
                continue
            if hit.signal.level == SUBJECT and not self._is_confirmed(hit, len(subjects)):
                continue
            if hit.family == DATE:
                # All dates of one signal lead to the same exact date.
                if id(hit.signal) in refined:
                    continue
                refined.add(id(hit.signal))
                hit = self._step_or_slope(hit, hits)
            if self._is_slow_enough(hit):
                return hit
        return None

    def _step_or_slope(self, hit: Hit, hits: list[Hit]) -> Hit:
        """Returns the step or the steady change that fits a signal better."""
        same = [other for other in hits if other.family == DATE and other.signal is hit.signal and other.sign == hit.sign]
        slope = next((other for other in same if other.group.values is not None), None)
        step = next((other for other in same if other.group.values is None), None)
        if step is None:
            return hit
        step = self._refine(step)
        # Of many dates, one fits better by chance.
        return slope if slope is not None and slope.z**2 + _DATE_CHOICE > step.z**2 else step

    def _refine(self, hit: Hit) -> Hit:
        """Returns the most significant date near the date of a hit, which is one of a few tried."""
        import numpy

        sample, index = self.sample, self._index(hit.signal)
        known = numpy.isfinite(sample.days)
        order = numpy.argsort(numpy.where(known, sample.days, numpy.inf), kind="stable")[: int(known.sum())]
        position = int((~hit.group.run_mask(sample)[order]).sum())
        step = max(1, (len(order) - 2 * MIN_RUNS) // DATES)
        while True:
            low, high = max(MIN_RUNS, position - step), min(len(order) - MIN_RUNS, position + step)
            positions = sorted({int(value) for value in numpy.linspace(low, high, min(DATES, high - low + 1)).round()})
            groups = [(candidate, since(sample, order[candidate])) for candidate in positions]
            known_groups = [(candidate, group) for candidate, group in groups if group is not None]
            if not known_groups:
                return hit
            z = self.z([group for _, group in known_groups])[index] * hit.sign
            best = int(z.argmax())
            position, group = known_groups[best]
            if step == 1 or len(positions) == high - low + 1:
                if z[best] * hit.sign <= hit.z * hit.sign and hit.group.name != group.name:
                    return hit
                return hit._replace(group=group, z=float(z[best]) * hit.sign)
            step = max(1, 2 * step // DATES)

    def suggestive(self, limit: int) -> list[Hit]:
        """Returns groups that may be slow: those that chance could explain, and those with too few computers."""
        small = [group for group in self.too_small if group.counts(self.sample)[1] >= 2 and group.counts(self.sample)[3] >= MIN_COMPUTERS]
        hits = [hit for hit in self._hits() if hit.family == SINGLE and hit.log_chance >= math.log(CHANCE)]
        log_price = math.log(max(1, len(small)) * sum(signal.level != SUBJECT for signal in self.signals))
        for start in range(0, len(small), self.chunk):
            chunk = small[start : start + self.chunk]
            for _, group, index, _ in self._above(self.z(chunk), chunk, SINGLE, set(), _SPEAKS_Z):
                z = self._exact_z(float(self.z([group])[index, 0]), group, index)
                hits.append(Hit(group, self.signals[index], z, log_tail(z) + log_price, SINGLE))
        result: list[Hit] = []
        for hit in sorted(hits, key=lambda hit: hit.log_chance):
            is_new = all(other.group is not hit.group for other in result)
            if len(result) < limit and hit.signal.level != SUBJECT and hit.log_chance < 0 and is_new and self._is_slow_enough(hit):
                result.append(hit)
        return result

    def _hits(self) -> list[Hit]:
        """Compares all groups in all signals; returns those with a small p-value, most significant first."""
        import numpy

        raw: list[tuple[float, Group, int, str]] = []
        z_of_single: list[Any] = []
        taken = {id(hit.group) for hit in self.found}
        for family, groups in ((SINGLE, self.singles), (DATE, self.dates)):
            for start in range(0, len(groups), self.chunk):
                chunk = groups[start : start + self.chunk]
                z = self.z(chunk)
                if family == SINGLE:
                    z_of_single.append(z)
                raw += self._above(z, chunk, family, taken)
        if z_of_single:
            speaking = numpy.concatenate(z_of_single, axis=1)
            batch: list[Group] = []
            for pair in self._speaking_pairs(speaking):
                batch.append(pair)
                if len(batch) == self.chunk:
                    raw += self._above(self.z(batch), batch, PAIR, taken)
                    batch = []
            if batch:
                raw += self._above(self.z(batch), batch, PAIR, taken)
        raw.sort(key=lambda item: -abs(item[0]))
        hits = []
        for position, (z, group, index, family) in enumerate(raw):
            if position < _MAX_EXACT:
                z = self._exact_z(z, group, index)
            hits.append(Hit(group, self.signals[index], z, log_tail(abs(z)) + self._log_price(family, self.signals[index].level), family))
        # Prefer simpler groups among equally significant ones.
        return sorted(hits, key=lambda hit: (hit.log_chance, len(hit.group.parts)))

    def _above(self, z: Any, groups: list[Group], family: str, taken: set[int], min_z: float = _EXACT_Z) -> list[tuple[float, Group, int, str]]:
        return [
            (float(z[index, column]), groups[column], int(index), family)
            for index, column in zip(*((abs(z) if self.is_drift else z) >= min_z).nonzero())
            if id(groups[column]) not in taken
        ]

    def _log_price(self, family: str, level: str) -> float:
        """Returns the logarithm of the factor that corrects a p-value for the number of comparisons."""
        if self.is_drift:
            return math.log(2 * max(1, len(self.dates)) * len(self.signals))
        count = {SINGLE: len(self.singles), PAIR: self.pairs, DATE: len(self.dates)}[family]
        signals = sum(signal.level == level for signal in self.signals)
        return math.log(max(1, count) * max(1, signals) / (_FAMILY_SHARES[family] * _LEVEL_SHARES[level]))

    def z(self, groups: list[Group]) -> Any:
        """Returns the z-score of each signal (row) and group (column); positive if the group is slower.

        Computers are compared with each other by their medians, and with themselves if they have runs on both sides.
        The two parts are independent; they are weighted by how much they say about a difference in ns."""
        import numpy

        shares = numpy.array([group.share for group in groups]).T
        is_known = numpy.isfinite(shares)
        scores = self.scores
        if is_known.all():
            x, counts = shares, numpy.full(len(groups), float(len(shares)))
            sums, squares = (total[:, None] for total in self.score_sums)
        else:
            known = is_known.astype(float)
            x = numpy.where(is_known, shares, 0.0)
            counts = known.sum(axis=0)
            sums, squares = scores @ known, scores**2 @ known
        x_sums, x_squares = x.sum(axis=0), (x**2).sum(axis=0)
        x_spread = x_squares - x_sums**2 / counts
        spread = numpy.maximum(squares - sums**2 / counts, 0.0)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            z = (scores @ x - sums * x_sums / counts) / numpy.sqrt(spread * x_spread / (counts - 1))
        z = numpy.where(numpy.isfinite(z), z, 0.0)
        for column, group in enumerate(groups):
            if group.varies:
                z[:, column] = self._with_pairs(group, z[:, column], float(x_spread[column]))
        return z

    def _with_pairs(self, group: Group, z: Any, x_spread: float) -> Any:
        """Adds the comparison of computers with themselves. Signals without values by run cannot be judged."""
        import numpy

        sample = self.sample
        result = numpy.zeros(len(z))
        if not self.run_signals:
            return result
        if group.values is None:
            share = numpy.where(numpy.isfinite(group.share), group.share, 0.0)
            x_squares = share * (1 - share) * sample.runs_of_computer
            sums = self._sums_within(group)
        else:
            centered = group.values - (sample.sums(group.values) / sample.runs_of_computer)[sample.computer]
            x_squares = sample.sums(centered**2)
            # Not as a matrix product, whose threads wait for each other on a busy computer.
            sums = numpy.array([float((scores * centered).sum()) for scores in self.run_scores])
        variances = (self.run_squares * x_squares).sum(axis=1)
        within = numpy.where(variances > 0, sums / numpy.sqrt(numpy.maximum(variances, 1e-300)), 0.0)[self.run_places]
        between_weight = x_spread / self.signal_variances[self.run_signals]
        within_weight = float(x_squares.sum()) / self.run_variances[self.run_places]
        weight = between_weight + within_weight
        combined = numpy.sqrt(between_weight) * z[self.run_signals] + numpy.sqrt(within_weight) * within
        result[self.run_signals] = numpy.where(weight > 0, combined / numpy.sqrt(numpy.maximum(weight, 1e-300)), 0.0)
        return result

    def _sums_within(self, group: Group) -> Any:
        """Returns the sum of each of ``run_scores`` over the runs in a group."""
        import numpy

        varying = [parent for parent in group.parents if parent.varies]
        if len(varying) == 1 and len(group.parents) == 2:
            # The other parent selects whole computers.
            [whole] = [parent for parent in group.parents if not parent.varies]
            return self._sums_of(varying[0])[:, (whole.share > 0.5) & numpy.isfinite(group.share)].sum(axis=1)
        return self._sums_of(group)[:, numpy.isfinite(group.share)].sum(axis=1)

    def _sums_of(self, group: Group) -> Any:
        """Returns the sum of each of ``run_scores`` over the runs of each computer in a group."""
        import numpy

        sums = self._sums_by_computer.get(id(group))
        if sums is None:
            mask = group.run_mask(self.sample)
            computers = self.sample.computer[mask]
            sums = numpy.array([numpy.bincount(computers, weights=scores[mask], minlength=self.sample.computers) for scores in self.run_scores])
            if id(group) in self._kept and (len(self._sums_by_computer) + 1) * sums.size <= _MAX_CACHED:
                self._sums_by_computer[id(group)] = sums
        return sums

    def _exact_z(self, z: float, group: Group, index: int) -> float:
        import numpy

        if group.varies:
            return z
        known = numpy.isfinite(group.share)
        return z_of_log_tail(log_p_of_sum(self.scores[index][known], group.share[known] > 0.5, z))

    def _speaking_pairs(self, z: Any) -> Iterator[Group]:
        """Yields the pairs of groups whose parts are slower in the same signal."""
        import numpy

        partners = [column for column, group in enumerate(self.singles) if _can_pair(group)]
        attributes = [column for column in partners if self.singles[column].parts[0].is_attribute]
        for first in attributes:
            both = numpy.minimum(z[:, first, None], z[:, partners]) > 0
            speaks = (both & (numpy.maximum(z[:, first, None], z[:, partners]) >= _SPEAKS_Z)).any(axis=0)
            for second in (column for column, is_chosen in zip(partners, speaks) if is_chosen):
                if self.singles[second].parts[0].is_attribute and second <= first:
                    continue
                pair = self._pairs.get((first, second), _NOT_TRIED)
                if pair is _NOT_TRIED:
                    pair = _pair(self.singles[first], self.singles[second], self.sample)
                    if len(self._pairs) * self.sample.computers < _MAX_CACHED:
                        self._pairs[first, second] = pair
                if pair is not None:
                    yield pair

    def _is_better_than_parts(self, hit: Hit) -> bool:
        """Returns whether a pair is slower than the other runs of each of its parts."""
        import numpy

        for parent in hit.group.parents:
            inside = parent.share > 0 if hit.group.varies else parent.share > 0.5
            mask = hit.group.run_mask(self.sample) if hit.group.varies else None
            rest = Group(hit.group.parts, numpy.where(inside, hit.group.share, numpy.nan), mask)
            if rest.counts(self.sample)[3] < MIN_COMPUTERS:
                return False
            if self.z([rest])[self._index(hit.signal), 0] < _WITHIN_Z:
                return False
        return True

    def _is_confirmed(self, hit: Hit, count: int) -> bool:
        """Returns whether the phase or the total of a subject's group is longer too: a subject's time may only replace
        the time of another. ``count`` is the number of groups to confirm."""
        z = self.z([hit.group])[:, 0]
        values = [
            self._exact_z(float(z[index]), hit.group, index)
            for index, signal in enumerate(self.signals)
            if signal.level in (TOTAL, TAIL) or (signal.level == PHASE and signal.phase == hit.signal.phase)
        ]
        return bool(values) and log_tail(max(values)) + math.log(len(values) * max(1, count)) < math.log(CHANCE)

    def _index(self, signal: Signal) -> int:
        return next(index for index, other in enumerate(self.signals) if other is signal)

    # Sizes

    def _is_slow_enough(self, hit: Hit) -> bool:
        """Returns whether the difference matters, and the total does not contradict the difference of a phase."""
        _, total, phase, _ = self._sizes(hit)
        if not total.ns * hit.sign >= self.min_effect_ns:
            return False
        return phase is None or (phase.ns * hit.sign >= self.min_effect_ns and total.ns * hit.sign >= phase.ns * hit.sign / 3)

    def _sizes(self, hit: Hit) -> tuple[str, Estimate, Optional[Estimate], Estimate]:
        """Returns the level, the difference of the total and of the phase, and the one that selected the group."""
        import numpy

        group, signal = hit.group, hit.signal
        if signal.level == TAIL or (signal.level == SUBJECT and self._is_tail(hit)):
            # The mean, because the median says nothing about slow runs.
            means = self.sample.sums(self.total) / self.sample.runs_of_computer
            adjusted = self._at_same_speed(means, *self._slow_phases(hit))
            means = means if adjusted is None else adjusted
            known = numpy.isfinite(group.share) & numpy.isfinite(means)
            inside, outside = means[known & (group.share > 0.5)], means[known & (group.share <= 0.5)]
            estimate = mean_between(inside, outside) if min(len(inside), len(outside)) > 1 else Estimate(math.nan, math.inf)
            return TAIL, estimate, None, estimate
        if signal.level == TOTAL and not signal.is_adjusted:
            total = self.estimate(group, self.total_median, self.total)
            return TOTAL, total, None, total
        phase = signal.phase
        adjusted = None if self.is_drift else self._at_same_speed(self.total_median, *self._slow_phases(hit))
        raw = self.estimate(group, self.total_median, self.total)
        total = raw if adjusted is None else self.estimate(group, adjusted, self.total)
        if abs(total.ns - raw.ns) > 3 * raw.error_ns:
            # The group differs in speed too.
            total = raw
        if signal.level == TOTAL or phase not in self.phases:
            return signal.level, total, None, total
        medians = self.phase_medians[phase]
        adjusted = None if self.is_drift else self._at_same_speed(medians, phase)
        selected = self.estimate(group, medians if adjusted is None else adjusted, self.phases[phase])
        return signal.level, total, selected, selected

    def _slow_phases(self, hit: Hit) -> list[str]:
        """Returns the phases in which a group is slower, which say nothing about the speed of its computers."""
        z = self.z([hit.group])[:, 0]
        phases = [(float(value), signal.phase) for value, signal in zip(z, self.signals) if signal.level == PHASE]
        slowest = [phase for _, phase in sorted(phases, reverse=True)[:1]]
        return [phase for value, phase in phases if value > _SLOW_PHASE_Z or phase in (hit.signal.phase, *slowest)][: max(1, len(phases) - 2)]

    def _is_tail(self, hit: Hit) -> bool:
        """Returns whether a subject delays only some runs of a group."""
        index = next((index for index, signal in enumerate(self.signals) if signal.level == TAIL), None)
        if index is None or hit.group.varies:
            return False
        z = self.z([hit.group])[:, 0]
        return bool(z[index] > max(z[other] for other, signal in enumerate(self.signals) if signal.level in (TOTAL, PHASE) and signal.phase in ("", hit.signal.phase)))

    def estimate(self, group: Group, medians: Any, by_run: Any) -> Estimate:
        """Estimates a difference between computers and within computers."""
        import numpy

        share = group.share
        if group.values is not None:
            return slope_estimate(self.sample, group.values, by_run)
        estimates = [shift_between(medians[share == 1], medians[share == 0])]
        if group.varies:
            estimates.append(shift_of(paired_differences(self.sample, group, by_run)))
        if not group.varies or numpy.isfinite(estimates[1].ns):
            return combine(estimates)
        return estimates[0]

    def _refit(self) -> None:
        """Estimates the effects of all factors together, each with the others removed."""
        self.removed = [(hit.group, {"": 0.0, **{phase: 0.0 for phase in self.sample.phases}}) for hit in self.found]
        for _ in range(1 if len(self.found) == 1 else 3):
            for number, hit in enumerate(self.found):
                self._prepare(without=hit)
                effects = self.removed[number][1]
                slow_phases = [] if self.is_drift else self._slow_phases(hit)
                estimates = {}
                for name, medians, by_run in (("", self.total_median, self.total), *((phase, self.phase_medians[phase], self.phases[phase]) for phase in self.phases)):
                    adjusted = None
                    if not self.is_drift and (name or hit.signal.level != TOTAL or hit.signal.is_adjusted):
                        adjusted = self._at_same_speed(medians, name, *slow_phases)
                    estimates[name] = self.estimate(hit.group, medians if adjusted is None else adjusted, by_run)
                for name, estimate in estimates.items():
                    effects[name] = estimate.ns if math.isfinite(estimate.ns) and abs(estimate.ns) > 2 * estimate.error_ns else 0.0
        self._prepare()

    def _drop_explained(self) -> None:
        """Drops factors that the factors found after them explain."""
        for hit in list(self.found):
            if len(self.found) == 1:
                return
            self._prepare(without=hit)
            z = self.z([hit.group])[:, 0]
            values = [value for value, signal in zip(z, self.signals) if (signal.level, signal.phase, signal.subject) == (hit.signal.level, hit.signal.phase, hit.signal.subject)]
            if values and max(value * hit.sign for value in values) < _STAYS_Z:
                number = self.found.index(hit)
                del self.found[number], self.removed[number]
                self._refit()

    def _factor(self, hit: Hit) -> Factor:
        """Returns a factor with the size of its effect when the other factors are removed."""
        self._prepare(without=hit)
        level, total, phase, selected = self._sizes(hit)
        # The estimate that would just have been selected.
        ratio = z_of_log_tail(math.log(CHANCE) - self._log_price(hit.family, hit.signal.level)) / abs(hit.z)
        threshold = max(self.min_effect_ns, selected.ns * hit.sign * min(1.0, ratio))
        if level == SUBJECT:
            threshold = self.min_effect_ns
        selected_interval = interval(Estimate(selected.ns * hit.sign, selected.error_ns), threshold)
        if phase is None:
            effect, phase_effect = selected_interval, None
        else:
            # The bias of the phase is part of the total's.
            bias = selected.ns * hit.sign - selected_interval.ns
            effect = interval(Estimate(total.ns * hit.sign - bias, total.error_ns))
            phase_effect = selected_interval
        if hit.sign < 0:
            effect, phase_effect = _negative(effect), None if phase_effect is None else _negative(phase_effect)
        mask, known = hit.group.run_mask(self.sample), hit.group.known_runs(self.sample)
        inside, outside = self.is_slow[mask & known], self.is_slow[~mask & known]
        return Factor(hit, effect, phase_effect, float(inside.mean()) if len(inside) else 0.0, float(outside.mean()) if len(outside) else 0.0)

    def more_computers(self, hit: Hit) -> int:
        """Returns about how many more computers of a group would make its difference significant."""
        required = z_of_log_tail(math.log(CHANCE) - self._log_price(hit.family, hit.signal.level))
        computers = hit.group.counts(self.sample)[1]
        return max(1, MIN_COMPUTERS - computers, math.ceil(computers * ((required / hit.z) ** 2 - 1)))


def _negative(value: Interval) -> Interval:
    return Interval(-value.ns, -value.high_ns, -value.low_ns)


def min_effect_ns(durations_ns: Any) -> float:
    """Returns the minimum relevant difference for runs of this duration."""
    import numpy

    return max(float(MIN_EFFECT_NS), MIN_EFFECT_SHARE * float(numpy.median(durations_ns))) if len(durations_ns) else float(MIN_EFFECT_NS)


def date_groups(sample: Sample) -> Iterator[Group]:
    """Yields the runs since each of some dates, and a steady change over the whole period."""
    import numpy

    known = numpy.isfinite(sample.days)
    if sample.stamps is None or known.sum() < 2 * MIN_RUNS:
        return
    order = numpy.argsort(numpy.where(known, sample.days, numpy.inf), kind="stable")[: int(known.sum())]
    last = len(order) - MIN_RUNS
    for position in sorted({int(value) for value in numpy.linspace(MIN_RUNS, last, DATES).round()}):
        group = since(sample, order[position])
        if group is not None:
            yield group
    days = sample.days[order]
    if known.all() and days[-1] > days[0]:
        part = Part("steadily from", f"{sample.stamps[order[0]]} to", str(sample.stamps[order[-1]]), True)
        values = (sample.days - days[0]) / (days[-1] - days[0])
        yield Group((part,), sample.sums(values) / sample.runs_of_computer, None, values)


def since(sample: Sample, run: int) -> Optional[Group]:
    """Returns the runs since a run; ``None`` if one side is too small."""
    import numpy

    with numpy.errstate(invalid="ignore"):
        mask = sample.days >= sample.days[run]
    group = group_of_mask((Part("since", "", str(sample.stamps[run]), True),), mask, sample)
    unknown = sample.sums((~numpy.isfinite(sample.days)).astype(float)) > 0
    group.share = numpy.where(unknown, numpy.nan, group.share)
    return group if group.is_large_enough(sample) else None


def paired_differences(sample: Sample, group: Group, by_run: Any) -> Any:
    """Returns the mean of each computer's runs in the group minus the mean of its other runs, without outliers."""
    import numpy

    mask = group.run_mask(sample)
    known = numpy.isfinite(by_run)
    counts = [sample.sums((known & side).astype(float)) for side in (mask, ~mask)]

    def differences(values: Any) -> Any:
        with numpy.errstate(divide="ignore", invalid="ignore"):
            means = [sample.sums(numpy.where(known & side, values, 0.0)) / count for side, count in zip((mask, ~mask), counts)]
        return means[0] - means[1]

    first = differences(by_run)
    first = first[numpy.isfinite(first)]
    return differences(_without_outliers(sample, by_run, mask * (float(numpy.median(first)) if len(first) else 0.0)))


def slope_estimate(sample: Sample, x: Any, by_run: Any) -> Estimate:
    """Estimates the change of a value while ``x`` goes from 0 to 1, within computers if they have several runs, with a
    standard error that allows for computers with different slopes."""
    import numpy

    estimate = Estimate(0.0, math.inf)
    for _ in range(_SLOPE_STEPS):
        # Outliers are better known without the change over time.
        estimate = _slope(sample, x, _without_outliers(sample, by_run, x * estimate.ns))
        if not math.isfinite(estimate.ns):
            break
    return estimate


def _slope(sample: Sample, x: Any, values: Any) -> Estimate:
    import numpy

    known = numpy.isfinite(values)
    is_repeated = sample.runs_of_computer >= 2
    if is_repeated.sum() < MIN_COMPUTERS:
        centered = x - x[known].mean()
        residuals = values - numpy.nanmedian(values)
        limit = 4 * _deviation(residuals[known])
        residuals = numpy.clip(residuals, -limit, limit)
        groups, codes = len(values), numpy.arange(len(values))
    else:
        known = known & is_repeated[sample.computer]
        counts = numpy.bincount(sample.computer, weights=known, minlength=sample.computers)
        means = [sample.sums(numpy.where(known, column, 0.0)) / numpy.maximum(counts, 1) for column in (x, values)]
        centered, residuals = x - means[0][sample.computer], values - means[1][sample.computer]
        groups, codes = sample.computers, sample.computer
    centered, residuals = numpy.where(known, centered, 0.0), numpy.where(known, residuals, 0.0)
    spread = float(centered @ centered)
    if spread <= 0:
        return Estimate(math.nan, math.inf)
    slope = float(centered @ residuals) / spread
    by_group = numpy.bincount(codes, weights=centered * (residuals - slope * centered), minlength=groups)
    return Estimate(slope, math.sqrt(float(by_group @ by_group)) / spread)


def _without_outliers(sample: Sample, by_run: Any, effect: Any = 0.0) -> Any:
    """Limits each run to four typical deviations from the median of its computer, both without a known effect, whose
    size must not be limited."""
    import numpy

    by_run = by_run - effect
    medians = sample.medians(by_run)[sample.computer]
    residuals = by_run - medians
    repeated = numpy.isfinite(residuals) & (sample.runs_of_computer[sample.computer] >= 2)
    if not repeated.any():
        return by_run + effect
    limit = 4 * _deviation(residuals[repeated])
    return effect + numpy.where(repeated, medians + numpy.clip(residuals, -limit, limit), by_run)


def _values(group: Group, sample: Sample) -> Any:
    """Returns the membership of each run as a number."""
    return group.values if group.values is not None else group.run_mask(sample).astype(float)


def _within_sides(values: Any, group: Group) -> Any:
    """Returns the ranks of values within a group and outside it."""
    inside = group.share > 0.5
    result = values.copy()
    for side in (inside, ~inside):
        result[side] = ranks(values[side])
    return result


def _deviation(values: Any) -> float:
    """Returns a standard deviation that ignores outliers (scaled median absolute deviation)."""
    import numpy

    values = values[numpy.isfinite(values)]
    if not len(values):
        return 0.0
    robust = 1.4826 * float(numpy.median(numpy.abs(values - numpy.median(values))))
    return robust or float(values.std())


def _can_pair(group: Group) -> bool:
    part = group.parts[0]
    return part.relation in ("=", "is present") and part.name != "since"


def _pair(first: Group, second: Group, sample: Sample) -> Optional[Group]:
    """Returns the runs of both groups; ``None`` if they are too few, or the same as in one group."""
    import numpy

    if first.parts[0].name == second.parts[0].name:
        return None
    known = numpy.isfinite(first.share) & numpy.isfinite(second.share)
    if first.varies or second.varies:
        mask = first.run_mask(sample) & second.run_mask(sample)
        group = group_of_mask(first.parts + second.parts, mask, sample)
    else:
        group = Group(first.parts + second.parts, numpy.where(known, first.share * second.share, 0.0))
    group.share = numpy.where(known, group.share, numpy.nan)
    group.parents = (first, second)
    group.mask = None
    runs = group.counts(sample)[0]
    if not group.is_large_enough(sample) or runs in (first.counts(sample)[0], second.counts(sample)[0]):
        return None
    return group


def _count_pairs(singles: list[Group], sample: Sample) -> int:
    """Returns the number of pairs with enough computers, whether or not their parts are slower."""
    import numpy

    partners = [group for group in singles if _can_pair(group)]
    if not partners:
        return 0
    shares = numpy.array([group.share > 0 for group in partners], dtype="float32")
    is_attribute = numpy.array([group.parts[0].is_attribute for group in partners])
    names = numpy.array([group.parts[0].name for group in partners], dtype=object)
    counts = shares @ shares.T
    is_pair = (counts >= MIN_COMPUTERS) & (names[:, None] != names[None, :]) & (is_attribute[:, None] | is_attribute[None, :])
    return int(numpy.triu(is_pair, 1).sum())
