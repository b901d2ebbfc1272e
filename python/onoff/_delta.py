"""The tables of ``onoff.summaries`` as Delta tables, by the package ``deltalake``."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ._errors import UsageError

LOG = "_delta_log"
"""The folder by which a Delta table is known."""

_MOST_NAMED = 500
"""Recordings that one deletion names, at most."""


def is_delta(folder: Path) -> bool:
    """Whether a folder is a Delta table."""
    return (folder / LOG).is_dir()


def files(folder: Path) -> list[str]:
    """The files of a Delta table as it is now: those of its earlier versions are in the same folder."""
    return list(_deltalake().DeltaTable(str(folder)).file_uris())


class DeltaStore:
    """A folder of Delta tables. Rows count when their recording is in ``recordings``, which is written last."""

    def __init__(self, folder: Path, schemas: dict[str, Any]) -> None:
        self.folder = folder
        self.columns = schemas
        self.deltalake = _deltalake()
        for name, schema in schemas.items():
            self.deltalake.DeltaTable.create(str(folder / name), schema=schema, mode="ignore")
        # What was written before a run was ended, and is not in `recordings`.
        there = self._digests("recordings")
        for name in schemas:
            self._delete(name, self._digests(name) - there)

    def recordings(self) -> dict[str, Any]:
        """The recordings that are there. One with several rows is to be read again: which of its other rows go with which is not known."""
        from ._summaries import RecordingRow, rows_of_recordings

        table = self._columns("recordings", ["recording", *RecordingRow._fields])
        counts = collections.Counter(table["recording"].to_pylist())
        found = rows_of_recordings(table)
        return {digest: row._replace(schema=0) if counts[digest] > 1 else row for digest, row in found.items()}

    def forget(self, digests: set[str]) -> None:
        """Takes out recordings: first the rows by which the others count."""
        for name in reversed(self.columns):
            self._delete(name, digests)

    def write(self, tables: Iterable[tuple[str, Any]]) -> None:
        """Writes rows, those of recordings last."""
        for name, table in tables:
            self.deltalake.write_deltalake(str(self.folder / name), table, mode="append")

    def _columns(self, name: str, columns: list[str]) -> Any:
        return self.deltalake.DeltaTable(str(self.folder / name)).to_pyarrow_table(columns=columns)

    def _digests(self, name: str) -> set[str]:
        return set(self._columns(name, ["recording"])["recording"].to_pylist())

    def _delete(self, name: str, digests: set[str]) -> None:
        listed = sorted(digests)
        for start in range(0, len(listed), _MOST_NAMED):
            named = ", ".join("'" + digest.replace("'", "''") + "'" for digest in listed[start : start + _MOST_NAMED])
            self.deltalake.DeltaTable(str(self.folder / name)).delete(f"recording IN ({named})")


def _deltalake() -> Any:
    try:
        import deltalake
    except ImportError:
        raise UsageError("Delta tables need the package deltalake: pip install 'onoff-perf[delta]'") from None
    return deltalake
