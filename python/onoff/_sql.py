"""SQL queries with DuckDB (``pip install onoff-perf[sql]``)."""

from __future__ import annotations

import importlib.resources
import os
import re
import warnings
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _onoff
from ._compaction import check_finished
from ._delta import files, is_delta
from ._errors import Error, UsageError
from ._recording import Path, Recording, open, tables
from ._summaries import TABLES, arrow_schema, arrow_table, name_id, with_identity
from ._worker import content_hash, failure, rows_from_documents

if TYPE_CHECKING:
    import duckdb

_INTERVAL_MACROS = """
CREATE MACRO overlapping(start_a, end_a, start_b, end_b) AS
    coalesce(start_a < end_b, TRUE) AND coalesce(start_b < end_a, TRUE);
CREATE MACRO overlap_ns(start_a, end_a, start_b, end_b) AS
    CASE WHEN least(end_a, end_b) < greatest(start_a, start_b) THEN 0 ELSE least(end_a, end_b) - greatest(start_a, start_b) END;
"""
"""An interval without a start began before the recording, and an interval without an end ended after it. ``least`` and
``greatest`` ignore NULL; the length of an overlap is unknown if both starts or both ends are NULL."""

_PHASE_MACRO = """
CREATE MACRO in_phase(recording_hash, time_ns, phase_name) AS
    EXISTS (SELECT 1 FROM (VALUES (recording_hash, time_ns, phase_name)) AS argument(recording, time_ns, phase), main.phases AS p
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


def sql(query: str, *recordings: Union[Recording, Path]) -> duckdb.DuckDBPyRelation:
    """Runs a query and returns a DuckDB relation, to print or to convert (``fetchall``, ``df``, ``pl``, ``arrow``).

    Each of ``recordings`` is an opened recording, a file, a folder of recordings, or the folder of tables that
    ``onoff.summaries`` wrote. The tables of ``onoff.summaries`` (``transitions``, ``phases``, ``account`` …) have the same
    columns for all of them; recordings also have the tables of ``onoff.tables()``. The column ``recording`` is the SHA-256
    of the recording's files. Additional functions are ``overlapping``, ``overlap_ns`` and ``in_phase``. A query that is a
    single word is the name of a prepared query.

    >>> sql("SELECT count(*) FROM processes", "samples/slow-boot.etl").fetchall()
    [(28,)]
    """
    sources = [source for item in recordings for source in _sources(item)]
    if not sources:
        raise UsageError("no recording specified after the query" if not recordings else "no recording in the folder")
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
            _create_view(connection, declaration.name, [part for source in sources for part in source.table(declaration.name)])
    for name in TABLES:
        if name in words:
            _create_view(connection, name, [source.summary(name) for source in sources])
    connection.execute(_INTERVAL_MACROS)
    if "in_phase" in words:
        connection.execute(_PHASE_MACRO)
    return connection.sql(query)


def _sources(item: Union[Recording, Path]) -> list[Union[_RecordingSource, _StoredSource]]:
    if isinstance(item, Recording):
        return [_RecordingSource(item.paths, item)]
    folder = FilePath(item)
    if not folder.is_dir():
        return [_RecordingSource([os.fspath(item)], open(item))]
    check_finished(folder)
    if (folder / "recordings").is_dir() and (is_delta(folder / "recordings") or any((folder / "recordings").glob("*.parquet"))):
        return [_StoredSource(folder)]
    found, _ = _onoff.recordings([os.fspath(item)])
    return [_RecordingSource([os.fspath(path) for path in paths]) for paths in found]


class _RecordingSource:
    """A recording. If it is in a folder and cannot be read, its error is a row of ``recordings``, and a warning for the
    tables of recordings."""

    def __init__(self, paths: list[str], opened: Optional[Recording] = None) -> None:
        self._paths = paths
        self._opened = opened
        self._is_in_folder = opened is None
        self._hash = ""
        self._rows: dict[str, Any] = {}

    def _recording(self) -> Recording:
        if self._opened is None:
            self._opened = open(self._paths)
        return self._opened

    def _digest(self) -> str:
        if not self._hash:
            try:
                self._hash = content_hash(self._paths)
            except OSError:
                self._hash = name_id([os.path.abspath(path) for path in self._paths])
        return self._hash

    def table(self, name: str) -> list[tuple[str, Any]]:
        """Returns a table with the hash of the recording."""
        try:
            return [(self._digest(), self._recording().table(name).to_pyarrow())]
        except Error as error:
            if not self._is_in_folder:
                raise
            warnings.warn(f"not in table {name!r}: {error}", stacklevel=4)
            return []

    def summary(self, name: str) -> tuple[str, Any]:
        """Returns a table of ``onoff.summaries``."""
        if not self._rows:
            self._rows = with_identity(self._read(), self._digest(), [os.path.abspath(path) for path in self._paths])
        return "", arrow_table(name, self._rows.get(name, []))

    def _read(self) -> dict[str, list[dict[str, Any]]]:
        try:
            recording = self._recording()
            return rows_from_documents(recording._documents(), recording.kind)
        except Error as error:
            if not self._is_in_folder:
                raise
            return failure(str(error))


class _StoredSource:
    """The folder of tables that ``onoff.summaries`` wrote."""

    def __init__(self, folder: FilePath) -> None:
        self._folder = folder

    def table(self, name: str) -> list[tuple[str, Any]]:
        """Tables of recordings are not stored."""
        raise UsageError(f"{self._folder}: no table {name!r}; pass the recordings. Available: {', '.join(TABLES)}")

    def summary(self, name: str) -> tuple[str, Any]:
        """Returns a stored table. Its rows count only if their recording has a row."""
        import pyarrow.dataset as dataset

        stored = self._stored(name)
        if name == "recordings":
            return "", stored
        known = self._stored("recordings").to_table(columns=["recording"])["recording"]
        return "", stored.filter(dataset.field("recording").isin(known))

    def _stored(self, name: str) -> Any:
        import pyarrow.dataset as dataset

        folder = self._folder / name
        paths = files(folder) if is_delta(folder) else [str(path) for path in sorted(folder.glob("*.parquet"))]
        return dataset.dataset(paths, schema=arrow_schema(name), format="parquet")


def _create_view(connection: Any, name: str, parts: list[tuple[str, Any]]) -> None:
    """Creates a view over a table of several recordings, without copying data. A part without the column ``recording``
    comes with its value."""
    selects = []
    for number, (digest, part) in enumerate(parts):
        part_name = f"onoff_{name}_{number}"
        connection.register(part_name, part)
        value = digest.replace("'", "''")
        selects.append(f"SELECT '{value}' AS recording, * FROM {part_name}" if digest else f"SELECT * FROM {part_name}")
    if selects:
        connection.execute(f"CREATE VIEW {name} AS {' UNION ALL '.join(selects)}")
