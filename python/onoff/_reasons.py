"""Compares single runs with the usual run of their computer, and recent runs of a fleet with earlier ones."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

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


class _Others(NamedTuple):
    """A run, and the runs that it is compared with."""

    run: int
    computer: str
    recorded_utc: Optional[str]
    duration_ns: int
    others: list[int]
    usual_ns: int
    compared_with: str


def _others(database: Any, table: data.RunTable, run: int) -> Optional[_Others]:
    """Chooses other runs of the same computer, or of its model, or of the fleet; ``None`` if there are none."""
    [(code, computer, model, recorded_utc, duration_ns)] = database.execute(
        f"SELECT code, computer, model, recorded_utc, duration_ns FROM {table.name} WHERE run = ?", [run]
    ).fetchall()
    others: list[tuple[int, int]] = []
    compared_with = "nothing"
    for condition, value, name in (
        ("code = $value", code, computer or "the same computer"),
        ("model = $value AND model <> ''", model or "", f"model {model}"),
        ("$value = $value", 0, "the fleet"),
    ):
        others = database.execute(
            f"SELECT run, duration_ns FROM {table.name} WHERE {condition} AND run <> $run ORDER BY abs(run - $run), run LIMIT {_MAX_OTHER_RUNS}",
            {"value": value, "run": run},
        ).fetchall()
        compared_with = f"{len(others)} other run{'s' if len(others) != 1 else ''} of {name}"
        if len(others) >= _MIN_OTHER_RUNS:
            break
    if not others:
        return None
    usual_ns = int(statistics.median(ns for _, ns in others))
    return _Others(run, computer or "", recorded_utc, duration_ns, [other for other, _ in others], usual_ns, compared_with)


_Times = dict[int, dict[tuple[str, str], int]]
"""Time by run, phase and subject."""


def _times(database: Any, table: data.RunTable, chosen: list[_Others]) -> tuple[_Times, _Times]:
    """Returns the times of runs and of those they are compared with: from the account, and from the phases for runs
    without an account. Reads each table once, whatever the number of runs."""
    tables = data.views(database)

    def read(query: str, runs: list[int]) -> _Times:
        times: _Times = {}
        selected = f"SELECT run, recording, number_of_kind FROM {table.name} WHERE run IN {_list(runs)}"
        for run, phase, subject, ns in database.execute(query.format(selected=selected), {"transition": table.transition}).fetchall():
            times.setdefault(run, {})[phase, subject] = int(ns)
        return times

    by_account: _Times = {}
    by_phase: _Times = {}
    if "account" in tables and chosen:
        runs = sorted({run for row in chosen for run in (row.run, *row.others)})
        query = "SELECT run, phase, subject, sum(ns) FROM account JOIN ({selected}) USING (recording) WHERE transition = $transition GROUP BY ALL"
        by_account = read(query, runs)
    without = [row for row in chosen if row.run not in by_account]
    if "phases" in tables and without:
        runs = sorted({run for row in without for run in (row.run, *row.others)})
        query = """SELECT run, phase, '', sum(duration_ns) FROM phases AS p JOIN ({selected}) AS r ON r.recording = p.recording AND r.number_of_kind = p.number
                   WHERE transition = $transition AND duration_ns IS NOT NULL GROUP BY ALL"""
        by_phase = read(query, runs)
    return by_account, by_phase


def _entries(chosen: _Others, by_account: _Times, by_phase: _Times) -> Records[ComparedTime]:
    """Returns the time of each phase and subject in a run and usually, largest increase first. Subjects come from the
    account; the time of a phase that they do not explain has no subject."""
    has_account = chosen.run in by_account
    times = by_account if has_account else by_phase
    own = times.get(chosen.run, {})
    usual: dict[tuple[str, str], list[int]] = {}
    for other in chosen.others:
        for key, ns in times.get(other, {}).items():
            usual.setdefault(key, []).append(ns)
    count = sum(other in by_account for other in chosen.others) if has_account else len(chosen.others)
    entries: list[dict[str, Any]] = []
    for phase, subject in {**own, **usual}:
        ns, values = own.get((phase, subject), 0), usual.get((phase, subject), [])
        # A run without an entry had 0 ns of it.
        usual_ns = int(statistics.median([*values, *([0] * max(0, count - len(values)))])) if count else 0
        entries.append({"phase": phase, "subject": subject, "ns": ns, "usual_ns": usual_ns, "more_ns": ns - usual_ns})
    entries.sort(key=lambda entry: (-entry["more_ns"], entry["phase"], entry["subject"]))
    return Records(ComparedTime(entry) for entry in entries)


def compare(database: Any, table: data.RunTable, run: int) -> Comparison:
    """Compares a run with the median of other runs of the same computer, or of its model, or of the fleet."""
    from ._fleet import Comparison

    chosen = _others(database, table, run)
    if chosen is None:
        raise NothingToAnswer(f"the fleet has only one {table.transition}")
    entries = _entries(chosen, *_times(database, table, [chosen]))
    return Comparison(chosen.computer, chosen.recorded_utc, chosen.duration_ns, chosen.usual_ns, chosen.compared_with, entries)


def reasons(database: Any, table: data.RunTable, runs: list[int]) -> list[dict[str, Any]]:
    """Returns what took longer than usual in each run, as text and as a number; empty if nothing did."""
    chosen = [_others(database, table, run) for run in runs]
    times = _times(database, table, [row for row in chosen if row is not None])
    result: list[dict[str, Any]] = []
    for row in chosen:
        largest = None if row is None else next(iter(_entries(row, *times)), None)
        answer = {"usual_ns": None if row is None else row.usual_ns, "reason": "", "reason_ns": None}
        if largest is not None and largest.more_ns >= MIN_EFFECT_NS:
            subject = f"{largest.subject} in " if largest.subject else ""
            answer.update(reason=f"{subject}{largest.phase}: {seconds(largest.more_ns)} more than usual", reason_ns=largest.more_ns)
        result.append(answer)
    return result


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
    columns = ("computer", "recorded_utc", "path", "duration_ns")
    slow_rows = {
        row[0]: dict(zip(columns, row[1:]))
        for row in database.execute(f"SELECT run, {', '.join(columns)} FROM {table.name} WHERE run IN {_list([-1, *slow.tolist()])}").fetchall()
    }
    slow_runs = [SlowRun({**slow_rows[run], **reason}) for run, reason in zip(slow.tolist(), reasons(database, table, slow.tolist()))]
    tables = data.views(database)
    # Runs are numbered in order of time, and those without a time are last.
    sides = f"SELECT recording, code, run >= {first_new} AS is_new FROM {table.name} WHERE run <= {int(new_runs.max())}"
    new_subjects, new_versions = [], []
    # Find what is new first: to count the computers of everything needs several times the memory.
    if "account" in tables and old.any():
        of_transition = "transition = $transition AND kind NOT IN ('idle', 'unknown')"
        rows = database.execute(
            f"""WITH sides AS ({sides}),
                     found AS (SELECT phase, subject FROM account JOIN sides USING (recording) WHERE {of_transition}
                               GROUP BY phase, subject HAVING bool_and(is_new) AND max(ns) >= {MIN_EFFECT_NS})
                SELECT phase, subject, count(DISTINCT recording) AS runs, count(DISTINCT code) AS computers, CAST(avg(ns) AS BIGINT) AS mean_ns
                FROM account JOIN found USING (phase, subject) JOIN sides USING (recording) WHERE {of_transition}
                GROUP BY phase, subject ORDER BY mean_ns * runs DESC, phase, subject LIMIT {_MAX_ROWS}""",
            {"transition": table.transition},
        ).fetchall()
        new_subjects = [NewSubject(dict(zip(("phase", "subject", "runs", "computers", "mean_ns"), row))) for row in rows]
    if "versions" in tables and old.any():
        rows = database.execute(
            f"""WITH sides AS ({sides}),
                     found AS (SELECT module, version FROM versions JOIN sides USING (recording) GROUP BY module, version HAVING bool_and(is_new))
                SELECT module, version, count(DISTINCT recording) AS runs, count(DISTINCT code) AS computers
                FROM versions JOIN found USING (module, version) JOIN sides USING (recording)
                GROUP BY module, version ORDER BY computers DESC, module, version LIMIT {_MAX_ROWS}"""
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
