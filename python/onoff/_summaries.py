"""Many recordings: rows about each, in Parquet, by a pool of processes, without reading any twice."""

from __future__ import annotations

import os
import queue
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, Callable, NamedTuple, Optional

from . import _onoff
from ._delta import DeltaStore, is_delta
from ._errors import UsageError, raise_for
from ._process import Reader
from ._recording import Path, Paths, _listed
from ._worker import SCHEMA, content_hash, failure, shown

_TEXT, _NUMBER, _TRUTH = "string", "int64", "bool"

TABLES: Mapping[str, Mapping[str, str]] = {
    "recordings": {
        "path": _TEXT,
        "kind": _TEXT,
        "computer": _TEXT,
        "os": _TEXT,
        "os_build": _NUMBER,
        "model": _TEXT,
        "firmware": _TEXT,
        "processor": _TEXT,
        "processors": _NUMBER,
        "memory_bytes": _NUMBER,
        "recorded_utc": _TEXT,
        "error": _TEXT,
        "schema": _NUMBER,
        "version": _TEXT,
    },
    "transitions": {
        "transition": _TEXT,
        "number": _NUMBER,
        "variant": _TEXT,
        "duration_ns": _NUMBER,
        "at_least_ns": _NUMBER,
        "longest_phase": _TEXT,
        "longest_phase_ns": _NUMBER,
        "culprit": _TEXT,
        "culprit_ns": _NUMBER,
        "culprit_certainty": _TEXT,
    },
    "phases": {
        "transition": _TEXT,
        "number": _NUMBER,
        "place": _NUMBER,
        "phase": _TEXT,
        "half": _TEXT,
        "duration_ns": _NUMBER,
        "certainty": _TEXT,
    },
    "account": {
        "transition": _TEXT,
        "phase": _TEXT,
        "start_ns": _NUMBER,
        "phase_ns": _NUMBER,
        "kind": _TEXT,
        "subject": _TEXT,
        "ns": _NUMBER,
        "certainty": _TEXT,
    },
    "services": {
        "transition": _TEXT,
        "number": _NUMBER,
        "service": _TEXT,
        "kind": _TEXT,
        "duration_ns": _NUMBER,
        "outcome": _TEXT,
        "image": _TEXT,
        "on_path": _TRUTH,
    },
    "devices": {
        "transition": _TEXT,
        "number": _NUMBER,
        "device": _TEXT,
        "driver": _TEXT,
        "kind": _TEXT,
        "duration_ns": _NUMBER,
    },
    "findings": {
        "transition": _TEXT,
        "code": _TEXT,
        "subject_kind": _TEXT,
        "subject": _TEXT,
        "phase": _TEXT,
        "cost_ns": _NUMBER,
        "certainty": _TEXT,
        "title": _TEXT,
    },
    "losses": {"counter": _TEXT, "count": _NUMBER, "severity": _TEXT},
    "versions": {"module": _TEXT, "version": _TEXT},
}
"""The tables, with the type of each column. Each also has ``recording``: the SHA-256 of what the recording holds."""

_BATCH = 256
"""Recordings that are written together, at most."""
_PATIENCE = 20.0
"""Seconds after which finished rows are written, so that a run that is ended loses no more than that."""


class Summaries(NamedTuple):
    """What a run of ``summaries`` did."""

    out: str
    """The folder with the tables."""
    read: int
    """Recordings that were read now."""
    known: int
    """Recordings that were there already, under this or another name."""
    failed: int
    """Recordings read now that are rows with an error."""
    seconds: float
    skipped: int
    """Files in the folders that are no recording."""


def summaries(
    paths: Paths,
    out: Path,
    *,
    workers: Optional[int] = None,
    seconds: float = 600.0,
    memory_bytes: int = 0,
    progress: Optional[Callable[[int, int, float], None]] = None,
    format: str = "parquet",
) -> Summaries:
    """Writes rows about every recording in ``paths`` (files and folders) into the folder ``out``, as Parquet or, with
    ``format="delta"``, as Delta tables: a table each for recordings,
    transitions, phases, account, services, devices, findings, losses, and the versions of modules (drivers, services, programs).

    A recording is known by what it holds: one that is in ``out`` is not read again, unless this version makes other rows. Each is read
    in a process of a pool (``workers``; as many as there are processors), which may take ``seconds`` and, where the system limits it,
    ``memory_bytes``. One that cannot be read, or ends its process, is a row of ``recordings`` with its ``error``. ``progress`` hears how
    many of how many are done, and the seconds that the others will take.

    A run that is ended goes on where it was: call it again.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UsageError("Summaries need pyarrow: pip install 'onoff-perf[fleet]'") from None
    began = time.monotonic()
    folder = FilePath(os.fspath(out))
    try:
        recordings, skipped = _onoff.recordings(_listed(paths))
    except _onoff.NoAnswer as error:
        raise_for(*error.args)
    found = [[os.fspath(path) for path in files] for files in recordings]
    store = _store(folder, format)
    there_already = store.schemas()
    known = {digest for digest, schema in there_already.items() if schema == SCHEMA}
    wanted: dict[str, list[str]] = {}
    unreadable: list[tuple[str, list[str], str]] = []
    there = 0
    for files in found:
        try:
            digest = content_hash(files)
        except OSError as error:
            # Without what it holds it is known by its name.
            unreadable.append((f"path:{shown(files)}", files, str(error)))
            continue
        if digest in known or digest in wanted:
            there += 1
        else:
            wanted[digest] = files
    store.forget({digest for digest, schema in there_already.items() if schema != SCHEMA and digest in wanted})
    failed = 0
    done = 0
    batch: dict[str, list[dict[str, Any]]] = {}
    last = time.monotonic()

    def keep(digest: str, files: list[str], rows: Mapping[str, list[dict[str, Any]]]) -> None:
        nonlocal failed, done, batch, last
        for name, its in named(rows, digest, files).items():
            batch.setdefault(name, []).extend(its)
        done += 1
        failed += any(row.get("error") for row in rows["recordings"])
        if len(batch["recordings"]) >= _BATCH or time.monotonic() - last > _PATIENCE:
            store.write(_tables(batch))
            batch, last = {}, time.monotonic()
        if progress is not None:
            passed = time.monotonic() - began
            progress(done, len(wanted), passed / done * (len(wanted) - done))

    for digest, files, said in unreadable:
        if digest not in known:
            keep(digest, files, failure(said))
    try:
        with _Pool(workers or os.cpu_count() or 1, seconds, memory_bytes) as pool:
            for (digest, files), rows in pool.answers(list(wanted.items())):
                keep(digest, files, rows)
    finally:
        # Also when the caller interrupts: what is done is done.
        if batch:
            store.write(_tables(batch))
    return Summaries(str(folder), done, there, failed, time.monotonic() - began, skipped)


def named(
    rows: Mapping[str, list[dict[str, Any]]], digest: str, files: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """The rows about a recording, each with the recording's hash, and the one of ``recordings`` with its name and what made it."""
    about = {"path": shown(files), "schema": SCHEMA, "version": _onoff.__version__}
    return {
        name: [{"recording": digest, **(about if name == "recordings" else {}), **row} for row in its]
        for name, its in rows.items()
    }


_ORDER = [*(name for name in TABLES if name != "recordings"), "recordings"]
"""The tables in the order in which they are written."""


def schema_of(name: str) -> Any:
    """The columns of a table as Arrow has them."""
    import pyarrow

    types = {_TEXT: pyarrow.string(), _NUMBER: pyarrow.int64(), _TRUTH: pyarrow.bool_()}
    return pyarrow.schema([("recording", pyarrow.string()), *((column, types[kind]) for column, kind in TABLES[name].items())])


def _tables(batch: Mapping[str, list[dict[str, Any]]]) -> Iterator[tuple[str, Any]]:
    """Rows as Arrow tables, in the order in which they are written."""
    import pyarrow

    for name in _ORDER:
        rows = batch.get(name, [])
        if rows:
            schema = schema_of(name)
            yield name, pyarrow.table({column: [row.get(column) for row in rows] for column in schema.names}, schema=schema)


def _store(folder: FilePath, format: str) -> Any:
    """The folder in which the tables are kept."""
    if format not in ("parquet", "delta"):
        raise UsageError(f"no format is called {format!r}; there are parquet and delta")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: this is no folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / "recordings").is_dir():
            raise UsageError(f"{folder}: the folder holds something else; name another")
        found = "delta" if is_delta(folder / "recordings") else "parquet"
        if found != format:
            raise UsageError(f"{folder}: the folder holds {found} tables; name another for {format}")
    return DeltaStore(folder, {name: schema_of(name) for name in _ORDER}) if format == "delta" else _Store(folder)


class _Store:
    """The folder of tables. A batch counts when its part of ``recordings`` is there, which is put there last."""

    def __init__(self, folder: FilePath) -> None:
        self.folder = folder
        for name in TABLES:
            (folder / name).mkdir(parents=True, exist_ok=True)
        whole = {part.name for part in (folder / "recordings").glob("*.parquet")}
        for name in TABLES:
            for part in (folder / name).iterdir():
                unfinished = part.name.endswith(".unfinished")
                if unfinished or (part.suffix == ".parquet" and part.name not in whole):
                    part.unlink()

    def schemas(self) -> dict[str, int]:
        """The recordings that are there, each with the version of its rows."""
        import pyarrow.parquet

        found: dict[str, int] = {}
        for part in (self.folder / "recordings").glob("*.parquet"):
            table = pyarrow.parquet.read_table(part, columns=["recording", "schema"])
            found.update(zip(table["recording"].to_pylist(), table["schema"].to_pylist()))
        return found

    def forget(self, digests: set[str]) -> None:
        """Takes out what is read again: of rows that another version made."""
        import pyarrow.compute
        import pyarrow.parquet

        if not digests:
            return
        for name in _ORDER:
            for part in (self.folder / name).glob("*.parquet"):
                table = pyarrow.parquet.read_table(part)
                stale = pyarrow.compute.is_in(table["recording"], value_set=pyarrow.array(sorted(digests)))
                kept = table.filter(pyarrow.compute.invert(stale))
                if kept.num_rows < table.num_rows:
                    self._put(part, kept)

    def write(self, tables: Iterable[tuple[str, Any]]) -> None:
        """Writes rows, those of recordings last."""
        part = f"{uuid.uuid4().hex}.parquet"
        for name, table in tables:
            self._put(self.folder / name / part, table)

    def _put(self, path: FilePath, table: Any) -> None:
        import pyarrow.parquet

        unfinished = path.with_suffix(".unfinished")
        pyarrow.parquet.write_table(table, unfinished, compression="zstd")
        os.replace(unfinished, path)


class _Pool:
    """Processes that read recordings, each one at a time."""

    def __init__(self, workers: int, seconds: float, memory_bytes: int) -> None:
        if workers < 1:
            raise UsageError("workers: at least 1")
        self.workers = workers
        self.seconds = seconds
        self.memory_bytes = memory_bytes
        self.ended = threading.Event()

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()

    def answers(
        self, work: list[tuple[str, list[str]]]
    ) -> Iterable[tuple[tuple[str, list[str]], Mapping[str, list[dict[str, Any]]]]]:
        """The rows of each recording, as they come."""
        tasks: queue.SimpleQueue[tuple[str, list[str]]] = queue.SimpleQueue()
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for each in work:
            tasks.put(each)
        threads = [
            threading.Thread(target=self._serve, args=(tasks, answers), daemon=True)
            for _ in range(min(self.workers, len(work)))
        ]
        for thread in threads:
            thread.start()
        for _ in work:
            answer = answers.get()
            if isinstance(answer, BaseException):
                raise answer
            yield answer

    def _serve(self, tasks: Any, answers: Any) -> None:
        """Keeps one process at work."""
        reader = Reader(self.seconds, self.memory_bytes)
        try:
            while not self.ended.is_set():
                try:
                    task = tasks.get_nowait()
                except queue.Empty:
                    return
                rows = reader.ask(task[1])
                answers.put((task, failure(rows) if isinstance(rows, str) else rows))
        except BaseException as error:
            answers.put(error)
        finally:
            reader.close()
