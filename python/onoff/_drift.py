"""Finds when a transition became slower or faster."""

from __future__ import annotations

from typing import Any

from ._factors import Search
from ._sample import Sample


def changes(sample: Sample) -> list[dict[str, Any]]:
    """Returns the changes in order of time, each with the dates between which it happened, and its size."""
    import numpy

    if not len(sample) or sample.stamps is None:
        return []
    rows = []
    order = numpy.argsort(numpy.where(numpy.isfinite(sample.days), sample.days, numpy.inf), kind="stable")
    for factor in Search(sample, (), is_drift=True).run():
        group = factor.hit.group
        known = order[numpy.isfinite(sample.days[order])]
        if group.values is not None:
            before, after, runs_before, runs_after = known[0], known[-1], len(known), len(known)
        else:
            is_after = group.run_mask(sample)[known]
            before, after = known[~is_after][-1], known[is_after][0]
            runs_before, runs_after = int((~is_after).sum()), int(is_after.sum())
        rows.append(
            {
                "kind": "step" if group.values is None else "slope",
                "last_before_utc": sample.stamps[before],
                "first_after_utc": sample.stamps[after],
                "phase": factor.hit.signal.phase,
                "effect_ns": factor.effect.ns,
                "low_ns": factor.effect.low_ns,
                "high_ns": factor.effect.high_ns,
                "runs_before": runs_before,
                "runs_after": runs_after,
            }
        )
    return sorted(rows, key=lambda row: (row["first_after_utc"], row["kind"]))
