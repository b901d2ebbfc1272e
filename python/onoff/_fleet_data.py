"""The database of a fleet: the tables of ``onoff.summaries``, tags, and the runs of a transition as columns."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple, Optional, Union

from ._compaction import check_finished
from ._errors import MissingFileError, NothingToAnswer, UnreadableError, UsageError
from ._sample import Group, Sample, attribute_groups, module_groups
from ._stored import IS_UP_TO_DATE, table_files
from ._summaries import TABLES as SUMMARY_TABLES

ATTRIBUTES = ("model", "firmware", "os", "os_build", "processor", "processors", "memory_bytes")
"""Attributes of computers in recordings; tags add others."""
KEYS = ("recording", "computer")
"""Columns that can identify the rows of tags."""
RESERVED = (
    *ATTRIBUTES,
    *("all", "number", "path", "recorded_utc", "variant", "duration_ns", "phase_ns", "subject", "subject_ns"),
    *("run", "code", "kind", "transition", "since", "before", "group", "phase"),
)
"""Names that tags cannot have."""
TABLES = ("recordings", "transitions", "phases", "account", "versions")
_OLD_NAMES = {"longest_phase": "phase", "longest_phase_ns": "phase_ns", "culprit": "subject", "culprit_ns": "subject_ns"}
"""Columns of ``transitions`` that earlier versions wrote, with their names."""
TRANSITIONS = ("boot", "shutdown", "suspend", "netboot")
_MAX_SUBJECTS = 400
"""Maximum number of subjects compared, largest first. Their choice does not depend on the groups."""
_VERSION_ROWS = 4_000_000
"""Maximum number of rows of module versions read at once."""


class Tags(NamedTuple):
    """Attributes given by the user."""

    key: str
    names: tuple[str, ...]
    unmatched: int
    """Rows whose computer or recording is not in the fleet."""
    untagged: int
    """Computers or recordings of the fleet without a row."""


def connect(runs: Union[str, Mapping[str, Any]]) -> Any:
    """Opens the tables in a folder or in memory as views."""
    try:
        import duckdb
        import numpy  # noqa: F401
    except ImportError:
        raise UsageError("Fleet analysis requires DuckDB and NumPy: pip install 'onoff-perf[fleet]'") from None
    database = duckdb.connect()
    if isinstance(runs, str):
        sources = _sources_in(database, runs)
    else:
        sources = _register(database, runs)
    for table, source in sources.items():
        try:
            selected = _renamed(database, source) if table == "transitions" else "*"
            database.execute(f"CREATE VIEW {table} AS SELECT {selected} FROM {source}")
        except duckdb.Error as error:
            raise UnreadableError(f"{os.path.join(runs, table) if isinstance(runs, str) else table}: {error}") from None
    if "transitions" not in views(database):
        raise NothingToAnswer(f"{runs if isinstance(runs, str) else 'tables'}: no recording with a transition")
    return database


def _sources_in(database: Any, folder: str) -> dict[str, str]:
    """Returns the tables in a folder: one folder for each, as ``onoff.summaries`` writes them, or one table with a row
    for each recording and the other tables nested in it, as Spark writes them."""
    if os.path.isdir(os.path.join(folder, "recordings")):
        check_finished(FilePath(folder))
        paths_of = {table: table_files(FilePath(folder) / table) for table in TABLES}
        return {table: _parquet(paths) for table, paths in paths_of.items() if paths}
    paths = table_files(FilePath(folder))
    if not paths:
        raise UsageError(f"{folder}: no tables found; create them with 'onoff.summaries'")
    import duckdb

    source = _parquet(paths, "filename = true, file_row_number = true")
    try:
        # The number of nested rows is unknown to the optimizer, which would keep the larger side of a join in memory.
        database.execute("SET disabled_optimizers = 'build_side_probe_side'")
        # Leave out the old rows, which are few, because a join with all others keeps their nested rows in memory.
        database.execute(f"CREATE TEMP TABLE old_rows AS {_old_rows(source)}")
        [(old_rows,)] = database.execute("SELECT count(*) FROM old_rows").fetchall()
        without_old_rows = "ANTI JOIN old_rows USING (filename, file_row_number)" if old_rows else ""
        database.execute(f"CREATE VIEW stored_rows AS SELECT * FROM {source} {without_old_rows}")
        columns = {table: ", ".join(f"entry.{column} AS {column}" for column in SUMMARY_TABLES[table]) for table in TABLES}
        sources = {table: f"(SELECT recording, {columns[table]} FROM (SELECT recording, unnest({table}) AS entry FROM stored_rows))" for table in TABLES}
        sources["recordings"] = f"(SELECT recording, {', '.join(SUMMARY_TABLES['recordings'])} FROM stored_rows)"
        for table in TABLES:
            database.execute(f"DESCRIBE SELECT * FROM {sources[table]}")
    except duckdb.Error as error:
        raise UsageError(f"{folder}: not the rows of recordings that 'onoff.summaries' or Spark writes: {error}") from None
    return sources


def _old_rows(source: str) -> str:
    """Returns the rows that no longer count after several runs of Spark: earlier states of a file, all but one of
    several copies, and read errors of recordings that were read."""
    order = f"modified_ns DESC NULLS LAST, {IS_UP_TO_DATE} DESC, schema DESC"
    return f"""WITH numbered AS
        (SELECT filename, file_row_number, recording, path, modified_ns, schema, error, version,
                row_number() OVER (PARTITION BY path ORDER BY {order}, filename, file_row_number) AS number_of_path FROM {source}),
        copies AS
        (SELECT filename, file_row_number, row_number() OVER (PARTITION BY recording ORDER BY {order}, path) AS number_of_recording
         FROM numbered WHERE number_of_path = 1)
        SELECT filename, file_row_number FROM numbered WHERE number_of_path > 1
        UNION ALL SELECT filename, file_row_number FROM copies WHERE number_of_recording > 1"""


def _parquet(paths: list[str], options: str = "") -> str:
    quoted = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{quoted}], union_by_name = true{', ' if options else ''}{options})"


def _register(database: Any, tables: Mapping[str, Any]) -> dict[str, str]:
    """Registers tables in memory (Arrow, pandas, Polars) or data sets of pyarrow."""
    import duckdb

    unknown = sorted(set(tables) - set(SUMMARY_TABLES))
    if unknown or "recordings" not in tables:
        raise UsageError(f"unknown table {', '.join(unknown)}" if unknown else "the table 'recordings' is missing")
    for table in TABLES:
        if table in tables:
            try:
                database.register(f"given_{table}", tables[table])
            except (duckdb.Error, TypeError) as error:
                raise UsageError(f"{table}: not a table: {error}") from None
    return {table: f"given_{table}" for table in TABLES if table in tables}


def _renamed(database: Any, source: str) -> str:
    """Returns the columns of ``transitions`` to select, with columns of earlier versions under their present names."""
    columns = [row[0] for row in database.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
    old = [column for column in columns if column in _OLD_NAMES]
    selected = [column for column in columns if column not in old and column not in _OLD_NAMES.values()]
    for name in _OLD_NAMES.values():
        candidates = [column for column in (name, *old) if column in columns and _OLD_NAMES.get(column, column) == name]
        selected.append(f"coalesce({', '.join(candidates)}) AS {name}" if candidates else f"NULL AS {name}")
    return ", ".join(selected)


def views(database: Any) -> set[str]:
    """Returns the names of the tables that exist."""
    return {name for (name,) in database.execute("SELECT view_name FROM duckdb_views()").fetchall()}


def read_tags(database: Any, tags: Any) -> Tags:
    """Creates the table ``tags`` from a CSV or Parquet file, or a DataFrame (pandas, Polars or Arrow). All
    values are text."""
    import duckdb

    if isinstance(tags, (str, os.PathLike)):
        name = os.fspath(tags)
        if not os.path.exists(name):
            raise MissingFileError(f"{name}: no such file")
        if name.endswith(".parquet"):
            source = "read_parquet('" + name.replace("'", "''") + "')"
        else:
            header, rows = _csv_rows(name)
            import pyarrow

            values = {column: pyarrow.array([row[index] for row in rows], pyarrow.string()) for index, column in enumerate(header)}
            database.register("tag_source", pyarrow.table(values))
            source = "tag_source"
    else:
        name, source = "tags", "tag_source"
        try:
            database.register("tag_source", tags)
        except (duckdb.Error, TypeError) as error:
            raise UsageError(f"tags must be a file or a DataFrame: {error}") from None
    try:
        columns = [row[0] for row in database.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
    except duckdb.Error as error:
        raise UnreadableError(f"{name}: {error}") from None
    _check_columns(name, columns)
    key = next((column for column in columns if column in KEYS), None)
    if key is None:
        raise UsageError(f"{name}: the tags need a column 'recording' (SHA-256) or 'computer', and one column per tag")
    quoted = ", ".join("CAST(" + _quoted(column) + " AS VARCHAR) AS " + _quoted(column) for column in columns)
    database.execute(f"CREATE OR REPLACE TABLE tags AS SELECT {quoted} FROM {source}")
    duplicate = database.execute(f"SELECT {key} FROM tags GROUP BY {key} HAVING count(*) > 1 ORDER BY {key} LIMIT 1").fetchone()
    if duplicate is not None:
        raise UsageError(f"{name}: {key} {duplicate[0]!r} has several rows")
    [(unmatched, untagged)] = database.execute(
        f"""SELECT (SELECT count(*) FROM tags WHERE {key} IS NULL OR {key} NOT IN (SELECT {key} FROM recordings WHERE {key} IS NOT NULL)),
                   (SELECT count(DISTINCT {key}) FROM recordings WHERE error = '' AND {key} <> '' AND {key} NOT IN (SELECT {key} FROM tags WHERE {key} IS NOT NULL))"""
    ).fetchall()
    return Tags(key, tuple(column for column in columns if column not in KEYS), unmatched, untagged)


def _check_columns(name: str, columns: list[str]) -> None:
    for index, column in enumerate(columns):
        if column.lower() in RESERVED:
            raise UsageError(f"{name}: the column name {column!r} is reserved; rename the column")
        if not column.strip():
            raise UsageError(f"{name}: column {index + 1} has no name")
        if column.lower() in (other.lower() for other in columns[:index]):
            raise UsageError(f"{name}: two columns have the name {column!r}")


def _csv_rows(name: str) -> tuple[list[str], list[list[str]]]:
    """Reads a CSV file; errors have the line."""
    header: list[str] = []
    rows: list[list[str]] = []
    keys: dict[str, int] = {}
    line = 0
    try:
        with open(name, "rb") as file:
            content = file.read()
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        for row in reader:
            line = reader.line_num
            if not header:
                header = row
                _check_columns(name, header)
                key = next((header.index(column) for column in header if column in KEYS), None)
                continue
            if not row:
                continue
            if len(row) != len(header):
                raise UsageError(f"{name}: line {line}: {len(row)} values, but the header has {len(header)} columns")
            if key is not None:
                first = keys.setdefault(row[key], line)
                if first != line:
                    raise UsageError(f"{name}: line {line}: {header[key]} {row[key]!r} is already in line {first}")
            rows.append(row)
    except csv.Error as error:
        raise UsageError(f"{name}: line {line + 1}: {error}") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n")
        raise UsageError(f"{name}: line {line + 1}: not UTF-8 text ({error.reason}); save the file as UTF-8") from None
    except OSError as error:
        raise UnreadableError(f"{name}: {error.strerror}") from None
    if not header:
        raise UsageError(f"{name}: the file is empty")
    return header, rows


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class RunTable:
    """The runs of one transition, numbered in order of time, as the table ``name`` of the database."""

    def __init__(self, database: Any, transition: str, tags: Optional[Tags]) -> None:
        self.database = database
        self.transition = transition
        self.name = f"runs_of_{TRANSITIONS.index(transition) if transition in TRANSITIONS else abs(hash(transition))}"
        join = "" if tags is None else f"LEFT JOIN tags AS g ON g.{tags.key} = r.{tags.key}"
        attributes = [f'CAST(r."{name}" AS VARCHAR) AS "{name}"' for name in ATTRIBUTES]
        attributes += [f"g.{_quoted(name)} AS {_quoted(name)}" for name in (tags.names if tags else ())]
        # `number` counts all transitions of a recording in `transitions`, but only one kind in `phases`.
        database.execute(
            f"""CREATE OR REPLACE TEMP TABLE {self.name} AS
                SELECT CAST(row_number() OVER (ORDER BY recorded_utc, recording, number) - 1 AS INTEGER) AS run,
                       CAST(dense_rank() OVER (ORDER BY coalesce(nullif(computer, ''), recording)) - 1 AS INTEGER) AS code, *
                FROM (SELECT t.recording, t.number, row_number() OVER (PARTITION BY t.recording ORDER BY t.number) - 1 AS number_of_kind,
                             r.path, r.computer, r.recorded_utc, t.variant, t.duration_ns, t.phase, t.phase_ns, t.subject, t.subject_ns,
                             epoch_us(try_cast(substr(r.recorded_utc, 1, 26) AS TIMESTAMP)) / 86400e6 AS day, {", ".join(attributes)}
                      FROM transitions AS t JOIN recordings AS r USING (recording) {join} WHERE t.transition = $transition)
                WHERE duration_ns IS NOT NULL""",
            {"transition": transition},
        )

    def column(self, name: str) -> Any:
        """Returns a column in the order of the runs."""
        return self.database.execute(f"SELECT {_quoted(name)} AS value FROM {self.name} ORDER BY run").fetchnumpy()["value"]

    def sample(self) -> Sample:
        """Returns the runs as columns."""
        import numpy

        columns = self.database.execute(f"SELECT code, duration_ns, day, recorded_utc FROM {self.name} ORDER BY run").fetchnumpy()
        computer = numpy.asarray(columns["code"]).astype("int64")
        days = columns["day"]
        days = numpy.ma.filled(numpy.ma.asarray(days, dtype=float), numpy.nan)
        total = numpy.asarray(columns["duration_ns"]).astype(float)
        tables = views(self.database)
        phases: dict[str, Any] = {}
        if "phases" in tables:
            names = self.database.execute(
                """SELECT phase FROM phases WHERE transition = $transition AND duration_ns IS NOT NULL AND phase IS NOT NULL
                   GROUP BY phase ORDER BY min(place), phase""",
                {"transition": self.transition},
            ).fetchall()
            for (phase,) in names:
                # One phase at a time: the rows of all need several times the memory of the runs.
                rows = self.database.execute(
                    f"""SELECT r.run, CAST(sum(p.duration_ns) AS DOUBLE) AS ns
                        FROM phases AS p JOIN {self.name} AS r ON r.recording = p.recording AND r.number_of_kind = p.number
                        WHERE p.transition = $transition AND p.duration_ns IS NOT NULL AND p.phase = $phase GROUP BY r.run""",
                    {"transition": self.transition, "phase": phase},
                ).fetchnumpy()
                # A phase of a few runs cannot be compared.
                if len(rows["run"]) > 0.5 * len(total):
                    values = numpy.full(len(total), numpy.nan)
                    values[numpy.asarray(rows["run"])] = numpy.asarray(rows["ns"])
                    phases[phase] = values
        subjects, subject_ns = self._subjects(int(computer.max()) + 1 if len(computer) else 0) if "account" in tables else ([], None)
        return Sample(computer, total, days, columns["recorded_utc"], phases, subjects, subject_ns)

    def _subjects(self, computers: int) -> tuple[list[tuple[str, str]], Any]:
        """Returns the mean time of each subject by computer, for subjects that differ enough to matter."""
        import numpy

        from ._factors import MIN_EFFECT_NS
        from ._sample import MIN_COMPUTERS

        # An account belongs to a recording, not to one of its transitions.
        rows = self.database.execute(
            f"""WITH runs AS (SELECT recording, any_value(code) AS code, count(*) AS runs FROM {self.name} GROUP BY recording),
                     means AS (SELECT phase, subject, code, sum(ns) / any_value(computer_runs) AS ns
                               FROM account JOIN runs USING (recording) JOIN (SELECT code, count(*) AS computer_runs FROM {self.name} GROUP BY code) USING (code)
                               WHERE transition = $transition AND kind NOT IN ('idle', 'unknown') GROUP BY phase, subject, code),
                     chosen AS (SELECT phase, subject, row_number() OVER (ORDER BY max(ns) DESC, phase, subject) - 1 AS number
                                FROM means GROUP BY phase, subject HAVING count(*) FILTER (ns >= {MIN_EFFECT_NS}) >= {MIN_COMPUTERS}
                                ORDER BY number LIMIT {_MAX_SUBJECTS})
                SELECT number, phase, subject, code, ns FROM means JOIN chosen USING (phase, subject)""",
            {"transition": self.transition},
        ).fetchnumpy()
        numbers = numpy.asarray(rows["number"]).astype("int64")
        names: dict[int, tuple[str, str]] = {}
        first = numpy.unique(numbers, return_index=True)
        for number, index in zip(*first):
            names[int(number)] = str(rows["phase"][index]), str(rows["subject"][index])
        matrix = numpy.zeros((computers, len(names)))
        matrix[numpy.asarray(rows["code"]).astype("int64"), numbers] = numpy.asarray(rows["ns"]).astype(float)
        have = self.database.execute(f"SELECT DISTINCT code FROM {self.name} WHERE recording IN (SELECT recording FROM account)").fetchnumpy()["code"]
        unknown: Any = numpy.ones(computers, bool)
        unknown[numpy.asarray(have).astype("int64")] = False
        matrix[unknown] = numpy.nan
        return [names[number] for number in sorted(names)], matrix

    def groups(self, attributes: tuple[str, ...], sample: Sample) -> Iterator[Group]:
        """Yields the groups of attributes, then of modules."""
        import numpy

        for name in attributes:
            values = self.column(name)
            yield from attribute_groups(name, numpy.ma.filled(values, "") if isinstance(values, numpy.ma.MaskedArray) else values, sample)
        if "versions" not in views(self.database):
            return
        for module, runs_of_version, has_versions in self.modules(sample):
            yield from module_groups(module, runs_of_version, has_versions, sample)

    def modules(self, sample: Sample) -> Iterator[tuple[str, dict[str, Any], Any]]:
        """Yields the modules that not all runs have in one version, with the runs of each version."""
        import numpy

        self.database.execute(
            f"""CREATE OR REPLACE TEMP TABLE module_runs AS
                WITH rows AS (SELECT DISTINCT v.module, v.version, r.run FROM versions AS v JOIN {self.name} AS r USING (recording)
                              WHERE v.module IS NOT NULL AND v.version IS NOT NULL),
                     runs AS (SELECT count(DISTINCT run) AS count FROM rows),
                     chosen AS (SELECT module, row_number() OVER (ORDER BY module) - 1 AS number FROM rows GROUP BY module
                                HAVING count(DISTINCT version) > 1 OR count(*) < (SELECT count FROM runs)),
                     versions_of AS (SELECT module, version, row_number() OVER (ORDER BY module, version) - 1 AS version_number
                                     FROM rows SEMI JOIN chosen USING (module) GROUP BY module, version)
                SELECT CAST(number AS INTEGER) AS number, CAST(version_number AS INTEGER) AS version_number, run, module, version
                FROM rows JOIN chosen USING (module) JOIN versions_of USING (module, version)"""
        )
        have = self.database.execute(f"SELECT DISTINCT run FROM {self.name} WHERE recording IN (SELECT recording FROM versions)").fetchnumpy()["run"]
        has_versions: Any = numpy.zeros(len(sample), bool)
        has_versions[numpy.asarray(have)] = True
        names = self.database.execute(
            "SELECT number, module, version_number, version, count(*) FROM module_runs GROUP BY ALL ORDER BY number, version_number"
        ).fetchall()
        start = 0
        while start < len(names):
            end, rows = start, 0
            while end < len(names) and (rows == 0 or rows + names[end][4] <= _VERSION_ROWS or names[end][0] == names[end - 1][0]):
                rows += names[end][4]
                end += 1
            chunk = names[start:end]
            columns = self.database.execute(
                f"SELECT version_number, run FROM module_runs WHERE number BETWEEN {chunk[0][0]} AND {chunk[-1][0]} ORDER BY version_number"
            ).fetchnumpy()
            versions, runs = numpy.asarray(columns["version_number"]), numpy.asarray(columns["run"])
            by_module: dict[str, dict[str, Any]] = {}
            for _, module, version_number, version, _ in chunk:
                part = slice(*(int(numpy.searchsorted(versions, bound)) for bound in (version_number, version_number + 1)))
                by_module.setdefault(module, {})[version] = runs[part]
            for module, runs_of_version in by_module.items():
                yield module, runs_of_version, has_versions
            start = end
