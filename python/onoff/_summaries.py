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
from ._compaction import compact, finish
from ._delta import DeltaStore, is_delta
from ._errors import UsageError, raise_for
from ._lock import exclusive
from ._process import Reader
from ._recording import Path, Paths, _path_list
from ._worker import NO_TRANSITION, SCHEMA, content_hash, display_name, failure, stamp, stamp_columns
from ._worker import rows as worker_rows

_TEXT, _NUMBER, _BOOLEAN = "string", "int64", "bool"

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
        "size_bytes": _NUMBER,
        "modified_ns": _NUMBER,
        "stamp": _TEXT,
    },
    "transitions": {
        "transition": _TEXT,
        "number": _NUMBER,
        "variant": _TEXT,
        "duration_ns": _NUMBER,
        "at_least_ns": _NUMBER,
        "phase": _TEXT,
        "phase_ns": _NUMBER,
        "subject": _TEXT,
        "subject_ns": _NUMBER,
        "subject_certainty": _TEXT,
    },
    "phases": {
        "transition": _TEXT,
        "number": _NUMBER,
        "place": _NUMBER,
        "phase": _TEXT,
        "half": _TEXT,
        "start_ns": _NUMBER,
        "end_ns": _NUMBER,
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
        "on_path": _BOOLEAN,
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
"""Tables with the type of each column. Each table also has a column ``recording``, the SHA-256 of the contents."""

_BATCH = 256
"""Maximum number of recordings written together."""
_FIRST_INTERVAL_S = 1.0
"""Time until the first write. It doubles with each write, so that a short run keeps its progress when it is killed."""
_WRITE_INTERVAL_S = 20.0
"""Maximum time between writes, which limits the loss if the run is killed."""


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
    stamp: str

    @property
    def is_unreadable(self) -> bool:
        """Whether the recording could not be read. A recording without a transition is readable."""
        return self.error not in ("", NO_TRANSITION)

    @property
    def is_up_to_date(self) -> bool:
        """Whether reading the recording again would give the same rows."""
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
    verify: bool = False,
) -> Summaries:
    """Summarizes all recordings in ``paths`` (files and folders) into tables in the folder ``out``, as Parquet or, with
    ``format="delta"``, as Delta tables: recordings, transitions, phases, account, services, devices, findings, losses,
    and versions of modules (drivers, services, programs).

    Recordings are identified by their contents. A recording in ``out`` is not read again unless it was summarized by a
    version of onoff with other rows. The rows of a changed file are replaced. A file with the name, size, modification
    time and inode of an earlier run is not even opened, unless ``verify`` is true.

    A pool of ``workers`` processes (default: one per CPU) reads the recordings. Each recording is limited to
    ``seconds`` and, if the system supports it, ``memory_bytes``. A recording that cannot be read or crashes its process
    becomes a row of ``recordings`` with an ``error``. If the error may be transient (timeout, memory, crash, a file
    that could not be opened or changed while it was read), ``schema`` is 0 and the next run tries again.

    ``progress`` is called with the number of finished recordings, the total, and the estimated remaining seconds.

    To continue an interrupted run, call this function again. If another process is writing to ``out``, it raises
    ``UnreadableError``.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UsageError("Summaries require pyarrow: pip install 'onoff-perf[fleet]'") from None
    start = time.monotonic()
    folder = FilePath(os.fspath(out))
    input_paths = [os.path.abspath(path) for path in _path_list(paths)]
    try:
        recordings, skipped = _onoff.recordings(_path_list(paths))
    except _onoff.NoAnswer as error:
        raise_for(*error.args)
    recording_files = [[os.path.abspath(path) for path in files] for files in recordings]
    pool = _Pool(workers if workers is not None else os.cpu_count() or 1, seconds, memory_bytes)
    with open_store(folder, format) as store:
        plan = _Plan(input_paths, recording_files, store.recordings(), verify)
        store.delete(plan.stale)
        store.update(plan.moved)
        batch = _Batch(store)
        failed = plan.kept_unopenable
        total = len(plan.unopenable) + len(plan.to_read)

        def add(digest: str, files: list[str], rows: Mapping[str, list[dict[str, Any]]]) -> None:
            nonlocal failed
            batch.add(with_identity(rows, digest, files))
            failed += any(row.get("error", "") not in ("", NO_TRANSITION) for row in rows["recordings"])
            if progress is not None:
                elapsed = time.monotonic() - start
                progress(batch.done, total, elapsed / batch.done * (total - batch.done))

        try:
            for digest, (files, message) in plan.unopenable.items():
                add(digest, files, failure(message, transient=True))
            with pool:
                for (digest, files), rows in pool.answers([(digest, files) for digest, (files, _) in plan.to_read.items()]):
                    if _unchanged(files, plan.to_read[digest][1]):
                        add(digest, files, rows)
                    else:
                        add(name_id(files), files, failure("the file changed while it was read", transient=True))
        finally:
            # Also write finished rows on an interrupt.
            batch.write()
        stored = store.recordings().values()
    errors = sum(row.is_unreadable for row in stored)
    answered = sum(not row.error for row in stored)
    return Summaries(str(folder), batch.done, plan.known, failed, time.monotonic() - start, errors, answered, skipped)


def rows(paths: Paths) -> Mapping[str, Any]:
    """Returns the rows of ``summaries`` about one recording as Arrow tables, by name, without writing them: to read
    recordings with Ray, Dask or any other pool of processes. A recording that cannot be read is a row with its error.

    >>> tables = rows("samples/slow-boot.etl")
    >>> tables["transitions"]["duration_ns"].to_pylist(), tables["phases"].num_rows
    ([30032145500], 6)
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UsageError("Summaries require pyarrow: pip install 'onoff-perf[fleet]'") from None
    names = [os.path.abspath(path) for path in _path_list(paths)]
    try:
        digest = content_hash(names)
        found = worker_rows(names)
    except OSError as error:
        digest, found = name_id(names), failure(str(error), transient=True)
    batch = with_identity(found, digest, names)
    return {name: arrow_table(name, batch.get(name, [])) for name in TABLES}


class _Plan:
    """Decides which recordings to read and which rows to replace."""

    def __init__(self, input_paths: list[str], recordings: list[list[str]], stored: Mapping[str, RecordingRow], verify: bool = False) -> None:
        self.to_read: dict[str, tuple[list[str], Any]] = {}
        """Recordings to read, by content hash: their files, and the state of the files when they were hashed."""
        self.unopenable: dict[str, tuple[list[str], str]] = {}
        """Recordings that cannot be opened, by name: their files, and the reason."""
        self.kept_unopenable = 0
        """Number of recordings that cannot be opened but keep their rows from an earlier run."""
        self.known = 0
        self.moved: dict[str, dict[str, Any]] = {}
        """New name and state of files whose contents are known, by content hash."""
        digest_of_name = {row.path: digest for digest, row in stored.items() if row.stamp and not row.is_unreadable}
        names: dict[str, set[str]] = {}
        opened: dict[str, tuple[list[str], Any]] = {}
        readable: set[str] = set()
        for files in recordings:
            try:
                state = stamp(files)
                known = digest_of_name.get(display_name(files), "")
                is_same = not verify and known != "" and stored[known].stamp == stamp_columns(state)["stamp"]
                digest = known if is_same else content_hash(files)
            except OSError as error:
                self.unopenable[name_id(files)] = files, str(error)
                continue
            readable.update(map(display_name, ([file] for file in files)))
            names.setdefault(digest, set()).add(display_name(files))
            if digest in opened:
                self.known += 1
            # Prefer the name that is stored.
            if digest not in opened or (digest in stored and stored[digest].path == display_name(files)):
                opened[digest] = files, state
        for digest, recording in opened.items():
            row = stored.get(digest)
            # If the stored name now refers to another recording, the row needs a new name.
            is_renamed = row is not None and row.path not in names[digest] and not readable.isdisjoint(_possible_files(row.path))
            if row is not None and row.is_up_to_date and not is_renamed:
                self.known += 1
                columns = stamp_columns(recording[1])
                is_same_file = row.path == display_name(recording[0])
                if (is_same_file and row.stamp != columns["stamp"]) or (row.path not in names[digest] and not os.path.exists(row.path)):
                    self.moved[digest] = {"path": display_name(recording[0]), **columns}
            else:
                self.to_read[digest] = recording
        unopenable_names = {display_name([file]) for files, _ in self.unopenable.values() for file in files}
        names_with_rows = {name for row in stored.values() if not row.is_unreadable for name in _possible_files(row.path)}
        for digest, (files, _) in list(self.unopenable.items()):
            if any(display_name([file]) in names_with_rows for file in files):
                del self.unopenable[digest]
                self.kept_unopenable += 1
        self.stale = {
            digest
            for digest, row in stored.items()
            if self._is_stale(digest, row, input_paths, opened, readable, unopenable_names)
        }

    def _is_stale(
        self,
        digest: str,
        row: RecordingRow,
        input_paths: list[str],
        opened: Mapping[str, Any],
        readable: set[str],
        unopenable_names: set[str],
    ) -> bool:
        """Returns whether the rows of a recording must be deleted, because they are replaced or their file is missing."""
        if digest in opened:
            return digest in self.to_read
        files = _possible_files(row.path)
        if not readable.isdisjoint(files):
            return True
        if not row.is_unreadable:
            return False
        # Rows with only an error can be deleted along with their file.
        return not unopenable_names.isdisjoint(files) or any(
            row.path == path or row.path.startswith(os.path.join(path, "")) for path in input_paths
        )


def _possible_files(path: str) -> set[str]:
    """Returns the possible file names in a recording's name, which is one file or several joined by ``+``.

    >>> sorted(_possible_files("/boots/kernel.etl+/boots/c++.etl"))
    ['/boots/c++.etl', '/boots/kernel.etl', '/boots/kernel.etl+/boots/c++.etl']
    """
    return {path, *re.split(r"\+(?=[/\\]|[A-Za-z]:)", path)}


def name_id(files: list[str]) -> str:
    """Returns an identifier of a recording whose contents are unknown."""
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
        self._last_write = time.monotonic()
        self._interval_s = _FIRST_INTERVAL_S

    def add(self, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        """Adds the rows about one recording."""
        for name, table_rows in rows.items():
            self._rows.setdefault(name, []).extend(table_rows)
        self.done += 1
        if len(self._rows["recordings"]) >= _BATCH or time.monotonic() - self._last_write > self._interval_s:
            self.write()

    def write(self) -> None:
        """Writes the collected rows. Removes them first, so that they are not written twice after an interrupt."""
        rows, self._rows = self._rows, {}
        if rows:
            self.store.write(_tables(rows))
            self._interval_s = min(_WRITE_INTERVAL_S, 2 * self._interval_s)
        self._last_write = time.monotonic()


def with_identity(
    rows: Mapping[str, list[dict[str, Any]]], digest: str, files: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """Adds the recording's hash to its rows, and its name, state, schema and version to the row of ``recordings``."""
    identity = {"path": display_name(files), "schema": SCHEMA, "version": _onoff.__version__}
    with contextlib.suppress(OSError):
        identity.update(stamp_columns(stamp(files)))
    return {
        name: [{"recording": digest, **(identity if name == "recordings" else {}), **row} for row in table_rows]
        for name, table_rows in rows.items()
    }


_WRITE_ORDER = [*(name for name in TABLES if name != "recordings"), "recordings"]
"""Tables in the order in which they are written."""


def arrow_schema(name: str) -> Any:
    """Returns the Arrow schema of a table."""
    import pyarrow

    types = {_TEXT: pyarrow.string(), _NUMBER: pyarrow.int64(), _BOOLEAN: pyarrow.bool_()}
    return pyarrow.schema([("recording", pyarrow.string()), *((column, types[kind]) for column, kind in TABLES[name].items())])


def arrow_table(name: str, rows: list[dict[str, Any]]) -> Any:
    """Converts rows to an Arrow table."""
    import pyarrow

    schema = arrow_schema(name)
    return pyarrow.table({column: [row.get(column) for row in rows] for column in schema.names}, schema=schema)


def _tables(batch: Mapping[str, list[dict[str, Any]]]) -> Iterator[tuple[str, Any]]:
    """Converts rows to Arrow tables, in the order in which they are written."""
    for name in _WRITE_ORDER:
        if batch.get(name):
            yield name, arrow_table(name, batch[name])


_LOCK = ".lock"
"""Lock file in the folder of ``recordings``. Readers of Parquet folders ignore names that start with a dot."""


@contextlib.contextmanager
def open_store(folder: FilePath, format: str) -> Iterator[Any]:
    """Opens and locks the folder with the tables."""
    if format not in ("parquet", "delta"):
        raise UsageError(f"unknown format {format!r}; available: parquet, delta")
    _check_contents(folder, format)
    with exclusive(folder / "recordings" / _LOCK, str(folder)):
        # Another writer may have created tables before the lock was acquired.
        _check_contents(folder, format)
        yield DeltaStore(folder, {name: arrow_schema(name) for name in _WRITE_ORDER}) if format == "delta" else _Store(folder)


def _check_contents(folder: FilePath, format: str) -> None:
    """Raises an error if the folder contains anything but tables of this format."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: not a folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / "recordings").is_dir():
        raise UsageError(f"{folder}: the folder contains other files; use another folder")
    if any(file.name != _LOCK for file in (folder / "recordings").iterdir()):
        existing_format = "delta" if is_delta(folder / "recordings") else "parquet"
        if existing_format != format:
            raise UsageError(f"{folder}: the folder contains {existing_format} tables; use another folder for {format}")


def recording_rows(table: Any) -> dict[str, RecordingRow]:
    """Returns the rows of the table ``recordings``, by recording."""
    columns = [table[name].to_pylist() if name in table.column_names else [None] * len(table) for name in ("recording", *RecordingRow._fields)]
    return {digest: RecordingRow(schema or 0, *(value or "" for value in texts)) for digest, schema, *texts in zip(*columns)}


class _Store:
    """A folder of Parquet tables. A row is valid if its recording is in the file of ``recordings`` with the same name,
    which is written last."""

    def __init__(self, folder: FilePath) -> None:
        self.folder = folder
        for name in TABLES:
            (folder / name).mkdir(parents=True, exist_ok=True)
        finish(folder, _WRITE_ORDER)
        # Delete leftovers of an interrupted run and duplicate recordings.
        file_of_recording: dict[str, str] = {}
        self._add_columns()
        rows = [(row.is_unreadable, part.name, digest) for part, rows in self._recordings() for digest, row in rows.items()]
        for _, part_name, digest in sorted(rows):
            file_of_recording.setdefault(digest, part_name)
        recordings_of_file: dict[str, set[str]] = {}
        for digest, part_name in file_of_recording.items():
            recordings_of_file.setdefault(part_name, set()).add(digest)
        for name in _WRITE_ORDER:
            for part in (folder / name).iterdir():
                if part.name.endswith(".unfinished"):
                    part.unlink()
                elif part.suffix == ".parquet":
                    self._filter(part, recordings_of_file.get(part.name, set()))

    def _add_columns(self) -> None:
        """Adds the columns that an earlier version did not write, so that all files have the same ones."""
        import pyarrow
        import pyarrow.parquet

        for name in _WRITE_ORDER:
            schema = arrow_schema(name)
            for part in (self.folder / name).glob("*.parquet"):
                present = pyarrow.parquet.read_schema(part).names
                missing = [column for column in schema.names if column not in present]
                if missing:
                    table = pyarrow.parquet.read_table(part)
                    for column in missing:
                        table = table.append_column(column, pyarrow.nulls(len(table), schema.field(column).type))
                    self._replace(part, table)

    def update(self, moved: Mapping[str, Mapping[str, Any]]) -> None:
        """Replaces values in the rows of recordings."""
        import pyarrow
        import pyarrow.parquet

        for part, rows in list(self._recordings()) if moved else []:
            if moved.keys().isdisjoint(rows):
                continue
            table = pyarrow.parquet.read_table(part)
            values = [{**row, **moved.get(row["recording"], {})} for row in table.to_pylist()]
            self._replace(part, pyarrow.Table.from_pylist(values, schema=table.schema))

    def recordings(self) -> dict[str, RecordingRow]:
        """Returns the stored recordings."""
        return {digest: row for _, rows in self._recordings() for digest, row in rows.items()}

    def _recordings(self) -> Iterator[tuple[FilePath, dict[str, RecordingRow]]]:
        import pyarrow.parquet

        for file in (self.folder / "recordings").glob("*.parquet"):
            present = pyarrow.parquet.read_schema(file).names
            columns = [name for name in ("recording", *RecordingRow._fields) if name in present]
            yield file, recording_rows(pyarrow.parquet.read_table(file, columns=columns))

    def delete(self, digests: set[str]) -> None:
        """Deletes recordings, starting with their rows in ``recordings``, which make the other rows valid."""
        if digests:
            for name in reversed(_WRITE_ORDER):
                for part in (self.folder / name).glob("*.parquet"):
                    self._filter(part, digests, keep=False)

    def write(self, tables: Iterable[tuple[str, Any]]) -> None:
        """Writes rows, with ``recordings`` last. Removes all of them after an error."""
        part = f"{uuid.uuid4().hex}.parquet"
        try:
            for name, table in tables:
                self._replace(self.folder / name / part, table)
        except BaseException:
            for name in reversed(_WRITE_ORDER):
                (self.folder / name / part).unlink(missing_ok=True)
            raise

    def count_files(self) -> int:
        """Returns the number of files of all tables."""
        return sum(len(list((self.folder / name).glob("*.parquet"))) for name in TABLES)

    def compact(self) -> None:
        """Merges small files."""
        compact(self.folder, {name: arrow_schema(name) for name in _WRITE_ORDER})

    def _filter(self, file: FilePath, digests: set[str], keep: bool = True) -> None:
        """Keeps the rows of these recordings in a file, or all other rows with ``keep=False``."""
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet

        recordings = pyarrow.parquet.read_table(file, columns=["recording"])["recording"]
        mask = pyarrow.compute.is_in(recordings, value_set=pyarrow.array(sorted(digests), pyarrow.string()))
        if not keep:
            mask = pyarrow.compute.invert(mask)
        count = pyarrow.compute.sum(mask).as_py() or 0
        if count == 0:
            file.unlink()
        elif count < len(recordings):
            self._replace(file, pyarrow.parquet.read_table(file).filter(mask))

    def _replace(self, path: FilePath, table: Any) -> None:
        import pyarrow.parquet

        temporary_path = path.with_suffix(".unfinished")
        pyarrow.parquet.write_table(table, temporary_path, compression="zstd")
        os.replace(temporary_path, path)


class _Pool:
    """A pool of reader processes."""

    def __init__(self, workers: int, seconds: float, memory_bytes: int) -> None:
        if workers < 1:
            raise UsageError("workers must be at least 1")
        self.workers = workers
        self.seconds = seconds
        self.memory_bytes = memory_bytes
        self.stopped = threading.Event()

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()

    def answers(
        self, work: list[tuple[str, list[str]]]
    ) -> Iterable[tuple[tuple[str, list[str]], Mapping[str, list[dict[str, Any]]]]]:
        """Yields the rows of each recording as they arrive."""
        tasks: queue.SimpleQueue[tuple[str, list[str]]] = queue.SimpleQueue()
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for task in work:
            tasks.put(task)
        threads = [
            threading.Thread(target=self._run_tasks, args=(tasks, answers), daemon=True)
            for _ in range(min(self.workers, len(work)))
        ]
        for thread in threads:
            thread.start()
        for _ in work:
            answer = answers.get()
            if isinstance(answer, BaseException):
                raise answer
            yield answer

    def _run_tasks(self, tasks: Any, answers: Any) -> None:
        """Runs tasks in one reader process."""
        reader = Reader(self.seconds, self.memory_bytes)
        try:
            while not self.stopped.is_set():
                try:
                    task = tasks.get_nowait()
                except queue.Empty:
                    return
                _, files = task
                rows = reader.run(files)
                answers.put((task, failure(rows, transient=True) if isinstance(rows, str) else rows))
        except BaseException as error:
            answers.put(error)
        finally:
            reader.close()
