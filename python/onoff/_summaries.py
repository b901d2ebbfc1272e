"""Summarizes many recordings into tables with a pool of processes. Each recording is read only once."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, Callable, NamedTuple, Optional

from . import _onoff
from ._delta import DeltaStore, is_delta
from ._errors import UsageError, raise_for
from ._lock import exclusive
from ._process import Reader
from ._recording import Path, Paths, _path_list
from ._worker import NO_TRANSITION, SCHEMA, content_hash, failure, display_name, stamp

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
        "cost_basis": _TEXT,
        "certainty": _TEXT,
        "title": _TEXT,
    },
    "losses": {"counter": _TEXT, "count": _NUMBER, "severity": _TEXT},
    "versions": {"module": _TEXT, "version": _TEXT},
}
"""Tables with the type of each column. Each also has a column ``recording``: the SHA-256 of the contents."""

_BATCH = 256
"""Maximum number of recordings written together."""
_WRITE_INTERVAL_S = 20.0
"""Maximum time between writes, which limits the loss if the run is interrupted."""


class Summaries(NamedTuple):
    """Result of ``summaries``."""

    out: str
    """Folder with the tables."""
    read: int
    """Recordings read by this run."""
    known: int
    """Recordings already in the folder, under the same or another name."""
    failed: int
    """Recordings that this run could not read."""
    seconds: float
    errors: int
    """Recordings in the folder that this run or an earlier one could not read."""
    answered: int
    """Recordings in the folder with a transition."""
    skipped: int
    """Files in the given folders that are not recordings."""


class RecordingRow(NamedTuple):
    """State of a recording in the table ``recordings``."""

    schema: int
    path: str
    error: str
    version: str

    @property
    def is_unreadable(self) -> bool:
        """True if the recording could not be read. A recording without a transition is readable."""
        return self.error not in ("", NO_TRANSITION)

    @property
    def is_settled(self) -> bool:
        """True if reading the recording again would give the same rows."""
        return self.schema == SCHEMA and (not self.is_unreadable or self.version == _onoff.__version__)


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
    """Summarizes all recordings in ``paths`` (files and folders) into tables in the folder ``out``, as Parquet or, with
    ``format="delta"``, as Delta tables: recordings, transitions, phases, account, services, devices, findings, losses,
    and versions of modules (drivers, services, programs).

    Recordings are identified by their contents. A recording in ``out`` is not read again, unless it was summarized by a
    version of onoff with other rows. Rows of a changed file are replaced.

    A pool of ``workers`` processes (default: one per CPU) reads the recordings. Each recording is limited to
    ``seconds`` and, if the system supports it, ``memory_bytes``. A recording that cannot be read or crashes its process
    becomes a row of ``recordings`` with an ``error``. If the error may be transient (time-out, memory, crash, a file
    that could not be opened or changed while it was read), ``schema`` is 0 and the next run tries again.

    ``progress`` is called with the number of finished recordings, the total, and the estimated remaining seconds.

    To continue an interrupted run, call this function again. If another process is writing to ``out``, it raises
    ``UnreadableError``.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UsageError("Summaries require pyarrow: pip install 'onoff-perf[fleet]'") from None
    began = time.monotonic()
    folder = FilePath(os.fspath(out))
    given = [os.path.abspath(path) for path in _path_list(paths)]
    try:
        recordings, skipped = _onoff.recordings(_path_list(paths))
    except _onoff.NoAnswer as error:
        raise_for(*error.args)
    found = [[os.path.abspath(path) for path in files] for files in recordings]
    pool = _Pool(workers if workers is not None else os.cpu_count() or 1, seconds, memory_bytes)
    with _open_store(folder, format) as store:
        plan = _Plan(given, found, store.recordings())
        store.delete(plan.stale)
        batch = _Batch(store)
        failed = plan.kept_unopened
        total = len(plan.not_opened) + len(plan.wanted)

        def keep(digest: str, files: list[str], rows: Mapping[str, list[dict[str, Any]]]) -> None:
            nonlocal failed
            batch.add(with_identity(rows, digest, files))
            failed += any(row.get("error", "") not in ("", NO_TRANSITION) for row in rows["recordings"])
            if progress is not None:
                passed = time.monotonic() - began
                progress(batch.done, total, passed / batch.done * (total - batch.done))

        try:
            for digest, (files, message) in plan.not_opened.items():
                keep(digest, files, failure(message, transient=True))
            with pool:
                for (digest, files), rows in pool.answers([(digest, files) for digest, (files, _) in plan.wanted.items()]):
                    if _unchanged(files, plan.wanted[digest][1]):
                        keep(digest, files, rows)
                    else:
                        keep(_name_id(files), files, failure("the file changed while it was read", transient=True))
        finally:
            # Also write finished rows on an interrupt.
            batch.write()
        stored = store.recordings().values()
    errors = sum(row.is_unreadable for row in stored)
    answered = sum(not row.error for row in stored)
    return Summaries(str(folder), batch.done, plan.known, failed, time.monotonic() - began, errors, answered, skipped)


class _Plan:
    """Decides which recordings to read and which rows to replace."""

    def __init__(self, given: list[str], found: list[list[str]], stored: Mapping[str, RecordingRow]) -> None:
        self.wanted: dict[str, tuple[list[str], Any]] = {}
        """Recordings to read, by content hash: their files, and the state of the files when they were hashed."""
        self.not_opened: dict[str, tuple[list[str], str]] = {}
        """Recordings that cannot be opened, by name: their files, and the reason."""
        self.kept_unopened = 0
        """Number of recordings that cannot be opened but keep their rows from an earlier run."""
        self.known = 0
        names: dict[str, set[str]] = {}
        opened: dict[str, tuple[list[str], Any]] = {}
        readable: set[str] = set()
        for files in found:
            try:
                state = stamp(files)
                digest = content_hash(files)
            except OSError as error:
                self.not_opened[_name_id(files)] = files, str(error)
                continue
            readable.update(map(display_name, ([file] for file in files)))
            names.setdefault(digest, set()).add(display_name(files))
            if digest in opened:
                self.known += 1
            opened.setdefault(digest, (files, state))
        for digest, each in opened.items():
            row = stored.get(digest)
            # The name now refers to another recording, so the row needs a new name.
            renamed = row is not None and row.path not in names[digest] and not readable.isdisjoint(_files_of(row.path))
            if row is not None and row.is_settled and not renamed:
                self.known += 1
            else:
                self.wanted[digest] = each
        closed = {display_name([file]) for files, _ in self.not_opened.values() for file in files}
        with_rows = {name for row in stored.values() if not row.is_unreadable for name in _files_of(row.path)}
        for digest, (files, _) in list(self.not_opened.items()):
            if any(display_name([file]) in with_rows for file in files):
                del self.not_opened[digest]
                self.kept_unopened += 1
        self.stale = {digest for digest, row in stored.items() if self._is_stale(digest, row, given, opened, readable, closed)}

    def _is_stale(
        self, digest: str, row: RecordingRow, given: list[str], opened: Mapping[str, Any], readable: set[str], closed: set[str]
    ) -> bool:
        """Returns whether the rows of a recording must be deleted, because they are replaced or their file is missing."""
        if digest in opened:
            return digest in self.wanted
        files = _files_of(row.path)
        if not readable.isdisjoint(files):
            return True
        if not row.is_unreadable:
            return False
        # Rows with only an error can be deleted along with their file.
        return not closed.isdisjoint(files) or any(row.path == path or row.path.startswith(os.path.join(path, "")) for path in given)


def _files_of(path: str) -> set[str]:
    """Possible file names in a recording's name, which is one file or several joined by ``+``.

    >>> sorted(_files_of("/boots/kernel.etl+/boots/c++.etl"))
    ['/boots/c++.etl', '/boots/kernel.etl', '/boots/kernel.etl+/boots/c++.etl']
    """
    return {path, *re.split(r"\+(?=[/\\]|[A-Za-z]:)", path)}


def _name_id(files: list[str]) -> str:
    """Identifier of a recording whose contents are unknown."""
    return f"path:{display_name(files)}"


def _unchanged(files: list[str], state: Any) -> bool:
    try:
        return bool(stamp(files) == state)
    except OSError:
        return False


class _Batch:
    """Collects rows and writes them after a number of recordings or an interval of time."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.done = 0
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._last = time.monotonic()

    def add(self, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        """Adds the rows about one recording."""
        for name, table_rows in rows.items():
            self._rows.setdefault(name, []).extend(table_rows)
        self.done += 1
        if len(self._rows["recordings"]) >= _BATCH or time.monotonic() - self._last > _WRITE_INTERVAL_S:
            self.write()

    def write(self) -> None:
        """Writes the collected rows. They are removed first, so that an interrupt cannot write them twice."""
        rows, self._rows = self._rows, {}
        if rows:
            self.store.write(_tables(rows))
        self._last = time.monotonic()


def with_identity(
    rows: Mapping[str, list[dict[str, Any]]], digest: str, files: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """Adds the recording's hash to its rows, and its name and the versions to the row of ``recordings``."""
    about = {"path": display_name(files), "schema": SCHEMA, "version": _onoff.__version__}
    return {
        name: [{"recording": digest, **(about if name == "recordings" else {}), **row} for row in table_rows]
        for name, table_rows in rows.items()
    }


_ORDER = [*(name for name in TABLES if name != "recordings"), "recordings"]
"""Tables in the order in which they are written."""


def schema_of(name: str) -> Any:
    """Arrow schema of a table."""
    import pyarrow

    types = {_TEXT: pyarrow.string(), _NUMBER: pyarrow.int64(), _TRUTH: pyarrow.bool_()}
    return pyarrow.schema([("recording", pyarrow.string()), *((column, types[kind]) for column, kind in TABLES[name].items())])


def _tables(batch: Mapping[str, list[dict[str, Any]]]) -> Iterator[tuple[str, Any]]:
    """Converts rows to Arrow tables, in the order in which they are written."""
    import pyarrow

    for name in _ORDER:
        rows = batch.get(name, [])
        if rows:
            schema = schema_of(name)
            yield name, pyarrow.table({column: [row.get(column) for row in rows] for column in schema.names}, schema=schema)


_LOCK = ".lock"
"""Lock file in the folder of ``recordings``. Readers of Parquet folders ignore names that start with a dot."""


@contextlib.contextmanager
def _open_store(folder: FilePath, format: str) -> Iterator[Any]:
    """Opens and locks the folder with the tables."""
    if format not in ("parquet", "delta"):
        raise UsageError(f"unknown format {format!r}; available: parquet, delta")
    _check_contents(folder, format)
    with exclusive(folder / "recordings" / _LOCK, str(folder)):
        # Another writer may have created tables before the lock was acquired.
        _check_contents(folder, format)
        yield DeltaStore(folder, {name: schema_of(name) for name in _ORDER}) if format == "delta" else _Store(folder)


def _check_contents(folder: FilePath, format: str) -> None:
    """Raises an error if the folder contains anything but tables of this format."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: not a folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / "recordings").is_dir():
        raise UsageError(f"{folder}: the folder contains other files; use another folder")
    if any(part.name != _LOCK for part in (folder / "recordings").iterdir()):
        found = "delta" if is_delta(folder / "recordings") else "parquet"
        if found != format:
            raise UsageError(f"{folder}: the folder contains {found} tables; use another folder for {format}")


def rows_of_recordings(table: Any) -> dict[str, RecordingRow]:
    """Rows of the table ``recordings``, by recording."""
    columns = [table[name].to_pylist() for name in ("recording", *RecordingRow._fields)]
    return {digest: RecordingRow(schema or 0, path or "", error or "", version or "") for digest, schema, path, error, version in zip(*columns)}


class _Store:
    """A folder of Parquet tables. A row is valid if its recording is in the file of ``recordings`` with the same name,
    which is written last."""

    def __init__(self, folder: FilePath) -> None:
        self.folder = folder
        for name in TABLES:
            (folder / name).mkdir(parents=True, exist_ok=True)
        # Delete leftovers of an interrupted run and duplicate recordings.
        part_of: dict[str, str] = {}
        rows = [(row.is_unreadable, part.name, digest) for part, rows in self._recordings() for digest, row in rows.items()]
        for _, part_name, digest in sorted(rows):
            part_of.setdefault(digest, part_name)
        counting: dict[str, set[str]] = {}
        for digest, part_name in part_of.items():
            counting.setdefault(part_name, set()).add(digest)
        for name in _ORDER:
            for part in (folder / name).iterdir():
                if part.name.endswith(".unfinished"):
                    part.unlink()
                elif part.suffix == ".parquet":
                    self._filter(part, counting.get(part.name, set()))

    def recordings(self) -> dict[str, RecordingRow]:
        """Stored recordings."""
        return {digest: row for _, rows in self._recordings() for digest, row in rows.items()}

    def _recordings(self) -> Iterator[tuple[FilePath, dict[str, RecordingRow]]]:
        import pyarrow.parquet

        for part in (self.folder / "recordings").glob("*.parquet"):
            yield part, rows_of_recordings(pyarrow.parquet.read_table(part, columns=["recording", *RecordingRow._fields]))

    def delete(self, digests: set[str]) -> None:
        """Deletes recordings, starting with the rows that make the others valid."""
        if digests:
            for name in reversed(_ORDER):
                for part in (self.folder / name).glob("*.parquet"):
                    self._filter(part, digests, keep=False)

    def write(self, tables: Iterable[tuple[str, Any]]) -> None:
        """Writes rows, with those of ``recordings`` last. On an error, removes all of them."""
        part = f"{uuid.uuid4().hex}.parquet"
        try:
            for name, table in tables:
                self._put(self.folder / name / part, table)
        except BaseException:
            for name in reversed(_ORDER):
                (self.folder / name / part).unlink(missing_ok=True)
            raise

    def _filter(self, part: FilePath, digests: set[str], keep: bool = True) -> None:
        """Keeps the rows of these recordings in a file, or with ``keep=False`` all others."""
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet

        named = pyarrow.parquet.read_table(part, columns=["recording"])["recording"]
        kept = pyarrow.compute.is_in(named, value_set=pyarrow.array(sorted(digests), pyarrow.string()))
        if not keep:
            kept = pyarrow.compute.invert(kept)
        count = pyarrow.compute.sum(kept).as_py() or 0
        if count == 0:
            part.unlink()
        elif count < len(named):
            self._put(part, pyarrow.parquet.read_table(part).filter(kept))

    def _put(self, path: FilePath, table: Any) -> None:
        import pyarrow.parquet

        unfinished = path.with_suffix(".unfinished")
        pyarrow.parquet.write_table(table, unfinished, compression="zstd")
        os.replace(unfinished, path)


class _Pool:
    """A pool of reader processes."""

    def __init__(self, workers: int, seconds: float, memory_bytes: int) -> None:
        if workers < 1:
            raise UsageError("workers must be at least 1")
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
        """Yields the rows of each recording as they arrive."""
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
        """Runs tasks in one reader process."""
        reader = Reader(self.seconds, self.memory_bytes)
        try:
            while not self.ended.is_set():
                try:
                    task = tasks.get_nowait()
                except queue.Empty:
                    return
                rows = reader.run(task[1])
                answers.put((task, failure(rows, transient=True) if isinstance(rows, str) else rows))
        except BaseException as error:
            answers.put(error)
        finally:
            reader.close()
