"""The tables of ``onoff.summaries`` as Delta tables, by the package ``deltalake``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

    def __init__(self, folder: Path, schemas: Mapping[str, Any]) -> None:
        self.folder = folder
        self.columns = schemas
        self.deltalake = _deltalake()
        for name, schema in schemas.items():
            self.deltalake.DeltaTable.create(str(folder / name), schema=schema, mode="ignore")
        # What was written before a run was ended, and is not in `recordings`.
        there = set(self._column("recordings", "recording"))
        for name in schemas:
            self._delete(name, set(self._column(name, "recording")) - there)

    def schemas(self) -> dict[str, int]:
        """The recordings that are there, each with the version of its rows."""
        return dict(zip(self._column("recordings", "recording"), self._column("recordings", "schema")))

    def forget(self, digests: set[str]) -> None:
        """Takes out what is read again: of rows that another version made."""
        for name in self.columns:
            self._delete(name, digests)

    def write(self, tables: Iterable[tuple[str, Any]]) -> None:
        """Writes rows, those of recordings last."""
        for name, table in tables:
            self.deltalake.write_deltalake(str(self.folder / name), table, mode="append")

    def _column(self, name: str, column: str) -> list[Any]:
        table = self.deltalake.DeltaTable(str(self.folder / name)).to_pyarrow_table(columns=[column])
        return list(table[column].to_pylist())

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
