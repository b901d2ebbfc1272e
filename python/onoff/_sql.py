"""SQL queries with DuckDB (``pip install onoff-perf[sql]``)."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterable
from typing import Any, Union

from ._errors import UsageError
from ._recording import Path, Recording, TableDeclaration, open, tables

VIEWS = ("transitions", "phases", "account")
"""Additional tables for queries, from analyses of the recording."""

_PHASE_COLUMNS = (
    ("transition", "VARCHAR"),
    ("phase", "VARCHAR"),
    ("start_ns", "BIGINT"),
    ("end_ns", "BIGINT"),
    ("duration_ns", "BIGINT"),
)
_ACCOUNT_COLUMNS = (
    ("transition", "VARCHAR"),
    ("phase", "VARCHAR"),
    ("phase_ns", "BIGINT"),
    ("kind", "VARCHAR"),
    ("name", "VARCHAR"),
    ("ns", "BIGINT"),
    ("certainty", "VARCHAR"),
)
_TRANSITION_COLUMNS = (
    ("transition", "VARCHAR"),
    ("variant", "VARCHAR"),
    ("computer", "VARCHAR"),
    ("os", "VARCHAR"),
    ("duration_ns", "BIGINT"),
    ("at_least_ns", "BIGINT"),
)

_INTERVAL_MACROS = """
CREATE MACRO overlapping(start_a, end_a, start_b, end_b) AS
    coalesce(start_a < end_b, TRUE) AND coalesce(start_b < end_a, TRUE);
CREATE MACRO overlap_ns(start_a, end_a, start_b, end_b) AS
    CASE WHEN least(end_a, end_b) < greatest(start_a, start_b) THEN 0 ELSE least(end_a, end_b) - greatest(start_a, start_b) END;
"""
"""An interval without a start began before the recording, and an interval without an end ended after it. ``least`` and
``greatest`` ignore NULL; the length of an overlap is unknown if both starts or both ends are NULL."""

_PHASE_MACRO = """
CREATE MACRO in_phase(recording_number, time_ns, phase_name) AS
    EXISTS (SELECT 1 FROM (VALUES (recording_number, time_ns, phase_name)) AS argument(recording, time_ns, phase), main.phases AS p
            WHERE p.recording = argument.recording AND p.phase = argument.phase
              AND argument.time_ns >= p.start_ns AND argument.time_ns < p.end_ns);
"""
"""Arguments are the caller's expressions. ``VALUES`` evaluates them where no table of the macro is in scope; otherwise
the columns of ``phases`` would capture the caller's ``recording`` or ``start_ns``."""


def queries() -> dict[str, str]:
    """Returns the prepared queries by name. Each starts with a comment that describes it.

    >>> "disk_by_process_and_path" in queries()
    True
    """
    folder = importlib.resources.files("onoff") / "queries"
    texts = {entry.name[:-4]: entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".sql")}
    return dict(sorted(texts.items()))


def connect(*recordings: Union[Recording, Path]) -> Any:
    """Opens a DuckDB connection without access to files of the computer."""
    try:
        import duckdb
    except ImportError:
        raise UsageError("SQL queries require DuckDB: pip install 'onoff-perf[sql]'") from None
    connection = duckdb.connect()
    # Queries may only access the given recordings.
    connection.execute("SET enable_external_access = false")
    return connection


def sql(query: str, *recordings: Union[Recording, Path]) -> Any:
    """Runs a query and returns a DuckDB relation, to print or to convert (``fetchall``, ``df``, ``pl``, ``arrow``).

    Tables have the names listed by ``onoff.tables()`` and a column ``recording``: 0 for the first recording, 1 for the second. Additional
    tables are ``transitions``, ``phases`` and ``account`` (time of each phase by subject); additional functions are ``overlapping``,
    ``overlap_ns`` and ``in_phase``. A query that is a single word is the name of a prepared query.

    >>> sql("SELECT count(*) FROM processes", "samples/slow-boot.etl").fetchall()
    [(28,)]
    """
    opened = [item if isinstance(item, Recording) else open(item) for item in recordings]
    if not opened:
        raise UsageError("no recording specified after the query")
    prepared = queries()
    if re.fullmatch(r"\w+", query.strip()):
        if query.strip() not in prepared:
            raise UsageError(f"unknown prepared query {query.strip()!r}; available: {', '.join(prepared)}")
        query = prepared[query.strip()]
    connection = connect()
    words = set(re.findall(r"\w+", query.lower()))
    if "in_phase" in words:
        words.add("phases")
    for declaration in tables():
        if declaration.name in words:
            _attach(connection, declaration, opened)
    if "phases" in words:
        _create_table(connection, "phases", _PHASE_COLUMNS, (_phase_rows(recording) for recording in opened))
    if "account" in words:
        _create_table(
            connection,
            "account",
            _ACCOUNT_COLUMNS,
            ([_values(row, _ACCOUNT_COLUMNS) for row in recording.account] for recording in opened),
        )
    if "transitions" in words:
        _create_table(
            connection,
            "transitions",
            _TRANSITION_COLUMNS,
            ([_values(row, _TRANSITION_COLUMNS) for row in recording.transitions()] for recording in opened),
        )
    connection.execute(_INTERVAL_MACROS)
    if "in_phase" in words:
        connection.execute(_PHASE_MACRO)
    return connection.sql(query)


def _attach(connection: Any, declaration: TableDeclaration, recordings: list[Recording]) -> None:
    """Creates a view over a table of several recordings, without copying data."""
    selects = []
    for number, recording in enumerate(recordings):
        name = f"onoff_{declaration.name}_{number}"
        connection.register(name, recording.table(declaration.name).to_pyarrow())
        selects.append(f"SELECT {number} AS recording, * FROM {name}")
    connection.execute(f"CREATE VIEW {declaration.name} AS {' UNION ALL '.join(selects)}")


def _phase_rows(recording: Recording) -> list[tuple[Any, ...]]:
    phases = recording.why(top=10**6, min=0).intervals
    return [(phase.action, phase.name, phase.start_ns, phase.end_ns, phase.duration_ns) for phase in phases]


def _values(row: Any, columns: Iterable[tuple[str, str]]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name, _ in columns)


def _create_table(connection: Any, name: str, columns: tuple[tuple[str, str], ...], recordings: Iterable[list[tuple[Any, ...]]]) -> None:
    column_list = ", ".join(f"{column} {column_type}" for column, column_type in columns)
    connection.execute(f"CREATE TABLE {name} (recording INTEGER, {column_list})")
    rows = [(number, *row) for number, recording in enumerate(recordings) for row in recording]
    if rows:
        placeholders = ", ".join("?" * (len(columns) + 1))
        connection.executemany(f"INSERT INTO {name} VALUES ({placeholders})", rows)
