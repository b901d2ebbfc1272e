"""Merges the small files that many runs of ``onoff.summaries`` leave.

The new files are complete under another name, and a journal lists what they replace, before the first old file is
deleted. The next run finishes what an interrupted one began. Rows of ``recordings`` are deleted first and appear last:
other readers of the folder never see a row twice, and miss rows only while files are replaced.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from ._delta import is_delta
from ._errors import UnreadableError, UsageError
from ._recording import Path

_JOURNAL = ".compaction"
"""Name of the journal in the folder of ``recordings``. Readers of Parquet folders ignore names that start with a dot."""
_NEW = ".compacted"
"""Suffix of a new file, whose name also starts with a dot."""
_TARGET_BYTES = 128 << 20
"""Files are merged until all tables of a new file have about this size."""
_SMALL_BYTES = _TARGET_BYTES // 2
"""Files are merged if all their tables are smaller than this."""
_ROW_GROUP = 1 << 17
"""Number of rows of a row group."""


class Compaction(NamedTuple):
    """Result of ``compact_summaries``."""

    files_before: int
    """Number of files of all tables."""
    files_after: int
    recordings: int


def compact_summaries(out: Path) -> Compaction:
    """Merges small files of the tables that ``onoff.summaries`` wrote to a folder. Their rows stay the same.

    An interrupted call loses nothing: ``onoff.summaries`` and this function first finish what it began. If another
    process is writing to ``out``, it raises ``UnreadableError``.
    """
    from ._summaries import open_store

    folder = FilePath(os.fspath(out))
    format = "delta" if is_delta(folder / "recordings") else "parquet"
    if not (folder / "recordings").is_dir():
        raise UsageError(f"{folder}: no tables found; create them with 'onoff.summaries'")
    with open_store(folder, format) as store:
        before = store.count_files()
        store.compact()
        return Compaction(before, store.count_files(), len(store.recordings()))


def compact(folder: FilePath, schemas: Mapping[str, Any]) -> None:
    """Merges small files of a folder of Parquet tables, in which ``recordings`` is the last table."""
    for group in _groups(folder, schemas):
        new = f"{uuid.uuid4().hex}.parquet"
        for table, schema in schemas.items():
            paths = [folder / table / part for part in group if (folder / table / part).exists()]
            if paths:
                _merge(paths, _new_path(folder, table, new), schema)
        journal = folder / "recordings" / _JOURNAL
        temporary = journal.with_suffix(".unfinished")
        with open(temporary, "w") as file:
            json.dump({"old": group, "new": new}, file)
            _sync(file)
        os.replace(temporary, journal)
        finish(folder, schemas)


def finish(folder: FilePath, tables: Iterable[str]) -> None:
    """Replaces the files in the journal, if there is one, and deletes new files that are in no journal."""
    tables = list(tables)
    journal = folder / "recordings" / _JOURNAL
    if journal.exists():
        old, new = _read_journal(journal)
        for table in reversed(tables):
            for part in old:
                (folder / table / part).unlink(missing_ok=True)
        for table in tables:
            new_path = _new_path(folder, table, new)
            if new_path.exists():
                os.replace(new_path, folder / table / new)
        journal.unlink()
    for table in tables:
        for path in (folder / table).glob(f".*{_NEW}"):
            path.unlink()


def _read_journal(journal: FilePath) -> tuple[list[str], str]:
    """Returns the names of the old files and of the new one. Names with a folder are refused: they are not ours."""
    try:
        entry = json.loads(journal.read_text())
        old, new = [str(name) for name in entry["old"]], str(entry["new"])
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableError(f"{journal}: not a journal of merged files: {error}") from None
    for name in (*old, new):
        if FilePath(name).name != name or not name.endswith(".parquet"):
            raise UnreadableError(f"{journal}: not a journal of merged files: it names {name!r}")
    return old, new


def check_finished(folder: FilePath) -> None:
    """Raises an error if files are being replaced, because rows are missing then."""
    if (folder / "recordings" / _JOURNAL).exists():
        raise UnreadableError(f"{folder}: files are being merged, or merging was interrupted; try again, or finish it with 'onoff summary --compact {folder}'")


def _new_path(folder: FilePath, table: str, new: str) -> FilePath:
    return folder / table / f".{new}{_NEW}"


def _groups(folder: FilePath, tables: Iterable[str]) -> Iterator[list[str]]:
    """Yields the names of files to merge."""
    group: list[str] = []
    size = 0
    # Oldest first: rows of one time stay together.
    parts = sorted((folder / "recordings").glob("*.parquet"), key=lambda part: (part.stat().st_mtime_ns, part.name))
    for part in parts:
        paths = [folder / table / part.name for table in tables]
        part_size = sum(path.stat().st_size for path in paths if path.exists())
        if part_size >= _SMALL_BYTES:
            continue
        group.append(part.name)
        size += part_size
        if size >= _TARGET_BYTES:
            yield group
            group, size = [], 0
    if len(group) > 1:
        yield group


def _merge(paths: list[FilePath], new_path: FilePath, schema: Any) -> None:
    """Writes the rows of files to a new file, with large row groups."""
    import pyarrow
    import pyarrow.parquet

    pending: list[Any] = []
    with open(new_path, "wb") as file:
        with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for path in paths:
                pending.append(pyarrow.parquet.ParquetFile(path).read().select(schema.names).cast(schema))
                if sum(map(len, pending)) >= _ROW_GROUP:
                    writer.write_table(pyarrow.concat_tables(pending), row_group_size=_ROW_GROUP)
                    pending = []
            if pending:
                writer.write_table(pyarrow.concat_tables(pending), row_group_size=_ROW_GROUP)
        _sync(file)


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())
