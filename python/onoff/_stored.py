"""Finds the rows that ``onoff.summaries`` or Spark stored in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from . import _onoff
from ._compaction import check_finished
from ._delta import files, is_delta
from ._errors import UnreadableError
from ._worker import NO_TRANSITION, SCHEMA

STATE_COLUMNS = ("path", "size_bytes", "modified_ns")
"""Columns of ``recordings`` that identify a file in a state."""

IS_UP_TO_DATE = f"(schema = {SCHEMA} AND (error IN ('', '{NO_TRANSITION}') OR version = '{_onoff.__version__}'))"
"""SQL condition for rows of ``recordings`` that reading the recording again would not change."""


def table_files(folder: FilePath) -> list[str]:
    """Returns the Parquet files of a table, which may be a Delta table or have a subfolder for each partition. As in
    Spark, names that start with ``_`` or ``.`` are not part of it."""
    if is_delta(folder):
        return files(folder)
    found = []
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(("_", ".")))
        found += [os.path.join(path, name) for name in sorted(names) if name.endswith(".parquet") and not name.startswith(("_", "."))]
    return found


def up_to_date(folder: str) -> set[tuple[str, int, int]]:
    """Returns the path, size and time of each stored file that need not be read again. The folder may not exist yet."""
    root = FilePath(folder)
    recordings = root / "recordings"
    check_finished(root)
    known: set[tuple[str, int, int]] = set()
    for columns in _columns(table_files(recordings if recordings.is_dir() else root)):
        for path, size, modified, schema, error, version in zip(*columns):
            if schema == SCHEMA and (error in ("", NO_TRANSITION) or version == _onoff.__version__):
                known.add((path, size, modified))
    return known


def _columns(paths: list[str]) -> Iterator[list[Any]]:
    import pyarrow
    import pyarrow.parquet

    for path in paths:
        try:
            table = pyarrow.parquet.ParquetFile(path).read(columns=[*STATE_COLUMNS, "schema", "error", "version"])
            yield [table[name].to_pylist() for name in (*STATE_COLUMNS, "schema", "error", "version")]
        except (OSError, KeyError, pyarrow.ArrowInvalid) as error:
            raise UnreadableError(f"{path}: {error}") from None
