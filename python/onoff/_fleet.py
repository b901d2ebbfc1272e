"""What a fleet says: medians and tails, the slowest, what explains the slow tail, what changed when, and a gate for two cohorts."""

from __future__ import annotations

import html
import itertools
import math
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple, Optional, Union

from ._answers import Record, Records, seconds
from ._delta import files, is_delta
from ._errors import NothingToAnswer, UsageError
from ._recording import Path

ATTRIBUTES = ("model", "firmware", "os", "os_build", "processor", "processors", "memory_bytes")
"""What recordings say of their computer; files of tags add others."""

LEAST_RUNS = 10
"""Runs that a group, and the rest, must have before anything is said of it."""
LEAST_COMPUTERS = 5
"""Computers that they must be of: runs of one computer are one opinion."""
LEAST_EFFECT_NS = 300_000_000
"""Smaller differences are not reported: the cost below which no finding of one recording is either."""
LEAST_EFFECT_SHARE = 0.03
"""Nor those below this share of the median."""
CHANCE = 0.01
"""How likely it may be that a healthy fleet shows anything at all, of all that was tried."""
_MOST_EXPLANATIONS = 10
_DATES = 60
"""Dates that are tried as the one at which something changed."""
_PAIRED = 400
"""Runs of a side whose differences are taken in pairs, spread evenly over the sorted ones."""
_NORMAL_95 = 1.959964


class Difference(NamedTuple):
    """How much longer one group took than another: the median of all differences between two of them (Hodges and Lehmann), its 95 %
    interval, and how likely a difference as large is by chance (Mann and Whitney)."""

    ns: int
    low_ns: int
    high_ns: int
    p: float
    z: float


class Fleet:
    """The rows of ``onoff.summaries``, as a fleet of computers."""

    def __init__(self, runs: Path, tags: Optional[Path] = None) -> None:
        try:
            import duckdb
            import numpy  # noqa: F401
        except ImportError:
            raise UsageError("A fleet needs DuckDB and NumPy: pip install 'onoff-perf[fleet]'") from None
        self.folder = os.fspath(runs)
        if not os.path.isdir(os.path.join(self.folder, "recordings")):
            raise UsageError(f"{self.folder}: no rows here; 'onoff.summaries' writes them")
        self._database = duckdb.connect()
        for table in ("recordings", "transitions", "phases", "account", "versions"):
            parts = FilePath(self.folder) / table
            if is_delta(parts):
                found = files(parts)
            else:
                found = [str(part) for part in sorted(parts.glob("*.parquet"))]
            if found:
                listed = ", ".join("'" + part.replace("'", "''") + "'" for part in found)
                self._database.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet([{listed}])")
        self.attributes: tuple[str, ...] = ATTRIBUTES
        self._database.execute("CREATE TABLE tags (nothing INTEGER)")
        self._tag_key: Optional[str] = None
        if tags is not None:
            self._read_tags(os.fspath(tags))
        if "transitions" not in self._tables():
            raise NothingToAnswer(f"{self.folder}: no recording in it holds a transition")

    def _tables(self) -> set[str]:
        return {name for (name,) in self._database.execute("SELECT view_name FROM duckdb_views()").fetchall()}

    def _read_tags(self, path: str) -> None:
        quoted = path.replace("'", "''")
        reader = "read_parquet" if path.endswith(".parquet") else "read_csv_auto"
        self._database.execute(f"CREATE OR REPLACE TABLE tags AS SELECT * FROM {reader}('{quoted}')")
        columns = [row[0] for row in self._database.execute("DESCRIBE tags").fetchall()]
        key = next((column for column in columns if column in ("recording", "computer")), None)
        if key is None:
            raise UsageError(f"{path}: a file of tags has a column 'recording' (the SHA-256) or 'computer', and one for each tag")
        counted = self._database.execute(f'SELECT count(*), count(DISTINCT "{key}") FROM tags').fetchall()[0]
        if counted[0] != counted[1]:
            raise UsageError(f"{path}: the column '{key}' names one {key} more than once")
        self._tag_key = key
        self.attributes = (*ATTRIBUTES, *(column for column in columns if column not in ("recording", "computer")))

    def runs(self, transition: str = "boot") -> list[dict[str, Any]]:
        """Every run of the transition whose length is known, with the attributes of its computer, in the order of time."""
        tagged = "" if self._tag_key is None else f"LEFT JOIN tags AS g ON g.\"{self._tag_key}\" = r.\"{self._tag_key}\""
        names = ", ".join(f'CAST({"r" if name in ATTRIBUTES else "g"}."{name}" AS VARCHAR) AS "{name}"' for name in self.attributes)
        found = self._database.execute(
            f"""SELECT t.recording, t.number, r.path, r.computer, r.recorded_utc, t.variant, t.duration_ns, t.longest_phase, t.longest_phase_ns,
                       t.culprit, t.culprit_ns, {names}
                FROM transitions AS t JOIN recordings AS r USING (recording) {tagged}
                WHERE t.transition = ? AND t.duration_ns IS NOT NULL
                ORDER BY r.recorded_utc, t.recording, t.number""",
            [transition],
        )
        columns = [column[0] for column in found.description]
        return [dict(zip(columns, row)) for row in found.fetchall()]

    def phases(self, by: Optional[str] = None, transition: str = "boot") -> Records:
        """Medians and tails of the transition and of each phase, by an attribute or of all. ``computers`` are those that have runs."""
        if by is not None and by not in self.attributes:
            raise UsageError(f"by: {by!r} is none of {', '.join(self.attributes)}")
        runs = {(run["recording"], run["number"]): run for run in self.runs(transition)}
        lengths = [(recording, number, "all", -1, run["duration_ns"]) for (recording, number), run in runs.items()]
        if "phases" in self._tables():
            lengths += self._database.execute(
                "SELECT recording, number, phase, min(place), sum(duration_ns) FROM phases "
                "WHERE transition = ? AND duration_ns IS NOT NULL GROUP BY ALL",
                [transition],
            ).fetchall()
        groups: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
        for recording, number, phase, place, length in lengths:
            run = runs.get((recording, number))
            if run is not None:
                value = "" if by is None else str(run[by] or "")
                groups.setdefault((value, phase), []).append((length, place, run["computer"]))
        rows = []
        for (value, phase), its in groups.items():
            sorted_ns = sorted(length for length, _, _ in its)
            rows.append(
                {
                    "group": value,
                    "phase": phase,
                    "place": min(place for _, place, _ in its),
                    "runs": len(its),
                    "computers": len({computer for _, _, computer in its}),
                    "median_ns": _quantile(sorted_ns, 0.5),
                    "p90_ns": _quantile(sorted_ns, 0.9),
                    "p99_ns": _quantile(sorted_ns, 0.99),
                    "longest_ns": sorted_ns[-1],
                }
            )
        rows.sort(key=lambda row: (row["group"], row["place"], row["phase"]))
        return Records(Record(row) for row in rows)

    def slowest(self, count: int = 10, transition: str = "boot") -> Records:
        """The runs that took longest, each with its longest phase and who held that."""
        runs = sorted(self.runs(transition), key=lambda run: -run["duration_ns"])
        names = ("computer", "duration_ns", "longest_phase", "longest_phase_ns", "culprit", "culprit_ns", "recorded_utc", "path")
        return Records(Record({name: run[name] for name in names}) for run in runs[:count])

    def explain(self, transition: str = "boot") -> Explanations:
        """Which attributes, versions of modules, pairs of them, and dates go with slow runs.

        Tried is every value of every attribute, every version of a driver, program or library, every pair of values (one of them an
        attribute), and every date of ``drift``; the chance of a difference counts as many times as something was tried, and groups of the
        same runs were tried once. Said is what is left: slower by ``LEAST_EFFECT_NS`` and by ``LEAST_EFFECT_SHARE`` at least, in groups of
        ``LEAST_RUNS`` runs of ``LEAST_COMPUTERS`` computers. The strongest is taken out before the next is looked for. That a group is
        slower does not say that what it has in common made it so: ``same_runs_as`` lists what cannot be separated from it, ``subject`` whose time
        grew most.
        """
        import numpy

        runs = self.runs(transition)
        lengths = numpy.array([run["duration_ns"] for run in runs], dtype=float)
        computers = _codes([run["computer"] or run["recording"] for run in runs])
        candidates, too_small, not_tried = self._candidates(transition, runs, lengths, computers)
        # Dates were tried where a change was looked for.
        tried = len(candidates) + not_tried + _DATES
        found: list[Record] = []
        settled: list[Any] = []
        while candidates and len(found) < _MOST_EXPLANATIONS:
            best = self._best(candidates, lengths, computers, tried)
            if best is None:
                break
            group, difference = best
            same = group.also + [other.name for other in candidates if other is not group and (other.mask == group.mask).all()]
            before = group.mask
            found.append(
                Record(
                    {
                        "what": group.name,
                        "effect_ns": difference.ns,
                        "low_ns": difference.low_ns,
                        "high_ns": difference.high_ns,
                        "chance": min(1.0, difference.p * tried),
                        "runs": int(before.sum()),
                        "computers": len(set(computers[before].tolist())),
                        "rest": int((~before).sum()),
                        "same_runs_as": same,
                        **self._subject(transition, runs, before),
                    }
                )
            )
            settled.append(before)
            # The next is looked for among what this does not explain.
            lengths = lengths.copy()
            lengths[before] -= numpy.median(lengths[before]) - numpy.median(lengths[~before])
            candidates = [other for other in candidates if not any((other.mask == mask).all() for mask in settled)]
        return Explanations(Records(found), tried, too_small, len(runs))

    def drift(self, transition: str = "boot") -> Records:
        """When the transition became slower or faster: dates that divide the runs into a before and an after that differ, most certain
        first of each stretch of time, in the order of time."""
        import numpy

        runs = [run for run in self.runs(transition) if run["recorded_utc"]]
        lengths = numpy.array([run["duration_ns"] for run in runs], dtype=float)
        computers = _codes([run["computer"] or run["recording"] for run in runs])
        found: list[dict[str, Any]] = []
        stretches = [(0, len(runs))]
        while stretches and len(found) < _MOST_EXPLANATIONS:
            start, end = stretches.pop()
            splits = range(start + LEAST_RUNS, end - LEAST_RUNS + 1)
            if not splits:
                continue
            best: Optional[tuple[float, int, Difference]] = None
            for split in _spread(splits, _DATES):
                difference = _between(lengths[split:end], lengths[start:split], computers[split:end], computers[start:split])
                if difference is not None and (best is None or abs(difference.z) > best[0]):
                    best = (abs(difference.z), split, difference)
            if best is None or best[2].p * len(_spread(splits, _DATES)) > CHANCE or not _matters(abs(best[2].ns), lengths[start:end]):
                continue
            step = max(1, len(splits) // _DATES)
            for split in range(max(splits[0], best[1] - step), min(splits[-1], best[1] + step) + 1):
                difference = _between(lengths[split:end], lengths[start:split], computers[split:end], computers[start:split])
                if difference is not None and abs(difference.z) > best[0]:
                    best = (abs(difference.z), split, difference)
            _, split, difference = best
            found.append(
                {
                    "last_before_utc": runs[split - 1]["recorded_utc"],
                    "first_after_utc": runs[split]["recorded_utc"],
                    "effect_ns": difference.ns,
                    "low_ns": difference.low_ns,
                    "high_ns": difference.high_ns,
                    "runs_before": split - start,
                    "runs_after": end - split,
                }
            )
            stretches += [(start, split), (split, end)]
        return Records(Record(row) for row in sorted(found, key=lambda row: row["first_after_utc"]))

    def gate(
        self,
        baseline: Mapping[str, Any],
        candidate: Mapping[str, Any],
        transition: str = "boot",
        limit_ns: int = LEAST_EFFECT_NS,
        limit_share: float = LEAST_EFFECT_SHARE,
    ) -> Record:
        """Whether the runs of one cohort are slower than those of another: cohorts are attributes and their values, such as
        ``{"os_build": 19045}``. ``passed`` is ``None`` where the cohorts are too small to say."""
        import numpy

        runs = self.runs(transition)
        for cohort in (baseline, candidate):
            unknown = [name for name in cohort if name not in self.attributes]
            if unknown or not cohort:
                raise UsageError(f"a cohort names attributes ({', '.join(self.attributes)}), not {', '.join(unknown) or 'nothing'}")

        def of(cohort: Mapping[str, Any]) -> Any:
            return numpy.array([all(str(run[name]) == str(value) for name, value in cohort.items()) for run in runs], dtype=bool)

        before, after = of(baseline), of(candidate)
        if (before & after).any():
            raise UsageError("the cohorts have runs in common")
        lengths = numpy.array([run["duration_ns"] for run in runs], dtype=float)
        computers = _codes([run["computer"] or run["recording"] for run in runs])
        difference = _between(lengths[after], lengths[before], computers[after], computers[before])
        answer: dict[str, Any] = {"baseline_runs": int(before.sum()), "candidate_runs": int(after.sum())}
        if difference is None:
            return Record({**answer, "passed": None, "why": f"Not known: a cohort has fewer than {LEAST_RUNS} runs of {LEAST_COMPUTERS} computers."})
        median = float(numpy.median(lengths[before]))
        limit = max(limit_ns, limit_share * median)
        # Closed only where the interval excludes no difference, and the difference is over the limit.
        slower = difference.ns > limit and difference.low_ns > 0 and difference.p <= 0.05
        said = f"{seconds(abs(difference.ns))} {'slower' if difference.ns > 0 else 'faster'} (95 % interval {seconds(difference.low_ns)} to {seconds(difference.high_ns)})"
        return Record(
            {
                **answer,
                "passed": not slower,
                "effect_ns": difference.ns,
                "low_ns": difference.low_ns,
                "high_ns": difference.high_ns,
                "p": difference.p,
                "limit_ns": int(limit),
                "why": said,
            }
        )

    def html(self, path: Path, transition: str = "boot") -> None:
        """Writes a page about the fleet: one file that loads nothing. A file that is there is replaced."""
        from ._fleet_page import page

        text = page(self, transition)
        target = os.fspath(path)
        # Of a name that no other writer of the same page has.
        unfinished = f"{target}.{uuid.uuid4().hex}.unfinished"
        with open(unfinished, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(unfinished, target)

    def __repr__(self) -> str:
        [(recordings, computers)] = self._database.execute("SELECT count(*), count(DISTINCT computer) FROM recordings").fetchall()
        return f"<fleet of {computers:,} computers: {recordings:,} recordings>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self.phases()._repr_html_()}"

    def _candidates(self, transition: str, runs: list[dict[str, Any]], lengths: Any, computers: Any) -> tuple[list[_Group], int, int]:
        """The groups that are large enough; how many are not; how many are that need no look, because the version in them goes with no
        slow runs."""
        import numpy

        # Groups of the same runs are one with several names, attributes first: the modules of one update have their versions on the
        # same computers.
        singles: dict[bytes, _Group] = {}
        too_small = 0
        for part, mask in self._parts(runs):
            if mask.all():
                continue
            if not _large_enough(mask, computers):
                too_small += 1
                continue
            group = _Group((part,), mask)
            same = singles.setdefault(mask.tobytes(), group)
            if same is not group:
                same.also.append(group.name)
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
            elif versions and not self._may_matter(versions[0], lengths, computers):
                # It counts as tried all the same.
                not_tried += 1
            else:
                groups.append(_Group(first.parts + second.parts, mask))
        for change in self.drift(transition):
            mask = numpy.array([(run["recorded_utc"] or "") >= change.first_after_utc for run in runs], dtype=bool)
            if _large_enough(mask, computers):
                groups.append(_Group((("since", change.first_after_utc),), mask))
        return groups, too_small, not_tried

    def _parts(self, runs: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, str], Any]]:
        """What a run can have, attributes first, then versions of modules, each with the runs that have it."""
        import numpy

        for attribute in self.attributes:
            values = [run[attribute] for run in runs]
            for value in sorted({value for value in values if value not in (None, "")}):
                yield (attribute, value), numpy.array([each == value for each in values], dtype=bool)
        if "versions" not in self._tables():
            return
        places: dict[str, list[int]] = {}
        for place, run in enumerate(runs):
            places.setdefault(run["recording"], []).append(place)
        found = self._database.execute(
            """SELECT module, version, list(DISTINCT recording) FROM versions GROUP BY module, version
               HAVING count(DISTINCT recording) BETWEEN 2 AND (SELECT count(*) - 1 FROM recordings) ORDER BY module, version"""
        )
        while rows := found.fetchmany(1000):
            for module, version, recordings in rows:
                mask: Any = numpy.zeros(len(runs), dtype=bool)
                mask[[place for recording in recordings for place in places.get(recording, ())]] = True
                if mask.any():
                    yield (module, version), mask

    @staticmethod
    def _may_matter(group: _Group, lengths: Any, computers: Any) -> bool:
        """Whether the runs of a group are slower by themselves, by a measure that lets one in twenty through by chance."""
        difference = _between(lengths[group.mask], lengths[~group.mask], computers[group.mask], computers[~group.mask])
        return difference is not None and difference.z > 0 and difference.p < 0.1

    def _best(self, candidates: list[_Group], lengths: Any, computers: Any, tried: int) -> Optional[tuple[_Group, Difference]]:
        """The group that divides slow from other runs best, of those that say something."""
        measured = []
        for group in candidates:
            difference = _between(lengths[group.mask], lengths[~group.mask], computers[group.mask], computers[~group.mask])
            if difference is None or difference.z <= 0 or difference.p * tried > CHANCE:
                continue
            if difference.low_ns > 0 and _matters(difference.ns, lengths[~group.mask]):
                measured.append((group, difference))
        # Of two that divide equally well the simpler one.
        measured.sort(key=lambda each: (-each[1].z, len(each[0].parts)))
        for group, difference in measured:
            if len(group.parts) == 1 or self._needs_both(group, candidates, lengths, computers, tried):
                return group, difference
        return None

    def _needs_both(self, pair: _Group, candidates: list[_Group], lengths: Any, computers: Any, tried: int) -> bool:
        """Whether each part of a pair makes a difference among the runs that have the other."""
        for part in pair.parts:
            single = next((group for group in candidates if group.parts == (part,)), None)
            if single is None:
                return False
            others = single.mask & ~pair.mask
            difference = _between(lengths[pair.mask], lengths[others], computers[pair.mask], computers[others])
            if difference is None or difference.z <= 0 or difference.p * tried > CHANCE:
                return False
        return True

    def _subject(self, transition: str, runs: list[dict[str, Any]], mask: Any) -> dict[str, Any]:
        """Whose time in the account differs most between the runs of a group and the others, on average over all of them."""
        nothing = {"subject": "", "subject_phase": "", "subject_ns": None}
        if "account" not in self._tables():
            return nothing
        inside = [run["recording"] for run, is_in in zip(runs, mask) if is_in]
        outside = [run["recording"] for run, is_in in zip(runs, mask) if not is_in]
        found = self._database.execute(
            """WITH side AS (SELECT unnest($inside) AS recording, TRUE AS is_in UNION ALL SELECT unnest($outside), FALSE)
               SELECT subject, phase,
                      coalesce(sum(ns) FILTER (is_in), 0) / $many - coalesce(sum(ns) FILTER (NOT is_in), 0) / $rest AS more
               FROM account JOIN side USING (recording) WHERE transition = $transition AND kind <> 'idle' GROUP BY ALL
               ORDER BY more DESC NULLS LAST LIMIT 1""",
            {"inside": inside, "outside": outside, "many": len(inside), "rest": max(1, len(outside)), "transition": transition},
        ).fetchall()
        if not found or found[0][2] is None or found[0][2] <= 0:
            return nothing
        return {"subject": found[0][0], "subject_phase": found[0][1], "subject_ns": int(found[0][2])}


class Explanations(NamedTuple):
    """What goes with slow runs."""

    found: Records
    """Strongest first; none where nothing is beyond chance."""
    tried: int
    """Groups that were looked at."""
    too_small: int
    """Groups with too few runs or computers to say anything about."""
    runs: int
    """Runs of the transition whose length is known."""

    def __repr__(self) -> str:
        if not self.found:
            return f"<no explanation beyond chance: {self.tried} groups tried, {self.too_small} too small, {self.runs} runs>"
        return "\n".join(
            f"{each.what}: {seconds(each.effect_ns)} slower (95 % interval {seconds(each.low_ns)} to {seconds(each.high_ns)}), "
            f"{each.runs} runs of {each.computers} computers"
            + (f"; most of it {each.subject} in {each.subject_phase}" if each.subject else "")
            + (f"; cannot be separated from {', '.join(each.same_runs_as)}" if each.same_runs_as else "")
            for each in self.found
        )


class _Group:
    def __init__(self, parts: tuple[tuple[str, str], ...], mask: Any) -> None:
        self.parts = parts
        self.mask = mask
        self.also: list[str] = []
        """Other names of the same runs."""

    @property
    def name(self) -> str:
        return " and ".join(f"{attribute} {'' if attribute == 'since' else '= '}{value}" for attribute, value in self.parts)


def _codes(names: list[str]) -> Any:
    import numpy

    return numpy.unique(numpy.array(names, dtype=object).astype(str), return_inverse=True)[1]


def _large_enough(mask: Any, computers: Any) -> bool:
    sides = (mask, ~mask)
    return all(side.sum() >= LEAST_RUNS and len(set(computers[side].tolist())) >= LEAST_COMPUTERS for side in sides)


def _matters(effect_ns: float, lengths: Any) -> bool:
    import numpy

    return effect_ns >= max(LEAST_EFFECT_NS, LEAST_EFFECT_SHARE * float(numpy.median(lengths)))


def _spread(of: range, most: int) -> Union[range, list[int]]:
    return of if len(of) <= most else [of[number * (len(of) - 1) // (most - 1)] for number in range(most)]


def _quantile(sorted_ns: list[int], share: float) -> int:
    """The smallest value that this share of them does not exceed."""
    return sorted_ns[min(len(sorted_ns) - 1, max(0, math.ceil(share * len(sorted_ns)) - 1))]


def _by_computer(lengths: Any, computers: Any) -> Any:
    """One value for each computer, the median of its runs: those of one computer are alike, and count once."""
    import numpy

    order = numpy.lexsort((lengths, computers))
    values, codes = lengths[order], computers[order]
    starts = numpy.flatnonzero(numpy.r_[True, codes[1:] != codes[:-1]])
    counts = numpy.diff(numpy.r_[starts, len(codes)])
    return (values[starts + (counts - 1) // 2] + values[starts + counts // 2]) / 2


def _between(first: Any, second: Any, first_computers: Any, second_computers: Any) -> Optional[Difference]:
    """How much longer the first took; ``None`` where either is too small to say."""
    import numpy

    if len(first) < LEAST_RUNS or len(second) < LEAST_RUNS:
        return None
    first, second = _by_computer(first, first_computers), _by_computer(second, second_computers)
    many, others = len(first), len(second)
    if many < LEAST_COMPUTERS or others < LEAST_COMPUTERS:
        return None
    both = numpy.concatenate((first, second))
    _, inverse, counts = numpy.unique(both, return_inverse=True, return_counts=True)
    ranks = (numpy.cumsum(counts) - (counts - 1) / 2)[inverse]
    all_of_them = many + others
    larger = ranks[:many].sum() - many * (many + 1) / 2
    ties = float((counts**3 - counts).sum()) / (all_of_them * (all_of_them - 1))
    deviation = math.sqrt(max(0.0, many * others / 12 * (all_of_them + 1 - ties)))
    if deviation == 0:
        return None
    z = (larger - many * others / 2) / deviation
    few, rest = (each if len(each) <= _PAIRED else numpy.sort(each)[_even(len(each))] for each in (first, second))
    differences = numpy.sort((few[:, None] - rest[None, :]).ravel())
    # Of the normal approximation, with the sizes of all: what was spread evenly is taken in their place.
    half = _NORMAL_95 * math.sqrt((all_of_them + 1) / (12 * many * others))
    at = [min(len(differences) - 1, max(0, int(len(differences) * share))) for share in (0.5, 0.5 - half, 0.5 + half)]
    median, low, high = (int(differences[place]) for place in at)
    return Difference(median, low, high, math.erfc(abs(z) / math.sqrt(2)), float(z))


def _even(length: int) -> Any:
    import numpy

    return numpy.linspace(0, length - 1, _PAIRED).round().astype(int)


def fleet(runs: Path, tags: Optional[Path] = None) -> Fleet:
    """Opens the rows that ``onoff.summaries`` wrote. ``tags`` is a file (CSV or Parquet) with a column ``computer`` or ``recording`` and
    one for each further attribute, such as a driver's version."""
    return Fleet(runs, tags)
