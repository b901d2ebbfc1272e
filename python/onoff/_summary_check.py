"""Checks a folder written by ``onoff.summaries``."""

from __future__ import annotations

import collections
import os
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from ._compaction import check_finished
from ._delta import files, is_delta
from ._errors import UsageError
from ._recording import Path
from ._summaries import TABLES, RecordingRow, recording_rows
from ._worker import stamp, stamp_columns


class SummaryCheck(NamedTuple):
    """State of a folder with tables."""

    recordings: int
    errors: int
    """Recordings that could not be read."""
    missing: tuple[str, ...]
    """Names of recordings that no longer exist; their rows stay."""
    changed: tuple[str, ...]
    """Names of recordings that changed since they were read; the next run reads them."""
    problems: tuple[str, ...]
    """Damaged files, duplicate recordings, and rows without a recording; the next run repairs all but damaged files."""

    def __repr__(self) -> str:
        lines = [f"{self.recordings:,} recordings, {self.errors:,} of them could not be read"]
        lines += [f"{len(names):,} {what}: {', '.join(names[:3])}{', …' if len(names) > 3 else ''}" for what, names in (("no longer exist", self.missing), ("changed", self.changed)) if names]
        return "\n".join([*lines, *self.problems])


def check_summaries(out: Path) -> SummaryCheck:
    """Checks the tables that ``summaries`` wrote to a folder, and whether the recordings changed since. Changes nothing."""
    import pyarrow.parquet

    folder = FilePath(os.fspath(out))
    check_finished(folder)
    if not is_delta(folder / "recordings") and not any((folder / "recordings").glob("*.parquet")):
        raise UsageError(f"{folder}: no tables found; create them with 'onoff.summaries'")
    problems: list[str] = []

    def read(name: str, columns: list[str]) -> list[tuple[str, Any]]:
        table_folder = folder / name
        if is_delta(table_folder):
            parts = files(table_folder)
        else:
            parts = [str(part) for part in sorted(table_folder.glob("*.parquet"))]
            problems.extend(f"{part}: unfinished" for part in sorted(table_folder.glob("*.unfinished")))
        result = []
        for part in parts:
            try:
                present = pyarrow.parquet.read_schema(part).names
                table = pyarrow.parquet.ParquetFile(part).read(columns=[column for column in columns if column in present])
            except (OSError, pyarrow.ArrowInvalid) as error:
                problems.append(f"{part}: damaged: {error}")
                continue
            result.append((part, table))
        return result

    by_part: dict[str, set[str]] = {}
    rows: dict[str, RecordingRow] = {}
    counts: collections.Counter[str] = collections.Counter()
    for part, table in read("recordings", ["recording", *RecordingRow._fields]):
        digests = table["recording"].to_pylist()
        counts.update(digests)
        by_part[os.path.basename(part)] = set(digests)
        rows.update(recording_rows(table))
    duplicates = sum(count > 1 for count in counts.values())
    if duplicates:
        problems.append(f"recordings: {duplicates:,} recordings have several rows")
    for name in TABLES:
        if name == "recordings":
            continue
        # A row of a Parquet table is valid if its recording is in the file with the same name.
        is_parquet = not is_delta(folder / name)
        orphans = 0
        for part, table in read(name, ["recording"]):
            valid = by_part.get(os.path.basename(part), set()) if is_parquet else rows.keys()
            orphans += sum(digest not in valid for digest in set(table["recording"].to_pylist()))
        if orphans:
            problems.append(f"{name}: rows of {orphans:,} recordings that are not in 'recordings'")
    missing, changed = [], []
    for row in rows.values():
        if not row.stamp:
            continue
        try:
            state = stamp([row.path]) if os.path.exists(row.path) else stamp(_parts(row.path))
        except OSError:
            missing.append(row.path)
            continue
        if stamp_columns(state)["stamp"] != row.stamp:
            changed.append(row.path)
    errors = sum(row.is_unreadable for row in rows.values())
    return SummaryCheck(len(rows), errors, tuple(sorted(missing)), tuple(sorted(changed)), tuple(problems))


def _parts(path: str) -> list[str]:
    """Returns the files of a recording with several files, whose absolute names are joined by ``+``."""
    import re

    return re.split(r"\+(?=[/\\]|[A-Za-z]:)", path)
