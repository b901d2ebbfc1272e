"""Stores the tables of ``onoff.summaries`` as Delta tables, using the package ``deltalake``."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ._errors import UsageError

LOG = "_delta_log"
"""Name of the folder that identifies a Delta table."""

_MAX_DELETED = 500
"""Maximum number of recordings per delete statement."""


def is_delta(folder: Path) -> bool:
    """Returns whether a folder is a Delta table."""
    return (folder / LOG).is_dir()


def files(folder: Path) -> list[str]:
    """Returns the files of the current version of a Delta table; the folder also contains files of earlier versions."""
    return list(_deltalake().DeltaTable(str(folder)).file_uris())


class DeltaStore:
    """A folder of Delta tables. Rows are valid once their recording is in ``recordings``, which is written last."""

    def __init__(self, folder: Path, schemas: dict[str, Any]) -> None:
        self.folder = folder
        self.columns = schemas
        self.deltalake = _deltalake()
        for name, schema in schemas.items():
            table = self.deltalake.DeltaTable.create(str(folder / name), schema=schema, mode="ignore")
            if not {field.name for field in table.schema().fields} >= set(schema.names):
                # An earlier version wrote fewer columns.
                self.deltalake.write_deltalake(str(folder / name), schema.empty_table(), mode="append", schema_mode="merge")
        # Delete rows of an interrupted run: their recordings are not in `recordings`.
        complete = self._digests("recordings")
        for name in schemas:
            self._delete(name, self._digests(name) - complete)

    def recordings(self) -> dict[str, Any]:
        """Returns the stored recordings. A recording with several rows is marked for reading again, because its rows in
        other tables are ambiguous."""
        from ._summaries import RecordingRow, recording_rows

        table = self._columns("recordings", ["recording", *RecordingRow._fields])
        counts = collections.Counter(table["recording"].to_pylist())
        rows = recording_rows(table)
        return {digest: row._replace(schema=0) if counts[digest] > 1 else row for digest, row in rows.items()}

    def delete(self, digests: set[str]) -> None:
        """Deletes recordings, starting with their rows in ``recordings``, which make the other rows valid."""
        for name in reversed(self.columns):
            self._delete(name, digests)

    def update(self, moved: Mapping[str, Mapping[str, Any]]) -> None:
        """Replaces values in the rows of recordings."""
        import pyarrow

        if not moved:
            return
        columns = list(next(iter(moved.values())))
        schema = self.columns["recordings"]
        source = pyarrow.table(
            {"recording": list(moved), **{name: [row[name] for row in moved.values()] for name in columns}},
            schema=pyarrow.schema([schema.field(name) for name in ("recording", *columns)]),
        )
        merge = self.deltalake.DeltaTable(str(self.folder / "recordings")).merge(
            source, predicate="old.recording = new.recording", source_alias="new", target_alias="old"
        )
        merge.when_matched_update({name: f"new.{name}" for name in columns}).execute()

    def write(self, tables: Iterable[tuple[str, Any]]) -> None:
        """Writes rows, with ``recordings`` last."""
        for name, table in tables:
            self.deltalake.write_deltalake(str(self.folder / name), table, mode="append")

    def count_files(self) -> int:
        """Returns the number of files of the current version of all tables."""
        return sum(len(files(self.folder / name)) for name in self.columns)

    def compact(self) -> None:
        """Merges small files. Earlier versions keep theirs until ``VACUUM``."""
        for name in self.columns:
            self.deltalake.DeltaTable(str(self.folder / name)).optimize.compact()

    def _columns(self, name: str, columns: list[str]) -> Any:
        return self.deltalake.DeltaTable(str(self.folder / name)).to_pyarrow_table(columns=columns)

    def _digests(self, name: str) -> set[str]:
        return set(self._columns(name, ["recording"])["recording"].to_pylist())

    def _delete(self, name: str, digests: set[str]) -> None:
        sorted_digests = sorted(digests)
        for start in range(0, len(sorted_digests), _MAX_DELETED):
            batch = sorted_digests[start : start + _MAX_DELETED]
            quoted = ", ".join("'" + digest.replace("'", "''") + "'" for digest in batch)
            self.deltalake.DeltaTable(str(self.folder / name)).delete(f"recording IN ({quoted})")


def _deltalake() -> Any:
    try:
        import deltalake
    except ImportError:
        raise UsageError("Delta tables require the package deltalake: pip install 'onoff-perf[delta]'") from None
    return deltalake
