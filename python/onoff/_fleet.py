"""Fleet statistics: percentiles, slowest runs, factors of slow runs, changes over time, and a gate for two cohorts."""

from __future__ import annotations

import datetime
import html
import math
import os
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional, Union

from . import _fleet_data as data
from ._answers import Records, seconds
from ._errors import NothingToAnswer, UsageError
from ._factors import MIN_EFFECT_NS, MIN_EFFECT_SHARE, Factor, Hit, Search, paired_differences
from ._fleet_data import ATTRIBUTES
from ._recording import Path
from ._rows import ComparedTime, FleetChange, FleetDifference, FleetFactor, FleetPhase, FleetVerdict, NewSubject, NewVersion, SlowRun, UndecidedFactor
from ._sample import MIN_COMPUTERS, MIN_RUNS, Group, Sample, group_of_mask, number, version_key
from ._statistics import Estimate, Interval, combine, interval, shift_between, shift_of

_MAX_UNDECIDED = 3
"""Maximum number of groups named as undecided."""


class Fleet:
    """A fleet of computers, from the tables of ``onoff.summaries``."""

    def __init__(self, runs: Union[Path, Mapping[str, Any]], tags: Any = None) -> None:
        self.folder = "tables" if isinstance(runs, Mapping) else os.fspath(runs)
        self._database = data.connect(runs if isinstance(runs, Mapping) else self.folder)
        self.tags: Optional[data.Tags] = None
        if tags is not None:
            self.tags = data.read_tags(self._database, tags)
        self.attributes: tuple[str, ...] = (*ATTRIBUTES, *(self.tags.names if self.tags else ()))
        self._run_tables: dict[str, data.RunTable] = {}
        self._samples: dict[str, Sample] = {}

    @property
    def transitions(self) -> tuple[str, ...]:
        """Kinds of transitions in the fleet, most frequent first."""
        rows = self._database.execute("SELECT transition FROM transitions GROUP BY 1 ORDER BY count(*) DESC, 1").fetchall()
        return tuple(name for (name,) in rows)

    def _table(self, transition: str) -> data.RunTable:
        """Returns the runs of a transition as a table; raises an error for a name that no transition has."""
        if transition not in self._run_tables:
            available = self.transitions
            if transition not in available:
                message = f"no {transition} in the fleet; available: {', '.join(available)}"
                if transition in data.TRANSITIONS:
                    raise NothingToAnswer(message)
                raise UsageError(f"unknown transition {transition!r}; available: {', '.join(available)}")
            self._run_tables[transition] = data.RunTable(self._database, transition, self.tags)
        return self._run_tables[transition]

    def _sample(self, transition: str) -> Sample:
        if transition not in self._samples:
            self._samples[transition] = self._table(transition).sample()
        return self._samples[transition]

    def _groups(self, transition: str, sample: Sample) -> Iterator[Group]:
        """Yields the groups to compare."""
        return self._table(transition).groups(self.attributes, sample)

    def _check_attribute(self, name: str, where: str) -> None:
        if name not in self.attributes:
            raise UsageError(f"unknown attribute {name!r} in {where}; available: {', '.join(self.attributes)}")

    def runs(self, transition: str = "boot") -> list[dict[str, Any]]:
        """Returns all runs with a known duration, with the attributes of their computers, in order of time."""
        table = self._table(transition)
        result = self._database.execute(f"SELECT * EXCLUDE (run, code, number_of_kind, day) FROM {table.name} ORDER BY run")
        columns = [column[0] for column in result.description]
        return [dict(zip(columns, row)) for row in result.fetchall()]

    def phases(self, by: Optional[str] = None, transition: str = "boot") -> Records[FleetPhase]:
        """Returns percentiles of the transition and of each phase, optionally grouped by an attribute."""
        if by is not None:
            self._check_attribute(by, "'by'")
        table = self._table(transition)
        group = "''" if by is None else 'coalesce("' + by.replace('"', '""') + "\", '')"
        rows = f"SELECT run, code, {group} AS group_name, 'all' AS phase, -1 AS place, duration_ns AS ns FROM {table.name}"
        if "phases" in data.views(self._database):
            rows += f""" UNION ALL SELECT run, any_value(code), any_value({group}), p.phase, min(p.place), sum(p.duration_ns)
                FROM {table.name} AS r JOIN phases AS p ON r.recording = p.recording AND r.number_of_kind = p.number
                WHERE p.transition = $transition AND p.duration_ns IS NOT NULL GROUP BY run, p.phase"""
        result = self._database.execute(
            f"""SELECT group_name AS "group", phase, min(place) AS place, count(*) AS runs, count(DISTINCT code) AS computers,
                       CAST(quantile_disc(ns, 0.5) AS BIGINT) AS median_ns, CAST(quantile_disc(ns, 0.9) AS BIGINT) AS p90_ns,
                       CAST(quantile_disc(ns, 0.99) AS BIGINT) AS p99_ns, CAST(max(ns) AS BIGINT) AS longest_ns
                FROM ({rows}) GROUP BY 1, 2 ORDER BY 1, 3, 2""",
            {"transition": transition} if "$transition" in rows else {},
        )
        names = [column[0] for column in result.description]
        return Records(FleetPhase(dict(zip(names, row))) for row in result.fetchall())

    def explain(self, transition: str = "boot") -> Explanations:
        """Finds what slow runs have in common: attributes, module versions, pairs of them, and changes over time.

        Compares every value of every attribute, numbers and versions above and below each value, modules that are
        present or absent, pairs whose parts are slower, and dates, in the total, the share of slow runs, each phase,
        and the time of each subject. p-values are corrected for the number of possible comparisons; groups with the
        same runs count as one. A factor makes the total longer by at least ``MIN_EFFECT_NS`` and ``MIN_EFFECT_SHARE``,
        in at least ``MIN_RUNS`` runs of ``MIN_COMPUTERS`` computers. Its effect is removed before the search for the
        next.

        Association is not causation: ``same_runs_as`` lists factors that cannot be separated, ``subject`` is the
        subject whose time increased most. ``undecided`` lists groups that may be slow, with the number of computers
        that would decide.
        """
        sample = self._sample(transition)
        if not len(sample):
            return Explanations(Records(), 0, 0, 0, Records())
        search = Search(sample, self._groups(transition, sample))
        factors = search.run()
        found = Records(FleetFactor(self._factor_row(transition, sample, factor)) for factor in factors)
        undecided = Records(UndecidedFactor(self._undecided_row(sample, search, hit)) for hit in self._undecided(search, factors))
        return Explanations(found, search.tried, len(search.too_small), len(sample), undecided)

    def _factor_row(self, transition: str, sample: Sample, factor: Factor) -> dict[str, Any]:
        group, signal = factor.hit.group, factor.hit.signal
        runs, computers, rest, _ = group.counts(sample)
        if group.values is not None:
            runs, computers, rest = len(sample), sample.computers, 0
        subject = self._subject(transition, sample, group)
        if signal.level == "subject" and not subject["subject"]:
            subject = {"subject": signal.subject, "subject_phase": signal.phase, "subject_ns": None}
        return {
            "what": group.name,
            "effect_ns": factor.effect.ns,
            "low_ns": factor.effect.low_ns,
            "high_ns": factor.effect.high_ns,
            "chance": math.exp(min(0.0, factor.hit.log_chance)),
            "runs": runs,
            "computers": computers,
            "rest": rest,
            "same_runs_as": group.also,
            "seen_in": signal.level,
            "phase": signal.phase,
            "phase_effect_ns": None if factor.phase_effect is None else factor.phase_effect.ns,
            "phase_low_ns": None if factor.phase_effect is None else factor.phase_effect.low_ns,
            "phase_high_ns": None if factor.phase_effect is None else factor.phase_effect.high_ns,
            "slow_percent": 100 * factor.slow_share,
            "rest_slow_percent": 100 * factor.rest_slow_share,
            **subject,
        }

    @staticmethod
    def _undecided(search: Search, factors: list[Factor]) -> list[Hit]:
        # The state of the search removes all but the factor measured last.
        search.reset()
        names = {factor.hit.group.name for factor in factors}
        return [hit for hit in search.suggestive(_MAX_UNDECIDED + len(factors)) if hit.group.name not in names][:_MAX_UNDECIDED]

    @staticmethod
    def _undecided_row(sample: Sample, search: Search, hit: Hit) -> dict[str, Any]:
        runs, computers, _, _ = hit.group.counts(sample)
        return {
            "what": hit.group.name,
            "chance": math.exp(min(0.0, hit.log_chance)),
            "runs": runs,
            "computers": computers,
            "phase": hit.signal.phase,
            "more_computers": search.more_computers(hit),
        }

    def drift(self, transition: str = "boot") -> Records[FleetChange]:
        """Finds when the transition became slower or faster, in order of time: on one date (``kind`` is ``step``) or
        steadily over the whole period (``slope``). Computers with runs on both sides are compared with themselves.

        The change happened between ``last_before_utc`` and ``first_after_utc``."""
        from ._drift import changes

        sample = self._sample(transition)
        return Records(FleetChange(row) for row in changes(sample))

    def slowest(self, count: int = 10, transition: str = "boot") -> Records[SlowRun]:
        """Returns the slowest runs, each with its longest phase, the largest contributor to that phase, and the reason:
        what took longer than usual on the same computer."""
        from ._reasons import reasons

        table = self._table(transition)
        names = ("computer", "duration_ns", "phase", "phase_ns", "subject", "subject_ns", "recorded_utc", "path")
        rows = self._database.execute(f"SELECT run, {', '.join(names)} FROM {table.name} ORDER BY duration_ns DESC, run LIMIT ?", [count]).fetchall()
        found = reasons(self._database, table, [run for run, *_ in rows])
        return Records(SlowRun({**dict(zip(names, values)), **reason}) for (_, *values), reason in zip(rows, found))

    def why(self, run: Union[str, Mapping[str, Any]], transition: str = "boot") -> Comparison:
        """Compares a run with the usual run of its computer, entry by entry: ``run`` is the hash or path of a recording,
        or a row of ``slowest`` or ``runs``. A computer without other runs is compared with its model or the fleet."""
        from ._reasons import compare

        table = self._table(transition)
        name = run if isinstance(run, str) else run.get("recording") or run.get("path")
        rows = self._database.execute(
            f"SELECT run FROM {table.name} WHERE recording = $name OR path = $name ORDER BY duration_ns DESC LIMIT 1", {"name": name}
        ).fetchall()
        if not rows:
            raise UsageError(f"no {transition} of {name!r} in the fleet; give the hash or the path of a recording")
        return compare(self._database, table, rows[0][0])

    def watch(self, since: Union[str, datetime.date], transition: str = "boot") -> Watch:
        """Returns what is new since a date: computers, runs slower than usual for their computer, subjects and module
        versions that were not seen before, and whether the transition became slower. ``print`` it for a nightly mail."""
        from ._reasons import watch

        return watch(self._database, self._table(transition), self._sample(transition), utc_text(since))

    def gate(
        self,
        baseline: Mapping[str, Any],
        candidate: Mapping[str, Any],
        transition: str = "boot",
        limit_ns: int = MIN_EFFECT_NS,
        limit_share: float = MIN_EFFECT_SHARE,
    ) -> FleetVerdict:
        """Checks whether one cohort is slower than another.

        A cohort is a dictionary of conditions: an attribute or a tag (``{"os_build": 19045}``), a module
        (``{"audio.sys": ">= 6.0"}``; ``None`` for a module that is absent), ``since`` or ``before`` a date, or
        ``computer``. A list allows several values. Computers with runs in both cohorts are compared with themselves.

        The limit is the larger of ``limit_ns`` and ``limit_share`` of the baseline's median. ``verdict`` is ``pass`` if
        the entire 95 % interval of the difference is below the limit, ``regression`` if it is entirely above, otherwise
        ``no_verdict``. ``more_computers`` then estimates how many additional computers each cohort needs for a verdict.
        ``passed`` is ``True``, ``False`` or ``None``; ``exit_code`` is 0, 1 or 2, as in ``onoff gate``.
        """
        import numpy

        sample = self._sample(transition)
        baseline_mask, candidate_mask = (self._cohort(transition, sample, cohort) for cohort in (baseline, candidate))
        if (baseline_mask & candidate_mask).any():
            raise UsageError("the cohorts overlap")
        counts, sets = {}, {}
        for name, mask in (("baseline", baseline_mask), ("candidate", candidate_mask)):
            sets[name] = set(sample.computer[mask].tolist())
            counts[f"{name}_runs"] = int(mask.sum())
            counts[f"{name}_computers"] = len(sets[name])
        paired = len(sets["baseline"] & sets["candidate"])
        counts["paired_computers"] = paired
        limit = max(float(limit_ns), limit_share * float(numpy.median(sample.total_ns[baseline_mask]))) if baseline_mask.any() else float(limit_ns)
        missing = max(
            min_count - counts[f"{cohort}_{unit}"]
            for cohort in ("baseline", "candidate")
            for unit, min_count in (("runs", MIN_RUNS), ("computers", MIN_COMPUTERS))
        )
        if missing > 0:
            reason = f"a cohort has fewer than {MIN_RUNS} runs or {MIN_COMPUTERS} computers; about {missing} more computers are needed"
            return FleetVerdict({**counts, **_verdict(None, reason), **_NO_DIFFERENCE, "limit_ns": int(limit), "more_computers": missing})
        estimate = _cohort_difference(sample, baseline_mask, candidate_mask)
        difference = interval(estimate)
        # A difference in an interval without length is equal for all pairs.
        passed = True if difference.high_ns < limit else False if difference.low_ns > limit else None
        more_computers = None
        if passed is None:
            more_computers = _more_computers(difference, limit, counts["baseline_computers"], counts["candidate_computers"])
        reason = (
            f"{seconds(abs(difference.ns))} {'slower' if difference.ns > 0 else 'faster'} "
            f"(95 % interval {seconds(difference.low_ns)} to {seconds(difference.high_ns)}), limit {seconds(int(limit))}"
        )
        if passed is None:
            reason += "; the difference is equal to the limit" if more_computers is None else f"; a verdict needs about {more_computers:,} more computers per cohort"
        return FleetVerdict(
            {
                **counts,
                **_verdict(passed, reason),
                "effect_ns": difference.ns,
                "low_ns": difference.low_ns,
                "high_ns": difference.high_ns,
                "p": math.erfc(abs(estimate.ns) / estimate.error_ns / math.sqrt(2)) if estimate.error_ns > 0 else 1.0,
                "limit_ns": int(limit),
                "more_computers": more_computers,
            }
        )

    def _cohort(self, transition: str, sample: Sample, cohort: Mapping[str, Any]) -> Any:
        """Returns the runs that meet all conditions of a cohort."""
        import numpy

        if not cohort:
            raise UsageError("a cohort needs at least one condition")
        mask: Any = numpy.ones(len(sample), bool)
        for name, condition in cohort.items():
            mask &= self._condition(transition, sample, name, condition)
        return mask

    def _condition(self, transition: str, sample: Sample, name: str, condition: Any) -> Any:
        import numpy

        if name in ("since", "before"):
            from ._reasons import is_since

            chosen, known = is_since(sample, utc_text(condition))
            return known & (chosen if name == "since" else ~chosen)
        if name in self.attributes or name == "computer":
            values = self._values(transition, name)
            return numpy.array([_meets(value, condition, by_version=False) for value in values], dtype=bool)
        if "versions" in data.views(self._database):
            table = self._table(transition)
            rows = self._database.execute(
                f"SELECT r.run, v.version FROM versions AS v JOIN {table.name} AS r USING (recording) WHERE v.module = ?", [name]
            ).fetchall()
            if rows:
                mask: Any = numpy.zeros(len(sample), bool)
                if condition is None:
                    have = self._database.execute(f"SELECT DISTINCT run FROM {table.name} WHERE recording IN (SELECT recording FROM versions)").fetchall()
                    mask[[run for (run,) in have]] = True
                    mask[[run for run, _ in rows]] = False
                else:
                    mask[[run for run, version in rows if _meets(version, condition, by_version=True)]] = True
                return mask
        raise UsageError(
            f"unknown attribute or module {name!r} in a cohort; available: computer, since, before, {', '.join(self.attributes)}, and the modules with recorded versions"
        )

    def _values(self, transition: str, name: str) -> Any:
        """Returns the value of an attribute for each run, as text."""
        import numpy

        values = self._table(transition).column(name)
        return numpy.ma.filled(values, "") if isinstance(values, numpy.ma.MaskedArray) else values

    def html(self, path: Path, transition: Optional[str] = None) -> None:
        """Writes a self-contained HTML report about all kinds of transitions, or one. Replaces an existing file."""
        from ._fleet_page import page

        text = page(self, self.transitions if transition is None else (transition,))
        target = os.fspath(path)
        # Use a unique name in case of concurrent writers.
        temporary_path = f"{target}.{uuid.uuid4().hex}.unfinished"
        with open(temporary_path, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary_path, target)

    def __repr__(self) -> str:
        [(recordings, computers)] = self._database.execute("SELECT count(*), count(DISTINCT computer) FROM recordings").fetchall()
        text = f"fleet of {computers:,} computers: {recordings:,} recordings"
        if self.tags is not None and (self.tags.unmatched or self.tags.untagged):
            text += f"; tags: {self.tags.unmatched:,} rows without a {self.tags.key}, {self.tags.untagged:,} {self.tags.key}s without a row"
        return f"<{text}>"

    def _repr_html_(self) -> str:
        phases = self.phases(transition=self.transitions[0])
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{phases._repr_html_()}"

    def _subject(self, transition: str, sample: Sample, group: Group) -> dict[str, Any]:
        """Returns the subject whose time in the account differs most between a group and the rest. To avoid selection
        bias, it is selected on every second computer and its mean difference is measured on the others."""
        import numpy

        no_subject = {"subject": "", "subject_phase": "", "subject_ns": None}
        if "account" not in data.views(self._database):
            return no_subject
        mask, known = group.run_mask(sample), group.known_runs(sample)
        if group.values is not None:
            # Compare the second half of a steady change with the first.
            mask = group.values > 0.5
        is_member: Any = numpy.zeros(sample.computers, bool)
        is_member[sample.computer[mask & known]] = True
        half: Any = numpy.zeros(sample.computers, bool)
        for side in (is_member, ~is_member):
            half[numpy.flatnonzero(side)[::2]] = True
        import pyarrow

        side = pyarrow.table({"run": numpy.flatnonzero(known), "is_in": mask[known], "is_selecting": half[sample.computer][known]})
        self._database.register("side", side)
        table = self._table(transition)
        rows = self._database.execute(
            f"""WITH sides AS (SELECT r.recording, any_value(side.is_in) AS is_in, any_value(side.is_selecting) AS is_selecting FROM side JOIN {table.name} AS r USING (run) GROUP BY 1),
                    counted AS (SELECT is_selecting, count(*) FILTER (is_in) AS in_count, count(*) FILTER (NOT is_in) AS out_count FROM sides GROUP BY 1),
                    compared AS (
                        SELECT subject, phase, is_selecting,
                               coalesce(sum(ns) FILTER (is_in), 0) / any_value(in_count) - coalesce(sum(ns) FILTER (NOT is_in), 0) / any_value(out_count) AS more
                        FROM account JOIN sides USING (recording) JOIN counted USING (is_selecting)
                        WHERE transition = $transition AND kind NOT IN ('idle', 'unknown') AND in_count > 0 AND out_count > 0 GROUP BY ALL)
               SELECT selected.subject, selected.phase, measured.more
               FROM (SELECT * FROM compared WHERE is_selecting AND more > 0 ORDER BY more DESC, subject, phase LIMIT 1) AS selected
               JOIN compared AS measured ON measured.subject = selected.subject AND measured.phase = selected.phase AND NOT measured.is_selecting""",
            {"transition": transition},
        ).fetchall()
        if not rows or rows[0][2] <= 0:
            return no_subject
        [(subject, phase, more_ns)] = rows
        return {"subject": subject, "subject_phase": phase, "subject_ns": int(more_ns)}


class Explanations(NamedTuple):
    """Factors associated with slow runs."""

    found: Records[FleetFactor]
    """Significant factors, strongest first."""
    tried: int
    """Number of compared groups."""
    too_small: int
    """Number of groups with too few runs or computers."""
    runs: int
    """Number of runs with a known duration."""
    undecided: Records[UndecidedFactor]
    """Groups that may be slow, but need more computers for a verdict."""

    def __repr__(self) -> str:
        lines = [_describe(factor) for factor in self.found]
        if not lines:
            lines = [f"<no significant factors: {self.tried} groups compared, {self.too_small} too small, {self.runs} runs>"]
        for row in self.undecided:
            lines.append(f"cannot tell yet: {row.what} ({row.computers} computers); about {row.more_computers:,} more computers would decide")
        return "\n".join(lines)


class Comparison(NamedTuple):
    """A run beside the usual run of its computer."""

    computer: str
    recorded_utc: Optional[str]
    duration_ns: int
    usual_ns: int
    """Median duration of the other runs."""
    compared_with: str
    """The other runs, such as ``12 other runs of PC-7``."""
    entries: Records[ComparedTime]
    """Time of each subject or phase: ``ns``, ``usual_ns`` and ``more_ns``, largest increase first."""

    def __repr__(self) -> str:
        more = self.duration_ns - self.usual_ns
        head = f"{self.computer}: {seconds(self.duration_ns)}, {seconds(abs(more))} {'more' if more >= 0 else 'less'} than the median of {self.compared_with}"
        lines = [
            f"  {entry.phase}{': ' + entry.subject if entry.subject else ''}: {seconds(entry.ns)}, usually {seconds(entry.usual_ns)}"
            for entry in self.entries[:5]
            if entry.more_ns >= MIN_EFFECT_NS
        ]
        return "\n".join([head, *lines])


class Watch(NamedTuple):
    """What is new in a fleet since a date."""

    since_utc: str
    runs: int
    computers: int
    new_computers: tuple[str, ...]
    """Computers without an earlier run."""
    difference: FleetDifference
    """Difference to earlier runs of the same computers: ``effect_ns``, ``low_ns``, ``high_ns``, ``computers``."""
    slow_runs: Records[SlowRun]
    """Runs that took longer than usual for their computer, with the reason, slowest first."""
    new_subjects: Records[NewSubject]
    """Subjects with at least 300 ms that no earlier run has."""
    new_versions: Records[NewVersion]
    """Versions of modules that no earlier run has."""

    def __repr__(self) -> str:
        lines = [f"Since {self.since_utc}: {self.runs:,} runs of {self.computers:,} computers, {len(self.new_computers):,} of them new"]
        effect = self.difference
        if effect.effect_ns is not None and effect.low_ns is not None and effect.high_ns is not None:
            lines.append(
                f"{effect.computers:,} computers with earlier runs: {seconds(abs(effect.effect_ns))} {'slower' if effect.effect_ns > 0 else 'faster'} "
                f"(95 % interval {seconds(effect.low_ns)} to {seconds(effect.high_ns)})"
            )
        for row in self.slow_runs:
            usual = "" if row.usual_ns is None else f", usually {seconds(row.usual_ns)}"
            lines.append(f"slow: {row.computer}, {seconds(row.duration_ns)}{usual}" + (f": {row.reason}" if row.reason else ""))
        lines += [f"new: {row.subject} in {row.phase}, {seconds(row.mean_ns)} in {row.runs:,} runs" for row in self.new_subjects]
        lines += [f"new: {row.module} {row.version} on {row.computers:,} computers" for row in self.new_versions]
        return "\n".join(lines)


def _describe(factor: FleetFactor) -> str:
    parts = [f"{factor.what}: {slower(factor)}, {factor.runs} runs on {factor.computers} computers"]
    if factor.seen_in == "slow_runs":
        parts.append(f"{factor.slow_percent:.0f} % of its runs are slow, {factor.rest_slow_percent:.0f} % of the rest")
    if factor.phase:
        parts.append(f"{factor.phase} {seconds(factor.phase_effect_ns)} longer" if factor.phase_effect_ns is not None else f"in {factor.phase}")
    if factor.subject:
        parts.append(f"largest contributor {factor.subject} in {factor.subject_phase}")
    if factor.same_runs_as:
        parts.append(f"same runs as {', '.join(factor.same_runs_as)}")
    return "; ".join(parts)


def slower(factor: FleetFactor) -> str:
    """Formats the difference of a group, as an upper bound if its interval includes 0."""
    if factor.low_ns <= 0:
        return f"at most {seconds(factor.high_ns)} slower (95 % interval)"
    return f"{seconds(factor.effect_ns)} slower (95 % interval {seconds(factor.low_ns)} to {seconds(factor.high_ns)})"


_NO_DIFFERENCE = {"effect_ns": None, "low_ns": None, "high_ns": None, "p": None}


def _verdict(passed: Optional[bool], reason: str) -> dict[str, Any]:
    """Returns the verdict and exit code as in ``onoff gate``."""
    verdict, exit_code = {True: ("pass", 0), False: ("regression", 1), None: ("no_verdict", 2)}[passed]
    return {"passed": passed, "verdict": verdict, "exit_code": exit_code, "why": reason if passed is not None else f"Unknown: {reason}"}


def _cohort_difference(sample: Sample, baseline: Any, candidate: Any) -> Estimate:
    """Estimates the difference of two cohorts, within the computers that are in both and between the others."""
    import numpy

    chosen = baseline | candidate
    _, computer = numpy.unique(sample.computer[chosen], return_inverse=True)
    part = Sample(computer, sample.total_ns[chosen])
    group = group_of_mask((), candidate[chosen], part)
    medians = part.medians(part.total_ns)
    estimates = [shift_between(medians[group.share == 1], medians[group.share == 0])]
    if group.varies:
        estimates.append(shift_of(paired_differences(part, group, part.total_ns)))
    return combine(estimates)


def _more_computers(difference: Interval, limit: float, baseline: int, candidate: int) -> Optional[int]:
    """Returns how many additional computers per cohort shrink the interval to the distance between difference and
    limit. The length of the interval is proportional to the square root of ``1 / baseline + 1 / candidate``."""
    distance = abs(limit - difference.ns)
    half_width = difference.high_ns - difference.ns if difference.ns < limit else difference.ns - difference.low_ns
    target = (1 / baseline + 1 / candidate) * (distance / max(1, half_width)) ** 2
    if target <= 0:
        return None
    smaller, gap = min(baseline, candidate), abs(baseline - candidate)
    required = (2 - target * gap + math.sqrt((target * gap) ** 2 + 4)) / (2 * target)
    return max(1, math.ceil(required) - smaller)


_RELATIONS = (">=", "<=", ">", "<")


def _meets(value: Any, condition: Any, by_version: bool) -> bool:
    """Returns whether a value meets a condition: equal, one of a list, or above or below as in ``">= 6.0"``.

    >>> _meets("6.10", ">= 6.9", True), _meets("8", [4, 8], False), _meets("", "< 3", False)
    (True, True, False)
    """
    if isinstance(condition, (list, tuple, set, frozenset)):
        return any(_meets(value, item, by_version) for item in condition)
    text = "" if value is None else str(value)
    if isinstance(condition, str):
        relation = next((relation for relation in _RELATIONS if condition.startswith(relation)), None)
        if relation is not None:
            limit = condition[len(relation) :].strip()
            if not text:
                return False
            if by_version:
                first, second = version_key(text), version_key(limit)
            else:
                numbers = number(text), number(limit)
                if numbers[1] is None:
                    raise UsageError(f"{condition!r} in a cohort needs a number")
                if numbers[0] is None:
                    return False
                first, second = numbers  # type: ignore[assignment]
            return {">=": first >= second, "<=": first <= second, ">": first > second, "<": first < second}[relation]
    return text == str(condition)


def utc_text(date: Union[str, datetime.date]) -> str:
    """Returns a date as text; raises an error if it is not one.

    >>> utc_text("2026-03-05"), utc_text(datetime.date(2026, 3, 5))
    ('2026-03-05', '2026-03-05')
    """
    if isinstance(date, datetime.datetime) and date.tzinfo is not None:
        date = date.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    if isinstance(date, datetime.date):
        return date.isoformat()
    try:
        datetime.datetime.fromisoformat(date.rstrip("Z")[:26])
    except (ValueError, AttributeError):
        raise UsageError(f"{date!r} is not a date, such as 2026-03-05 or 2026-03-05T08:00:00") from None
    return date


def fleet(runs: Union[Path, Mapping[str, Any]], tags: Any = None) -> Fleet:
    """Opens the tables in a folder written by ``onoff.summaries``, or the rows that Spark wrote to a folder. ``runs``
    may also be a dictionary with the tables in memory, by name (Arrow, pandas, Polars, or a data set of pyarrow).

    ``tags`` is a CSV or Parquet file or a DataFrame with a column ``computer`` or ``recording``, and one column per
    additional attribute, such as a driver version. Tags are text."""
    return Fleet(runs, tags)
