"""Rank statistics with exact tails, and intervals that account for selection. NumPy only."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

_MAX_PAIRED = 400
"""Maximum number of values per side used for pairwise differences, evenly spread over the sorted values."""
_Z_95 = 1.959964
_MAX_STEPS = 60
_SADDLEPOINT_Z = 3.0
"""The normal approximation is used below this ``z``."""


class Estimate(NamedTuple):
    """An estimated difference with its standard error, in ns."""

    ns: float
    error_ns: float


class Interval(NamedTuple):
    """A difference with its 95 % confidence interval."""

    ns: int
    low_ns: int
    high_ns: int


def log_tail(z: float) -> float:
    """Returns the logarithm of the upper tail probability of the normal distribution."""
    if z < 30:
        return math.log(math.erfc(z / math.sqrt(2)) / 2)
    return -z * z / 2 - math.log(z * math.sqrt(2 * math.pi))


def z_of_log_tail(log_p: float) -> float:
    """Returns the ``z`` with this logarithm of the upper tail probability.

    >>> round(z_of_log_tail(log_tail(5.0)), 6)
    5.0
    """
    low, high = -8.0, 1e4
    for _ in range(_MAX_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if log_tail(middle) > log_p else (low, middle)
    return high


def ranks(values: Any) -> Any:
    """Returns average ranks, scaled to the interval from -0.5 to 0.5. An unknown value has the rank 0."""
    import numpy

    known = numpy.isfinite(values)
    result = numpy.zeros(len(values))
    if known.sum() > 1:
        _, inverse, counts = numpy.unique(values[known], return_inverse=True, return_counts=True)
        result[known] = (numpy.cumsum(counts) - (counts + 1) / 2)[inverse] / (known.sum() - 1) - 0.5
    return result


def log_p_of_sum(scores: Any, is_in: Any, z: float) -> float:
    """Returns the logarithm of the probability that a random group of this size has this sum of scores or a larger one.

    Above ``z`` of 3, uses the double saddlepoint approximation (Skovgaard 1987), which is accurate for few computers
    and for scores with many ties, where the normal approximation is off by orders of magnitude.
    """
    import numpy

    size, total = int(is_in.sum()), len(scores)
    if z < _SADDLEPOINT_Z or size == 0 or size == total:
        return log_tail(z)
    values, counts = numpy.unique(scores, return_counts=True)
    weights = counts.astype(float)
    scale = float(values[-1] - values[0]) or 1.0
    values = (values - values[0]) / scale
    target = float(((scores[is_in] - scores.min()) / scale).sum())
    # The largest possible sum: its probability is a ratio of binomial coefficients.
    remaining, largest, log_count = size, 0.0, 0.0
    for value, count in zip(values[::-1], counts[::-1]):
        taken = min(remaining, int(count))
        largest += taken * float(value)
        log_count += _log_choose(int(count), taken)
        remaining -= taken
        if remaining == 0:
            break
    log_largest = log_count - _log_choose(total, size)
    if target >= largest - 1e-9 * max(1.0, largest):
        return log_largest
    # Solve for the tilt (t, u) at which the expected sum and the expected size are the observed ones.
    start = math.log(size / (total - size))
    t, u = 0.0, start
    for _ in range(_MAX_STEPS):
        chance = 1 / (1 + numpy.exp(-numpy.clip(t * values + u, -500, 500)))
        variance = weights * chance * (1 - chance)
        gap_sum, gap_size = target - float((weights * chance) @ values), size - float((weights * chance).sum())
        tt, tu, uu = float(variance @ values**2), float(variance @ values), float(variance.sum())
        determinant = tt * uu - tu * tu
        if determinant <= 1e-12:
            break
        step_t, step_u = (uu * gap_sum - tu * gap_size) / determinant, (tt * gap_size - tu * gap_sum) / determinant
        shorten = min(1.0, 5.0 / max(abs(step_t), abs(step_u), 1e-300))
        t, u = t + shorten * step_t, u + shorten * step_u
        if abs(step_t) + abs(step_u) < 1e-8:
            break
    exponent = numpy.clip(t * values + u, -500, 500)
    log_sum = float(weights @ numpy.logaddexp(0.0, exponent))
    chance = 1 / (1 + numpy.exp(-exponent))
    variance = weights * chance * (1 - chance)
    determinant = float(variance @ values**2) * float(variance.sum()) - float(variance @ values) ** 2
    excess = (total * math.log1p(math.exp(start)) - start * size) - (log_sum - t * target - u * size)
    if not (t > 0 and determinant > 0 and excess > 0):
        return max(log_tail(z), log_largest)
    w = math.sqrt(2 * excess)
    v = t * math.sqrt(determinant / (size * (total - size) / total))
    # The Lugannani-Rice formula as a modified likelihood root, which is always a probability. It omits up to three
    # quarters of the probability if most scores are tied.
    ties = math.log(4) if counts.max() > total / 4 else 0.0
    return max(log_tail(w + math.log(v / w) / w) + ties, log_largest)


def _log_choose(total: int, size: int) -> float:
    return math.lgamma(total + 1) - math.lgamma(size + 1) - math.lgamma(total - size + 1)


def shift_between(first: Any, second: Any) -> Estimate:
    """Estimates how much larger the first group is: the median of the pairwise differences (Hodges-Lehmann), with the
    standard error that corresponds to the 95 % interval of the rank test."""
    import numpy

    first, second = first[numpy.isfinite(first)], second[numpy.isfinite(second)]
    sizes = len(first), len(second)
    if min(sizes) < 2:
        return Estimate(math.nan, math.inf)
    share = math.sqrt((sizes[0] + sizes[1] + 1) / (12 * sizes[0] * sizes[1]))
    differences = numpy.sort((_spread(first)[:, None] - _spread(second)[None, :]).ravel())
    ns, low, high = numpy.quantile(differences, (0.5, max(0.0, 0.5 - _Z_95 * share), min(1.0, 0.5 + _Z_95 * share)))
    return Estimate(float(ns), float(high - low) / (2 * _Z_95) * _small_sample(min(sizes)))


def shift_of(differences: Any) -> Estimate:
    """Estimates the typical value of paired differences: the median of their pairwise means, with its
    standard error."""
    import numpy

    values = _spread(differences[numpy.isfinite(differences)])
    count = int(numpy.isfinite(differences).sum())
    if count < 2:
        return Estimate(math.nan, math.inf)
    means = numpy.sort(((values[:, None] + values[None, :]) / 2)[numpy.triu_indices(len(values))])
    share = math.sqrt((2 * count + 1) / (6 * count * (count + 1)))
    ns, low, high = numpy.quantile(means, (0.5, max(0.0, 0.5 - _Z_95 * share), min(1.0, 0.5 + _Z_95 * share)))
    return Estimate(float(ns), float(high - low) / (2 * _Z_95) * _small_sample(count))


def mean_between(first: Any, second: Any) -> Estimate:
    """Estimates the difference of means with its standard error."""
    ns = float(first.mean() - second.mean())
    return Estimate(ns, math.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)) * _small_sample(min(len(first), len(second))))


def combine(estimates: list[Estimate]) -> Estimate:
    """Combines independent estimates, weighted by their accuracy."""
    known = [estimate for estimate in estimates if math.isfinite(estimate.ns) and 0 < estimate.error_ns < math.inf]
    if not known:
        return next((estimate for estimate in estimates if math.isfinite(estimate.ns)), Estimate(math.nan, math.inf))
    weights = [1 / estimate.error_ns**2 for estimate in known]
    return Estimate(sum(weight * estimate.ns for weight, estimate in zip(weights, known)) / sum(weights), math.sqrt(1 / sum(weights)))


def _small_sample(count: int) -> float:
    """Returns the ratio of Student's 97.5 % quantile to the normal one (Cornish-Fisher)."""
    freedom = max(2, count - 1)
    return 1 + (_Z_95**2 + 1) / (4 * freedom) + (5 * _Z_95**4 + 16 * _Z_95**2 + 3) / (96 * freedom**2)


def _spread(values: Any) -> Any:
    import numpy

    if len(values) <= _MAX_PAIRED:
        return values
    return numpy.sort(values)[numpy.linspace(0, len(values) - 1, _MAX_PAIRED).round().astype(int)]


def interval(estimate: Estimate, threshold_ns: float = -math.inf) -> Interval:
    """Returns the interval of a difference that was reported because its estimate is at least ``threshold_ns``.

    Selection biases the difference upward, so the probability of the estimate is conditioned on the selection. The
    result is median-unbiased.

    >>> interval(Estimate(10.0, 1.0))
    Interval(ns=10, low_ns=8, high_ns=12)
    >>> interval(Estimate(10.0, 4.0), 9.0).low_ns
    0
    """
    if not math.isfinite(estimate.ns):
        return Interval(0, 0, 0)
    if not 0 < estimate.error_ns < math.inf:
        return Interval(round(estimate.ns), round(estimate.ns), round(estimate.ns))
    return Interval(*(round(_conditional(estimate, threshold_ns, probability)) for probability in (0.5, 0.025, 0.975)))


def _conditional(estimate: Estimate, threshold_ns: float, probability: float) -> float:
    """Returns the true difference at which the estimate or a larger one has this probability after the selection."""
    if threshold_ns == -math.inf:
        return estimate.ns - estimate.error_ns * z_of_log_tail(math.log(probability))
    # A selected difference is at least 0.
    low, high = 0.0, max(0.0, estimate.ns) + 6 * estimate.error_ns
    for _ in range(_MAX_STEPS):
        middle = (low + high) / 2
        selected = log_tail((threshold_ns - middle) / estimate.error_ns)
        if log_tail((estimate.ns - middle) / estimate.error_ns) - selected < math.log(probability):
            low = middle
        else:
            high = middle
    return high
