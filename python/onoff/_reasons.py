"""Compares single runs with the usual run of their computer, and recent runs of a fleet with earlier ones."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from . import _fleet_data as data
from ._answers import Records, seconds
from ._errors import NothingToAnswer
from ._factors import MIN_EFFECT_NS, SLOW_SHARE, paired_differences
from ._rows import ComparedTime, FleetDifference, NewSubject, NewVersion, SlowRun
from ._sample import MIN_COMPUTERS, Sample, group_of_mask
from ._statistics import interval, shift_of

if TYPE_CHECKING:
    from ._fleet import Comparison, Watch

_MIN_OTHER_RUNS = 2
"""Minimum number of other runs of a computer for a usual run."""
_MAX_OTHER_RUNS = 100
"""Maximum number of other runs, those nearest in time."""
_MAX_ROWS = 20
"""Maximum number of rows of each kind in ``watch``."""


def compare(database: Any, table: data.RunTable, run: int) -> Comparison:
    """Compares a run with the median of other runs of the same computer, or of its model, or of the fleet."""
    from ._fleet import Comparison

    [(code, computer, model, recorded_utc, duration_ns)] = database.execute(
        f"SELECT code, computer, model, recorded_utc, duration_ns FROM {table.name} WHERE run = ?", [run]
    ).fetchall()
    others: list[int] = []
    compared_with = "nothing"
    for condition, value, name in (
        ("code = $value", code, computer or "the same computer"),
        ("model = $value AND model <> ''", model or "", f"model {model}"),
        ("$value = $value", 0, "the fleet"),
    ):
        rows = database.execute(
            f"SELECT run FROM {table.name} WHERE {condition} AND run <> $run ORDER BY abs(run - $run), run LIMIT {_MAX_OTHER_RUNS}",
            {"value": value, "run": run},
        ).fetchall()
        others = [other for (other,) in rows]
        compared_with = f"{len(others)} other run{'s' if len(others) != 1 else ''} of {name}"
        if len(others) >= _MIN_OTHER_RUNS:
            break
    if not others:
        raise NothingToAnswer(f"the fleet has only one {table.transition}")
    usual_ns = int(statistics.median(ns for (ns,) in database.execute(f"SELECT duration_ns FROM {table.name} WHERE run IN {_list(others)}").fetchall()))
    entries = _entries(database, table, run, others)
    return Comparison(computer or "", recorded_utc, duration_ns, usual_ns, compared_with, entries)


def _entries(database: Any, table: data.RunTable, run: int, others: list[int]) -> Records[ComparedTime]:
    """Returns the time of each phase and subject in a run and usually, largest increase first. Subjects come from the
    account; the time of a phase that they do not explain has no subject."""
    tables = data.views(database)
    chosen = f"SELECT run, recording, number_of_kind FROM {table.name} WHERE run IN {_list([run, *others])}"
    own: dict[tuple[str, str], int] = {}
    usual: dict[tuple[str, str], list[int]] = {}
    with_account: set[int] = set()

    def add(rows: list[tuple[int, str, str, int]]) -> None:
        for row_run, phase, subject, ns in rows:
            if row_run == run:
                own[phase, subject] = own.get((phase, subject), 0) + int(ns)
            else:
                usual.setdefault((phase, subject), []).append(int(ns))

    if "account" in tables:
        rows = database.execute(
            f"SELECT run, phase, subject, sum(ns) FROM account JOIN ({chosen}) USING (recording) WHERE transition = $transition GROUP BY ALL",
            {"transition": table.transition},
        ).fetchall()
        with_account = {row[0] for row in rows}
        if run in with_account:
            add(rows)
    if run not in with_account and "phases" in tables:
        with_account = {run, *others}
        add(
            database.execute(
                f"""SELECT run, phase, '', sum(duration_ns) FROM phases AS p JOIN ({chosen}) AS r ON r.recording = p.recording AND r.number_of_kind = p.number
                    WHERE transition = $transition AND duration_ns IS NOT NULL GROUP BY ALL""",
                {"transition": table.transition},
            ).fetchall()
        )
    count = len(with_account & set(others))
    entries: list[dict[str, Any]] = []
    for phase, subject in {**own, **usual}:
        ns, values = own.get((phase, subject), 0), usual.get((phase, subject), [])
        # A run without an entry had 0 ns of it.
        usual_ns = int(statistics.median([*values, *([0] * max(0, count - len(values)))])) if count else 0
        entries.append({"phase": phase, "subject": subject, "ns": ns, "usual_ns": usual_ns, "more_ns": ns - usual_ns})
    entries.sort(key=lambda entry: (-entry["more_ns"], entry["phase"], entry["subject"]))
    return Records(ComparedTime(entry) for entry in entries)


def reason(database: Any, table: data.RunTable, run: int) -> dict[str, Any]:
    """Returns what took longer than usual in a run, as text and as a number; empty if nothing did."""
    try:
        comparison = compare(database, table, run)
    except NothingToAnswer:
        return {"usual_ns": None, "reason": "", "reason_ns": None}
    largest = next(iter(comparison.entries), None)
    if largest is None or largest.more_ns < MIN_EFFECT_NS:
        return {"usual_ns": comparison.usual_ns, "reason": "", "reason_ns": None}
    text = f"{largest.subject + ' in ' if largest.subject else ''}{largest.phase}: {seconds(largest.more_ns)} more than usual"
    return {"usual_ns": comparison.usual_ns, "reason": text, "reason_ns": largest.more_ns}


def is_since(sample: Sample, date: str) -> tuple[Any, Any]:
    """Returns which runs are at or after a date, and which have a known date."""
    import numpy

    day = numpy.datetime64(date.rstrip("Z")[:26], "us").astype("int64") / 86400e6
    known = numpy.isfinite(sample.days)
    return known & (numpy.where(known, sample.days, -numpy.inf) >= day), known


def watch(database: Any, table: data.RunTable, sample: Sample, date: str) -> Watch:
    """Returns what is new since a date."""
    import numpy

    from ._fleet import Watch

    is_new, known = is_since(sample, date)
    if not is_new.any():
        raise NothingToAnswer(f"no {table.transition} since {date}")
    new_runs = numpy.flatnonzero(is_new)
    old = known & ~is_new
    first_new = int(new_runs.min())
    new_codes, old_codes = set(sample.computer[is_new].tolist()), set(sample.computer[old].tolist())
    names = dict(database.execute(f"SELECT code, any_value(coalesce(nullif(computer, ''), path)) FROM {table.name} GROUP BY code").fetchall())
    difference: dict[str, Any] = {"computers": len(new_codes & old_codes), "effect_ns": None, "low_ns": None, "high_ns": None}
    if difference["computers"] >= MIN_COMPUTERS:
        both = numpy.isin(sample.computer, sorted(new_codes & old_codes)) & known
        _, codes = numpy.unique(sample.computer[both], return_inverse=True)
        part = Sample(codes, sample.total_ns[both])
        size = interval(shift_of(paired_differences(part, group_of_mask((), is_new[both], part), part.total_ns)))
        difference.update(effect_ns=size.ns, low_ns=size.low_ns, high_ns=size.high_ns)
    else:
        difference["computers"] = 0
    # The usual duration of a computer is the median of its earlier runs, or else of all.
    usual = sample.medians(numpy.where(old, sample.total_ns, numpy.nan))
    usual = numpy.where(numpy.isfinite(usual), usual, sample.medians(sample.total_ns))[sample.computer]
    ratio = sample.total_ns / numpy.maximum(usual, 1.0)
    slow = new_runs[(ratio[new_runs] > 1 + SLOW_SHARE) & (sample.total_ns[new_runs] - usual[new_runs] > MIN_EFFECT_NS)]
    slow = slow[numpy.argsort(-sample.total_ns[slow], kind="stable")][:_MAX_ROWS]
    slow_runs = []
    for run in slow.tolist():
        [row] = database.execute(f"SELECT computer, recorded_utc, path, duration_ns FROM {table.name} WHERE run = ?", [run]).fetchall()
        slow_runs.append(SlowRun({**dict(zip(("computer", "recorded_utc", "path", "duration_ns"), row)), **reason(database, table, run)}))
    tables = data.views(database)
    # Runs are numbered in order of time, and those without a time are last.
    sides = f"SELECT recording, code, run >= {first_new} AS is_new FROM {table.name} WHERE run <= {int(new_runs.max())}"
    new_subjects, new_versions = [], []
    if "account" in tables and old.any():
        rows = database.execute(
            f"""SELECT phase, subject, count(DISTINCT recording) AS runs, count(DISTINCT code) AS computers, CAST(avg(ns) AS BIGINT) AS mean_ns
                FROM account JOIN ({sides}) USING (recording) WHERE transition = $transition AND kind NOT IN ('idle', 'unknown')
                GROUP BY phase, subject HAVING bool_and(is_new) AND max(ns) >= {MIN_EFFECT_NS} ORDER BY mean_ns * runs DESC, phase, subject LIMIT {_MAX_ROWS}""",
            {"transition": table.transition},
        ).fetchall()
        new_subjects = [NewSubject(dict(zip(("phase", "subject", "runs", "computers", "mean_ns"), row))) for row in rows]
    if "versions" in tables and old.any():
        rows = database.execute(
            f"""SELECT module, version, count(DISTINCT recording) AS runs, count(DISTINCT code) AS computers FROM versions JOIN ({sides}) USING (recording)
                GROUP BY module, version HAVING bool_and(is_new) ORDER BY computers DESC, module, version LIMIT {_MAX_ROWS}"""
        ).fetchall()
        new_versions = [NewVersion(dict(zip(("module", "version", "runs", "computers"), row))) for row in rows]
    return Watch(
        date,
        len(new_runs),
        len(new_codes),
        tuple(sorted(str(names[code]) for code in new_codes - old_codes)),
        FleetDifference(difference),
        Records(slow_runs),
        Records(new_subjects),
        Records(new_versions),
    )


def _list(numbers: list[int]) -> str:
    return "(" + ", ".join(str(int(value)) for value in numbers) + ")"
