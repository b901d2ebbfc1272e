"""Fleet statistics: percentiles, slowest runs, factors of slow runs, changes over time, and a gate for two cohorts."""

from __future__ import annotations

import functools
import html
import itertools
import math
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple, Optional, Union

from ._answers import Record, Records, seconds
from ._delta import files, is_delta
from ._errors import NothingToAnswer, UsageError
from ._recording import Path

ATTRIBUTES = ("model", "firmware", "os", "os_build", "processor", "processors", "memory_bytes")
"""Attributes of computers in recordings; tag files add others."""

MIN_RUNS = 10
"""Minimum number of runs in a group and outside it."""
MIN_COMPUTERS = 5
"""Minimum number of computers in a group and outside it, because runs of one computer are not independent."""
MIN_EFFECT_NS = 300_000_000
"""Minimum reported difference, equal to the minimum cost of a finding in a single recording."""
MIN_EFFECT_SHARE = 0.03
"""Minimum reported difference as a share of the median."""
CHANCE = 0.01
"""Family-wise significance level: the probability that any factor is reported for a healthy fleet."""
_MAX_EXPLANATIONS = 10
_DATES = 60
"""Number of dates tried as change points."""
_MAX_PAIRED = 400
"""Maximum number of values per side used for pairwise differences, evenly spread over the sorted values."""
_TAIL = 0.025
"""Tail probability on each side of a 95 % interval."""
_SELECTED_TAIL = 0.02
"""Tail probability for groups selected because of their size, where the normal approximation is less accurate. The
measured tail is 0.02 to 0.03."""


class Difference(NamedTuple):
    """Difference between two groups: the median of pairwise differences (Hodges-Lehmann estimator) with its 95 %
    confidence interval."""

    ns: int
    low_ns: int
    high_ns: int


class _Comparison:
    """Rank comparison of two groups (Mann-Whitney test), with one value per computer."""

    def __init__(self, first: Any, second: Any, deviation: float, z: float) -> None:
        self.first = first
        self.second = second
        self.z = z
        """z-score; positive if the first group is larger."""
        self.p = math.erfc(abs(z) / math.sqrt(2))
        """Two-sided p-value."""
        self.deviation = deviation
        # Share of all pairwise differences per unit of z.
        self._share = deviation / (len(first) * len(second))

    @functools.cached_property
    def _differences(self) -> Any:
        import numpy

        first, second = (
            group if len(group) <= _MAX_PAIRED else numpy.sort(group)[_even_indices(len(group))]
            for group in (self.first, self.second)
        )
        return numpy.sort((first[:, None] - second[None, :]).ravel())

    def shift(self, z: float) -> float:
        """Returns the amount to subtract from the first group to reach this ``z``."""
        # Normal approximation with the full group sizes; the evenly spread sample represents all differences.
        index = int(len(self._differences) * (0.5 - z * self._share))
        return float(self._differences[min(len(self._differences) - 1, max(0, index))])

    def z_after(self, shift: float) -> float:
        """Returns the ``z`` after subtracting ``shift`` from the first group."""
        import numpy

        rank = sum(int(numpy.searchsorted(self._differences, shift, side)) for side in ("left", "right")) / 2
        return (0.5 - rank / len(self._differences)) / self._share

    def difference(self, margin: float = math.inf) -> Difference:
        """Returns the difference between groups that would not have been selected if the first were shorter by
        more than ``margin``.

        Selection biases the difference upward, so this is a conditional interval: the probability of the measured value
        is conditioned on selection. The estimate is median-unbiased."""
        tail = _TAIL if margin == math.inf else _SELECTED_TAIL
        return Difference(*(self._quantile_shift(probability, margin) for probability in (0.5, tail, 1 - tail)))

    def _quantile_shift(self, probability: float, margin: float) -> int:
        """Returns the difference at which the measured value or a larger one has this probability."""
        # Selected groups have a difference of at least 0.
        low, high = float(self._differences[0]) if margin == math.inf else 0.0, float(self._differences[-1])
        for _ in range(60):
            middle = (low + high) / 2
            selection = 0.0 if margin == math.inf else _log_tail(self.z_after(middle + margin))
            if _log_tail(self.z_after(middle)) - selection < math.log(probability):
                low = middle
            else:
                high = middle
        return int(high)


class Fleet:
    """A fleet of computers, from the tables of ``onoff.summaries``."""

    def __init__(self, runs: Path, tags: Optional[Path] = None) -> None:
        try:
            import duckdb
            import numpy  # noqa: F401
        except ImportError:
            raise UsageError("Fleet analysis requires DuckDB and NumPy: pip install 'onoff-perf[fleet]'") from None
        self.folder = os.fspath(runs)
        if not os.path.isdir(os.path.join(self.folder, "recordings")):
            raise UsageError(f"{self.folder}: no tables found; create them with 'onoff.summaries'")
        self._database = duckdb.connect()
        for table in ("recordings", "transitions", "phases", "account", "versions"):
            table_folder = FilePath(self.folder) / table
            if is_delta(table_folder):
                paths = files(table_folder)
            else:
                paths = [str(path) for path in sorted(table_folder.glob("*.parquet"))]
            if paths:
                quoted = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
                self._database.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet([{quoted}])")
        self.attributes: tuple[str, ...] = ATTRIBUTES
        self._database.execute("CREATE TABLE tags (nothing INTEGER)")
        self._tag_key: Optional[str] = None
        if tags is not None:
            self._read_tags(os.fspath(tags))
        if "transitions" not in self._tables():
            raise NothingToAnswer(f"{self.folder}: no recording with a transition")

    def _tables(self) -> set[str]:
        return {name for (name,) in self._database.execute("SELECT view_name FROM duckdb_views()").fetchall()}

    def _read_tags(self, path: str) -> None:
        quoted = path.replace("'", "''")
        reader = "read_parquet" if path.endswith(".parquet") else "read_csv_auto"
        self._database.execute(f"CREATE OR REPLACE TABLE tags AS SELECT * FROM {reader}('{quoted}')")
        columns = [row[0] for row in self._database.execute("DESCRIBE tags").fetchall()]
        key = next((column for column in columns if column in ("recording", "computer")), None)
        if key is None:
            raise UsageError(f"{path}: the tag file needs a column 'recording' (SHA-256) or 'computer', and one column per tag")
        [(rows, keys)] = self._database.execute(f'SELECT count(*), count(DISTINCT "{key}") FROM tags').fetchall()
        if rows != keys:
            raise UsageError(f"{path}: duplicate values in column '{key}'")
        self._tag_key = key
        self.attributes = (*ATTRIBUTES, *(column for column in columns if column not in ("recording", "computer")))

    def runs(self, transition: str = "boot") -> list[dict[str, Any]]:
        """Returns all runs with a known duration, with the attributes of their computers, in order of time."""
        tag_join = "" if self._tag_key is None else f"LEFT JOIN tags AS g ON g.\"{self._tag_key}\" = r.\"{self._tag_key}\""
        names = ", ".join(f'CAST({"r" if name in ATTRIBUTES else "g"}."{name}" AS VARCHAR) AS "{name}"' for name in self.attributes)
        result = self._database.execute(
            f"""SELECT t.recording, t.number, r.path, r.computer, r.recorded_utc, t.variant, t.duration_ns, t.longest_phase, t.longest_phase_ns,
                       t.culprit, t.culprit_ns, {names}
                FROM transitions AS t JOIN recordings AS r USING (recording) {tag_join}
                WHERE t.transition = ? AND t.duration_ns IS NOT NULL
                ORDER BY r.recorded_utc, t.recording, t.number""",
            [transition],
        )
        columns = [column[0] for column in result.description]
        return [dict(zip(columns, row)) for row in result.fetchall()]

    def phases(self, by: Optional[str] = None, transition: str = "boot") -> Records:
        """Returns percentiles of the transition and of each phase, optionally grouped by an attribute."""
        if by is not None and by not in self.attributes:
            raise UsageError(f"unknown attribute {by!r} in 'by'; available: {', '.join(self.attributes)}")
        runs = {(run["recording"], run["number"]): run for run in self.runs(transition)}
        durations = [(recording, number, "all", -1, run["duration_ns"]) for (recording, number), run in runs.items()]
        if "phases" in self._tables():
            durations += self._database.execute(
                "SELECT recording, number, phase, min(place), sum(duration_ns) FROM phases "
                "WHERE transition = ? AND duration_ns IS NOT NULL GROUP BY ALL",
                [transition],
            ).fetchall()
        groups: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
        for recording, number, phase, position, duration_ns in durations:
            run = runs.get((recording, number))
            if run is not None:
                value = "" if by is None else str(run[by] or "")
                groups.setdefault((value, phase), []).append((duration_ns, position, run["computer"]))
        rows = []
        for (value, phase), members in groups.items():
            sorted_ns = sorted(duration_ns for duration_ns, _, _ in members)
            rows.append(
                {
                    "group": value,
                    "phase": phase,
                    "place": min(position for _, position, _ in members),
                    "runs": len(members),
                    "computers": len({computer for _, _, computer in members}),
                    "median_ns": _quantile(sorted_ns, 0.5),
                    "p90_ns": _quantile(sorted_ns, 0.9),
                    "p99_ns": _quantile(sorted_ns, 0.99),
                    "longest_ns": sorted_ns[-1],
                }
            )
        rows.sort(key=lambda row: (row["group"], row["place"], row["phase"]))
        return Records(Record(row) for row in rows)

    def slowest(self, count: int = 10, transition: str = "boot") -> Records:
        """Returns the slowest runs, each with its longest phase and the largest contributor to that phase."""
        runs = sorted(self.runs(transition), key=lambda run: -run["duration_ns"])
        names = ("computer", "duration_ns", "longest_phase", "longest_phase_ns", "culprit", "culprit_ns", "recorded_utc", "path")
        return Records(Record({name: run[name] for name in names}) for run in runs[:count])

    def explain(self, transition: str = "boot") -> Explanations:
        """Finds attributes, module versions, pairs of them, and dates associated with slow runs.

        Tests every value of every attribute, every version of a driver, program or library, every pair of values (at
        least one of them an attribute), and every date of ``drift``. p-values are corrected for the number of tests
        (Bonferroni); groups with the same runs count as one. Reported groups are slower by at least ``MIN_EFFECT_NS``
        and ``MIN_EFFECT_SHARE``, with at least ``MIN_RUNS`` runs on ``MIN_COMPUTERS`` computers. The strongest factor
        is removed before the search for the next.

        Association is not causation: ``same_runs_as`` lists factors that cannot be separated, ``subject`` is the
        subject whose time increased most.
        """
        import numpy

        runs = self.runs(transition)
        durations_ns = numpy.array([run["duration_ns"] for run in runs], dtype=float)
        computers = _codes([run["computer"] or run["recording"] for run in runs])
        candidates, too_small, not_tried = self._candidates(transition, runs, durations_ns, computers)
        # Include the dates tested by `drift`.
        tried = len(candidates) + not_tried + _DATES
        factors: list[Record] = []
        removed_masks: list[Any] = []
        while candidates and len(factors) < _MAX_EXPLANATIONS:
            best = self._best(candidates, durations_ns, computers, tried)
            if best is None:
                break
            group, difference, chance = best
            same_runs = group.also + [other.name for other in candidates if other is not group and (other.mask == group.mask).all()]
            mask = group.mask
            factors.append(
                Record(
                    {
                        "what": group.name,
                        "effect_ns": difference.ns,
                        "low_ns": difference.low_ns,
                        "high_ns": difference.high_ns,
                        "chance": chance,
                        "runs": int(mask.sum()),
                        "computers": len(set(computers[mask].tolist())),
                        "rest": int((~mask).sum()),
                        "same_runs_as": same_runs,
                        **self._subject(transition, runs, mask),
                    }
                )
            )
            removed_masks.append(mask)
            # Remove the effect before searching for the next factor.
            durations_ns = durations_ns.copy()
            durations_ns[mask] -= numpy.median(durations_ns[mask]) - numpy.median(durations_ns[~mask])
            candidates = [other for other in candidates if not any((other.mask == removed).all() for removed in removed_masks)]
        return Explanations(Records(factors), tried, too_small, len(runs))

    def drift(self, transition: str = "boot") -> Records:
        """Finds dates at which the transition became slower or faster, in order of time. Splits the runs recursively at
        the most significant date."""
        import numpy

        runs = [run for run in self.runs(transition) if run["recorded_utc"]]
        durations_ns = numpy.array([run["duration_ns"] for run in runs], dtype=float)
        computers = _codes([run["computer"] or run["recording"] for run in runs])
        changes: list[dict[str, Any]] = []
        intervals = [(0, len(runs))]
        while intervals and len(changes) < _MAX_EXPLANATIONS:
            start, end = intervals.pop()
            splits = range(start + MIN_RUNS, end - MIN_RUNS + 1)
            if not splits:
                continue
            tried_splits = _evenly_spaced(splits, _DATES)
            best = _best_split(tried_splits, durations_ns, computers, start, end)
            min_z = _critical_z(CHANCE / len(tried_splits))
            if best is None:
                continue
            best_split, comparison = best
            if abs(comparison.z) < min_z or abs(comparison.shift(0.0)) < _min_effect(durations_ns[start:end]):
                continue
            step = max(1, len(splits) // _DATES)
            nearby_splits = range(max(splits[0], best_split - step), min(splits[-1], best_split + step) + 1)
            split, comparison = _best_split(nearby_splits, durations_ns, computers, start, end) or best
            is_faster = comparison.z < 0
            if is_faster:
                comparison = _Comparison(comparison.second, comparison.first, comparison.deviation, -comparison.z)
            margin = min(comparison.shift(min_z), comparison.shift(0.0) - _min_effect(durations_ns[start:end]))
            effect = comparison.difference(max(0.0, margin))
            if is_faster:
                effect = Difference(-effect.ns, -effect.high_ns, -effect.low_ns)
            changes.append(
                {
                    "last_before_utc": runs[split - 1]["recorded_utc"],
                    "first_after_utc": runs[split]["recorded_utc"],
                    "effect_ns": effect.ns,
                    "low_ns": effect.low_ns,
                    "high_ns": effect.high_ns,
                    "runs_before": split - start,
                    "runs_after": end - split,
                }
            )
            intervals += [(start, split), (split, end)]
        return Records(Record(row) for row in sorted(changes, key=lambda row: row["first_after_utc"]))

    def gate(
        self,
        baseline: Mapping[str, Any],
        candidate: Mapping[str, Any],
        transition: str = "boot",
        limit_ns: int = MIN_EFFECT_NS,
        limit_share: float = MIN_EFFECT_SHARE,
    ) -> Record:
        """Checks whether one cohort is slower than another. Cohorts are attributes, such as ``{"os_build": 19045}``.

        The limit is the larger of ``limit_ns`` and ``limit_share`` of the baseline's median. ``verdict`` is ``pass`` if
        the entire 95 % interval of the difference is below the limit, ``regression`` if it is entirely above, otherwise
        ``no_verdict``. ``more_computers`` then estimates how many additional computers each cohort needs for a verdict.
        ``passed`` is ``True``, ``False`` or ``None``; ``exit_code`` is 0, 1 or 2, as in ``onoff gate``.
        """
        import numpy

        runs = self.runs(transition)
        for cohort in (baseline, candidate):
            unknown = [name for name in cohort if name not in self.attributes]
            if unknown or not cohort:
                raise UsageError(f"unknown attribute in cohort: {', '.join(unknown)}; available: {', '.join(self.attributes)}" if unknown else "a cohort needs at least one attribute")

        def cohort_mask(cohort: Mapping[str, Any]) -> Any:
            return numpy.array([all(str(run[name]) == str(value) for name, value in cohort.items()) for run in runs], dtype=bool)

        baseline_mask, candidate_mask = cohort_mask(baseline), cohort_mask(candidate)
        if (baseline_mask & candidate_mask).any():
            raise UsageError("the cohorts overlap")
        durations_ns = numpy.array([run["duration_ns"] for run in runs], dtype=float)
        computers = _codes([run["computer"] or run["recording"] for run in runs])
        limit = max(limit_ns, limit_share * float(numpy.median(durations_ns[baseline_mask]))) if baseline_mask.any() else limit_ns
        counts = {
            f"{cohort}_{unit}": count
            for cohort, mask in (("baseline", baseline_mask), ("candidate", candidate_mask))
            for unit, count in (("runs", int(mask.sum())), ("computers", len(set(computers[mask].tolist()))))
        }
        missing = max(
            min_count - counts[f"{cohort}_{unit}"]
            for cohort in ("baseline", "candidate")
            for unit, min_count in (("runs", MIN_RUNS), ("computers", MIN_COMPUTERS))
        )
        if missing > 0:
            reason = f"a cohort has fewer than {MIN_RUNS} runs or {MIN_COMPUTERS} computers; about {missing} more computers are needed"
            return Record({**counts, **_verdict(None, reason), "limit_ns": int(limit), "more_computers": missing})
        comparison = _compare(
            durations_ns[candidate_mask], durations_ns[baseline_mask], computers[candidate_mask], computers[baseline_mask]
        )
        # No comparison means that all runs took the same time.
        difference = comparison.difference() if comparison is not None else Difference(0, 0, 0)
        passed = True if difference.high_ns < limit else False if difference.low_ns > limit else None
        more_computers = None if passed is not None else _more_computers(difference, limit, counts["baseline_computers"], counts["candidate_computers"])
        reason = (
            f"{seconds(abs(difference.ns))} {'slower' if difference.ns > 0 else 'faster'} "
            f"(95 % interval {seconds(difference.low_ns)} to {seconds(difference.high_ns)}), limit {seconds(int(limit))}"
        )
        if passed is None:
            reason += "; the difference is equal to the limit" if more_computers is None else f"; a verdict needs about {more_computers:,} more computers per cohort"
        return Record(
            {
                **counts,
                **_verdict(passed, reason),
                "effect_ns": difference.ns,
                "low_ns": difference.low_ns,
                "high_ns": difference.high_ns,
                "p": 1.0 if comparison is None else comparison.p,
                "limit_ns": int(limit),
                "more_computers": more_computers,
            }
        )

    def html(self, path: Path, transition: str = "boot") -> None:
        """Writes a self-contained HTML report about the fleet. Replaces an existing file."""
        from ._fleet_page import page

        text = page(self, transition)
        target = os.fspath(path)
        # Use a unique name in case of concurrent writers.
        temporary_path = f"{target}.{uuid.uuid4().hex}.unfinished"
        with open(temporary_path, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary_path, target)

    def __repr__(self) -> str:
        [(recordings, computers)] = self._database.execute("SELECT count(*), count(DISTINCT computer) FROM recordings").fetchall()
        return f"<fleet of {computers:,} computers: {recordings:,} recordings>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self.phases()._repr_html_()}"

    def _candidates(self, transition: str, runs: list[dict[str, Any]], durations_ns: Any, computers: Any) -> tuple[list[_Group], int, int]:
        """Returns the groups to test, the number of groups that are too small, and the number of pairs skipped because
        their module version is not associated with slow runs."""
        import numpy

        # Merge groups with the same runs, attributes first: modules of one update change versions together.
        singles: dict[bytes, _Group] = {}
        too_small = 0
        for part, mask in self._parts(runs):
            if mask.all():
                continue
            if not _large_enough(mask, computers):
                too_small += 1
                continue
            group = _Group((part,), mask)
            first_group = singles.setdefault(mask.tobytes(), group)
            if first_group is not group:
                first_group.also.append(group.name)
        groups = list(singles.values())
        not_tried = 0
        for first, second in itertools.combinations(list(groups), 2):
            versions = [group for group in (first, second) if group.parts[0][0] not in self.attributes]
            if first.parts[0][0] == second.parts[0][0] or len(versions) == 2:
                continue
            mask = first.mask & second.mask
            if (mask == first.mask).all() or (mask == second.mask).all() or not mask.any():
                continue
            if not _large_enough(mask, computers):
                too_small += 1
            elif versions and not self._is_associated(versions[0], durations_ns, computers):
                # Count it as tested.
                not_tried += 1
            else:
                groups.append(_Group(first.parts + second.parts, mask))
        for change in self.drift(transition):
            mask = numpy.array([(run["recorded_utc"] or "") >= change.first_after_utc for run in runs], dtype=bool)
            if _large_enough(mask, computers):
                groups.append(_Group((("since", change.first_after_utc),), mask))
        return groups, too_small, not_tried

    def _parts(self, runs: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, str], Any]]:
        """Yields attribute values, then module versions, each with a mask of the runs that have it."""
        import numpy

        for attribute in self.attributes:
            values = [run[attribute] for run in runs]
            for value in sorted({value for value in values if value not in (None, "")}):
                yield (attribute, value), numpy.array([run_value == value for run_value in values], dtype=bool)
        if "versions" not in self._tables():
            return
        run_indices: dict[str, list[int]] = {}
        for index, run in enumerate(runs):
            run_indices.setdefault(run["recording"], []).append(index)
        versions = self._database.execute(
            """SELECT module, version, list(DISTINCT recording) FROM versions GROUP BY module, version
               HAVING count(DISTINCT recording) BETWEEN 2 AND (SELECT count(*) - 1 FROM recordings) ORDER BY module, version"""
        )
        while rows := versions.fetchmany(1000):
            for module, version, recordings in rows:
                mask: Any = numpy.zeros(len(runs), dtype=bool)
                mask[[index for recording in recordings for index in run_indices.get(recording, ())]] = True
                if mask.any():
                    yield (module, version), mask

    @staticmethod
    def _is_associated(group: _Group, durations_ns: Any, computers: Any) -> bool:
        """Returns whether the runs of a group are slower at a one-sided significance level of 5 %."""
        comparison = _compare(durations_ns[group.mask], durations_ns[~group.mask], computers[group.mask], computers[~group.mask])
        return comparison is not None and comparison.z > 0 and comparison.p < 0.1

    def _best(self, candidates: list[_Group], durations_ns: Any, computers: Any, tried: int) -> Optional[tuple[_Group, Difference, float]]:
        """Returns the most significant group, its difference, and its corrected p-value."""
        min_z = _critical_z(CHANCE / tried)
        significant = []
        for group in candidates:
            comparison = _compare(durations_ns[group.mask], durations_ns[~group.mask], computers[group.mask], computers[~group.mask])
            if comparison is not None and comparison.z >= min_z:
                excess = comparison.shift(0.0) - _min_effect(durations_ns[~group.mask])
                if excess >= 0:
                    significant.append((group, comparison, excess))
        # Prefer simpler groups among equally significant ones.
        significant.sort(key=lambda candidate: (-candidate[1].z, len(candidate[0].parts)))
        for group, comparison, excess in significant:
            margins = [excess, comparison.shift(min_z)]
            if len(group.parts) > 1:
                within = self._within_parts(group, candidates, durations_ns, computers)
                if within is None or any(part.z < min_z for part in within):
                    continue
                margins += [part.shift(min_z) for part in within]
            return group, comparison.difference(min(margins)), min(1.0, comparison.p * tried)
        return None

    def _within_parts(self, pair: _Group, candidates: list[_Group], durations_ns: Any, computers: Any) -> Optional[list[_Comparison]]:
        """Compares a pair with the other runs of each of its parts; ``None`` if a comparison is not possible."""
        comparisons = []
        for part in pair.parts:
            single = next((group for group in candidates if group.parts == (part,)), None)
            if single is None:
                return None
            others = single.mask & ~pair.mask
            comparison = _compare(durations_ns[pair.mask], durations_ns[others], computers[pair.mask], computers[others])
            if comparison is None:
                return None
            comparisons.append(comparison)
        return comparisons

    def _subject(self, transition: str, runs: list[dict[str, Any]], mask: Any) -> dict[str, Any]:
        """Returns the subject whose time in the account differs most between a group and the rest. To avoid selection
        bias, it is selected on every second computer and its mean difference is measured on the others."""
        no_subject = {"subject": "", "subject_phase": "", "subject_ns": None}
        if "account" not in self._tables():
            return no_subject
        names = [run["computer"] or run["recording"] for run in runs]
        members = {name for name, is_in in zip(names, mask) if is_in}
        ordered = sorted(set(names), key=lambda name: (name not in members, name))
        selecting = set(ordered[::2])
        rows = self._database.execute(
            """WITH side AS (SELECT unnest($recordings) AS recording, unnest($inside) AS is_in, unnest($selecting) AS is_selecting),
                    counted AS (SELECT is_selecting, count(*) FILTER (is_in) AS in_count, count(*) FILTER (NOT is_in) AS out_count FROM side GROUP BY 1),
                    compared AS (
                        SELECT subject, phase, is_selecting,
                               coalesce(sum(ns) FILTER (is_in), 0) / any_value(in_count) - coalesce(sum(ns) FILTER (NOT is_in), 0) / any_value(out_count) AS more
                        FROM account JOIN side USING (recording) JOIN counted USING (is_selecting)
                        WHERE transition = $transition AND kind <> 'idle' AND in_count > 0 AND out_count > 0 GROUP BY ALL)
               SELECT selected.subject, selected.phase, measured.more
               FROM (SELECT * FROM compared WHERE is_selecting AND more > 0 ORDER BY more DESC, subject, phase LIMIT 1) AS selected
               JOIN compared AS measured ON measured.subject = selected.subject AND measured.phase = selected.phase AND NOT measured.is_selecting""",
            {
                "recordings": [run["recording"] for run in runs],
                "inside": [bool(is_in) for is_in in mask],
                "selecting": [name in selecting for name in names],
                "transition": transition,
            },
        ).fetchall()
        if not rows or rows[0][2] <= 0:
            return no_subject
        [(subject, phase, more_ns)] = rows
        return {"subject": subject, "subject_phase": phase, "subject_ns": int(more_ns)}


class Explanations(NamedTuple):
    """Factors associated with slow runs."""

    found: Records
    """Significant factors, strongest first."""
    tried: int
    """Number of tested groups."""
    too_small: int
    """Number of groups with too few runs or computers."""
    runs: int
    """Number of runs with a known duration."""

    def __repr__(self) -> str:
        if not self.found:
            return f"<no significant factors: {self.tried} groups tested, {self.too_small} too small, {self.runs} runs>"
        return "\n".join(
            f"{factor.what}: {slower(factor)}, {factor.runs} runs on {factor.computers} computers"
            + (f"; largest contributor {factor.subject} in {factor.subject_phase}" if factor.subject else "")
            + (f"; same runs as {', '.join(factor.same_runs_as)}" if factor.same_runs_as else "")
            for factor in self.found
        )


def slower(factor: Record) -> str:
    """Formats the difference of a group, as an upper bound if its interval includes 0."""
    if factor.low_ns <= 0:
        return f"at most {seconds(factor.high_ns)} slower (95 % interval)"
    return f"{seconds(factor.effect_ns)} slower (95 % interval {seconds(factor.low_ns)} to {seconds(factor.high_ns)})"


class _Group:
    def __init__(self, parts: tuple[tuple[str, str], ...], mask: Any) -> None:
        self.parts = parts
        self.mask = mask
        self.also: list[str] = []
        """Names of merged groups with the same runs."""

    @property
    def name(self) -> str:
        return " and ".join(f"{attribute} {'' if attribute == 'since' else '= '}{value}" for attribute, value in self.parts)


def _codes(names: list[str]) -> Any:
    import numpy

    return numpy.unique(numpy.array(names, dtype=object).astype(str), return_inverse=True)[1]


def _large_enough(mask: Any, computers: Any) -> bool:
    sides = (mask, ~mask)
    return all(side.sum() >= MIN_RUNS and len(set(computers[side].tolist())) >= MIN_COMPUTERS for side in sides)


def _min_effect(durations_ns: Any) -> float:
    """Returns the minimum relevant difference for runs of this duration."""
    import numpy

    return max(float(MIN_EFFECT_NS), MIN_EFFECT_SHARE * float(numpy.median(durations_ns)))


def _evenly_spaced(values: range, count: int) -> Union[range, list[int]]:
    return values if len(values) <= count else [values[index * (len(values) - 1) // (count - 1)] for index in range(count)]


def _quantile(sorted_ns: list[int], share: float) -> int:
    """Returns the smallest value that is greater than or equal to this share of the values."""
    return sorted_ns[min(len(sorted_ns) - 1, max(0, math.ceil(share * len(sorted_ns)) - 1))]


def _by_computer(durations_ns: Any, computers: Any) -> Any:
    """Returns the median of each computer's runs, because they are not independent."""
    import numpy

    order = numpy.lexsort((durations_ns, computers))
    values, codes = durations_ns[order], computers[order]
    starts = numpy.flatnonzero(numpy.r_[True, codes[1:] != codes[:-1]])
    counts = numpy.diff(numpy.r_[starts, len(codes)])
    return (values[starts + (counts - 1) // 2] + values[starts + counts // 2]) / 2


def _compare(first: Any, second: Any, first_computers: Any, second_computers: Any) -> Optional[_Comparison]:
    """Compares two groups; ``None`` if one is too small or all values are equal."""
    import numpy

    if len(first) < MIN_RUNS or len(second) < MIN_RUNS:
        return None
    first, second = _by_computer(first, first_computers), _by_computer(second, second_computers)
    first_count, second_count = len(first), len(second)
    if first_count < MIN_COMPUTERS or second_count < MIN_COMPUTERS:
        return None
    combined = numpy.concatenate((first, second))
    _, inverse, counts = numpy.unique(combined, return_inverse=True, return_counts=True)
    ranks = (numpy.cumsum(counts) - (counts - 1) / 2)[inverse]
    total = first_count + second_count
    u = ranks[:first_count].sum() - first_count * (first_count + 1) / 2
    ties = float((counts**3 - counts).sum()) / (total * (total - 1))
    deviation = math.sqrt(max(0.0, first_count * second_count / 12 * (total + 1 - ties)))
    if deviation == 0:
        return None
    return _Comparison(first, second, deviation, float((u - first_count * second_count / 2) / deviation))


def _verdict(passed: Optional[bool], reason: str) -> dict[str, Any]:
    """Returns the verdict and exit code as in ``onoff gate``."""
    verdict, exit_code = {True: ("pass", 0), False: ("regression", 1), None: ("no_verdict", 2)}[passed]
    return {"passed": passed, "verdict": verdict, "exit_code": exit_code, "why": reason if passed is not None else f"Unknown: {reason}"}


def _more_computers(difference: Difference, limit: float, baseline: int, candidate: int) -> Optional[int]:
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


def _log_tail(z: float) -> float:
    """Returns the logarithm of the upper tail probability of the normal distribution."""
    if z < 30:
        return math.log(math.erfc(z / math.sqrt(2)) / 2)
    return -z * z / 2 - math.log(z * math.sqrt(2 * math.pi))


def _critical_z(significance: float) -> float:
    """Returns the critical ``z`` of a two-sided test at this significance level."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > significance else (low, middle)
    return high


def _best_split(splits: Iterable[int], durations_ns: Any, computers: Any, start: int, end: int) -> Optional[tuple[int, _Comparison]]:
    """Returns the most significant split of a range of runs, with the comparison of the runs after and before it."""
    comparisons = []
    for split in splits:
        comparison = _compare(durations_ns[split:end], durations_ns[start:split], computers[split:end], computers[start:split])
        if comparison is not None:
            comparisons.append((split, comparison))
    return max(comparisons, key=lambda candidate: abs(candidate[1].z), default=None)


def _even_indices(length: int) -> Any:
    import numpy

    return numpy.linspace(0, length - 1, _MAX_PAIRED).round().astype(int)


def fleet(runs: Path, tags: Optional[Path] = None) -> Fleet:
    """Opens the tables written by ``onoff.summaries``. ``tags`` is a CSV or Parquet file with a column ``computer`` or
    ``recording``, and one column per additional attribute, such as a driver version."""
    return Fleet(runs, tags)
