"""Many recordings: rows about each, in Parquet, by a pool of processes, without reading any twice."""

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
from ._recording import Path, Paths, _listed
from ._worker import NO_TRANSITION, SCHEMA, content_hash, failure, shown, stamp

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
    """Recordings of this run that could not be read."""
    seconds: float
    errors: int
    """Recordings in the folder that could not be read, in this run or an earlier one."""
    answered: int
    """Recordings in the folder that hold a transition."""
    skipped: int
    """Files in the folders that are no recording."""


class RecordingRow(NamedTuple):
    """What the table ``recordings`` says of a recording's rows."""

    schema: int
    path: str
    error: str
    version: str

    @property
    def is_unreadable(self) -> bool:
        """The recording could not be read; one without a transition could."""
        return self.error not in ("", NO_TRANSITION)

    @property
    def is_settled(self) -> bool:
        """Reading the recording again would make the same rows."""
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
    """Writes rows about every recording in ``paths`` (files and folders) into the folder ``out``, as Parquet or, with
    ``format="delta"``, as Delta tables: a table each for recordings,
    transitions, phases, account, services, devices, findings, losses, and the versions of modules (drivers, services, programs).

    A recording is known by what it holds: one that is in ``out`` is not read again, unless this version makes other rows. Each is read
    in a process of a pool (``workers``; as many as there are processors), which may take ``seconds`` and, where the system limits it,
    ``memory_bytes``. One that cannot be read, or ends its process, is a row of ``recordings`` with its ``error``; where the error may go away
    (a time-out, memory, a process that ended, a file that could not be opened or changed meanwhile), ``schema`` is 0 and the next run reads it again.
    A file that was changed replaces its rows. ``progress`` hears how many of how many are done, and the seconds that the others will take.

    A run that is ended goes on where it was: call it again. One process writes at a time: another raises ``UnreadableError``.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UsageError("Summaries need pyarrow: pip install 'onoff-perf[fleet]'") from None
    began = time.monotonic()
    folder = FilePath(os.fspath(out))
    given = [os.path.abspath(path) for path in _listed(paths)]
    try:
        recordings, skipped = _onoff.recordings(_listed(paths))
    except _onoff.NoAnswer as error:
        raise_for(*error.args)
    found = [[os.path.abspath(path) for path in files] for files in recordings]
    pool = _Pool(workers if workers is not None else os.cpu_count() or 1, seconds, memory_bytes)
    with _opened(folder, format) as store:
        plan = _Plan(given, found, store.recordings())
        store.forget(plan.stale)
        batch = _Batch(store)
        failed = plan.kept_unopened
        total = len(plan.not_opened) + len(plan.wanted)

        def keep(digest: str, files: list[str], rows: Mapping[str, list[dict[str, Any]]]) -> None:
            nonlocal failed
            batch.add(named(rows, digest, files))
            failed += any(row.get("error", "") not in ("", NO_TRANSITION) for row in rows["recordings"])
            if progress is not None:
                passed = time.monotonic() - began
                progress(batch.done, total, passed / batch.done * (total - batch.done))

        try:
            for digest, (files, said) in plan.not_opened.items():
                keep(digest, files, failure(said, transient=True))
            with pool:
                for (digest, files), rows in pool.answers([(digest, files) for digest, (files, _) in plan.wanted.items()]):
                    if _unchanged(files, plan.wanted[digest][1]):
                        keep(digest, files, rows)
                    else:
                        keep(_by_name(files), files, failure("it changed while it was read", transient=True))
        finally:
            # Also when the caller interrupts: what is done is done.
            batch.write()
        held = store.recordings().values()
    errors = sum(row.is_unreadable for row in held)
    answered = sum(not row.error for row in held)
    return Summaries(str(folder), batch.done, plan.known, failed, time.monotonic() - began, errors, answered, skipped)


class _Plan:
    """What a run reads, and which rows it replaces."""

    def __init__(self, given: list[str], found: list[list[str]], held: Mapping[str, RecordingRow]) -> None:
        self.wanted: dict[str, tuple[list[str], Any]] = {}
        """Recordings to read by what they hold: their files, and their state when that was looked at."""
        self.not_opened: dict[str, tuple[list[str], str]] = {}
        """Recordings that cannot be opened by their names: their files, and the reason."""
        self.kept_unopened = 0
        """Others that cannot be opened: they have rows from when they could, and those stay."""
        self.known = 0
        names: dict[str, set[str]] = {}
        opened: dict[str, tuple[list[str], Any]] = {}
        readable: set[str] = set()
        for files in found:
            try:
                state = stamp(files)
                digest = content_hash(files)
            except OSError as error:
                self.not_opened[_by_name(files)] = files, str(error)
                continue
            readable.update(map(shown, ([file] for file in files)))
            names.setdefault(digest, set()).add(shown(files))
            if digest in opened:
                self.known += 1
            opened.setdefault(digest, (files, state))
        for digest, each in opened.items():
            row = held.get(digest)
            # A row under a name that now holds something else would share the name with that.
            renamed = row is not None and row.path not in names[digest] and not readable.isdisjoint(_files_of(row.path))
            if row is not None and row.is_settled and not renamed:
                self.known += 1
            else:
                self.wanted[digest] = each
        closed = {shown([file]) for files, _ in self.not_opened.values() for file in files}
        with_rows = {name for row in held.values() if not row.is_unreadable for name in _files_of(row.path)}
        for digest, (files, _) in list(self.not_opened.items()):
            if any(shown([file]) in with_rows for file in files):
                del self.not_opened[digest]
                self.kept_unopened += 1
        self.stale = {digest for digest, row in held.items() if self._is_stale(digest, row, given, opened, readable, closed)}

    def _is_stale(
        self, digest: str, row: RecordingRow, given: list[str], opened: Mapping[str, Any], readable: set[str], closed: set[str]
    ) -> bool:
        """Whether a recording's rows are to be replaced, or are of what is no longer there."""
        if digest in opened:
            return digest in self.wanted
        files = _files_of(row.path)
        if not readable.isdisjoint(files):
            return True
        if not row.is_unreadable:
            return False
        # An error is all that is known of it: nothing is lost with the row of a file that was deleted.
        return not closed.isdisjoint(files) or any(row.path == path or row.path.startswith(os.path.join(path, "")) for path in given)


def _files_of(path: str) -> set[str]:
    """The files that a recording's name may be made of: it is one, or several joined by ``+``.

    >>> sorted(_files_of("/boots/kernel.etl+/boots/c++.etl"))
    ['/boots/c++.etl', '/boots/kernel.etl', '/boots/kernel.etl+/boots/c++.etl']
    """
    return {path, *re.split(r"\+(?=[/\\]|[A-Za-z]:)", path)}


def _by_name(files: list[str]) -> str:
    """What a recording is known by where nothing is known of what it holds."""
    return f"path:{shown(files)}"


def _unchanged(files: list[str], state: Any) -> bool:
    try:
        return bool(stamp(files) == state)
    except OSError:
        return False


class _Batch:
    """Rows that are written together, after so many recordings or so long."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.done = 0
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._last = time.monotonic()

    def add(self, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        """Adds the rows about one recording."""
        for name, its in rows.items():
            self._rows.setdefault(name, []).extend(its)
        self.done += 1
        if len(self._rows["recordings"]) >= _BATCH or time.monotonic() - self._last > _PATIENCE:
            self.write()

    def write(self) -> None:
        """Writes what is there. An interrupt meanwhile must not have it written twice: it is read again instead."""
        rows, self._rows = self._rows, {}
        if rows:
            self.store.write(_tables(rows))
        self._last = time.monotonic()


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


_LOCK = ".lock"
"""The file that a writer locks, in the folder of ``recordings``: readers of tables pass over names that begin with a dot."""


@contextlib.contextmanager
def _opened(folder: FilePath, format: str) -> Iterator[Any]:
    """The folder in which the tables are kept, for one writer at a time."""
    if format not in ("parquet", "delta"):
        raise UsageError(f"no format is called {format!r}; there are parquet and delta")
    _refuse_other(folder, format)
    with exclusive(folder / "recordings" / _LOCK, str(folder)):
        # Another writer may have been first.
        _refuse_other(folder, format)
        yield DeltaStore(folder, {name: schema_of(name) for name in _ORDER}) if format == "delta" else _Store(folder)


def _refuse_other(folder: FilePath, format: str) -> None:
    """Refuses a folder with anything but tables of this format."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: this is no folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / "recordings").is_dir():
        raise UsageError(f"{folder}: the folder holds something else; name another")
    if any(part.name != _LOCK for part in (folder / "recordings").iterdir()):
        found = "delta" if is_delta(folder / "recordings") else "parquet"
        if found != format:
            raise UsageError(f"{folder}: the folder holds {found} tables; name another for {format}")


def rows_of_recordings(table: Any) -> dict[str, RecordingRow]:
    """The rows of the table ``recordings``, by recording."""
    columns = [table[name].to_pylist() for name in ("recording", *RecordingRow._fields)]
    return {digest: RecordingRow(schema or 0, path or "", error or "", version or "") for digest, schema, path, error, version in zip(*columns)}


class _Store:
    """The folder of tables. Rows count when their recording is in the part of ``recordings`` that has the name of theirs: it is put there last."""

    def __init__(self, folder: FilePath) -> None:
        self.folder = folder
        for name in TABLES:
            (folder / name).mkdir(parents=True, exist_ok=True)
        # What an ended run left, and second rows of one recording.
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
        """The recordings that are there."""
        return {digest: row for _, rows in self._recordings() for digest, row in rows.items()}

    def _recordings(self) -> Iterator[tuple[FilePath, dict[str, RecordingRow]]]:
        import pyarrow.parquet

        for part in (self.folder / "recordings").glob("*.parquet"):
            yield part, rows_of_recordings(pyarrow.parquet.read_table(part, columns=["recording", *RecordingRow._fields]))

    def forget(self, digests: set[str]) -> None:
        """Takes out recordings: first the rows by which the others count."""
        if digests:
            for name in reversed(_ORDER):
                for part in (self.folder / name).glob("*.parquet"):
                    self._filter(part, digests, keep=False)

    def write(self, tables: Iterable[tuple[str, Any]]) -> None:
        """Writes rows, those of recordings last; nothing where not all of them can be written."""
        part = f"{uuid.uuid4().hex}.parquet"
        try:
            for name, table in tables:
                self._put(self.folder / name / part, table)
        except BaseException:
            for name in reversed(_ORDER):
                (self.folder / name / part).unlink(missing_ok=True)
            raise

    def _filter(self, part: FilePath, digests: set[str], keep: bool = True) -> None:
        """Keeps the rows of these recordings in a file, or all others."""
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
                answers.put((task, failure(rows, transient=True) if isinstance(rows, str) else rows))
        except BaseException as error:
            answers.put(error)
        finally:
            reader.close()
