"""Reader process of a pool: receives file names and returns rows, as one line of JSON each.

A recording that crashes the reader or exceeds its memory or time limit only terminates this process.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from . import _onoff

SCHEMA = 4
"""Version of the rows. Recordings summarized with another version are read again."""
_TRANSITION_COLUMNS = (
    *("transition", "variant", "duration_ns", "at_least_ns"),
    *("phase", "phase_ns", "subject", "subject_ns", "subject_certainty"),
)
"""Columns of ``transitions`` that are fields of ``onoff summary --format json``."""
_TRANSIENT = 0
"""Version of rows with a transient error, so that the next run reads the recording again."""
NO_TRANSITION = "no boot, shutdown, sleep or network boot in this recording"
"""The ``error`` of a readable recording without a transition."""


def content_hash(paths: list[str]) -> str:
    """Returns the SHA-256 of the contents of a recording's files, independent of names and locations.

    >>> content_hash(["samples/slow-boot.etl"]) == content_hash(["./samples/slow-boot.etl"])
    True
    """
    digests = []
    if all(os.path.isfile(path) and os.path.getsize(path) == 0 for path in paths):
        # Empty files would all have the same hash.
        raise OSError(errno.ENODATA, "the file is empty", paths[0])
    for path in _files(paths):
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
        digests.append(digest.hexdigest())
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


FileState = tuple[str, int, int, int]
"""Name, size, modification time in ns, and inode of a file."""


def stamp(paths: list[str]) -> list[FileState]:
    """Returns the state of each file of a recording, to detect changes."""
    states = []
    for path in _files(paths):
        status = os.stat(path)
        states.append((path, status.st_size, status.st_mtime_ns, status.st_ino))
    return states


def stamp_columns(states: list[FileState]) -> dict[str, Any]:
    """Returns the state of a recording's files as columns of ``recordings``: ``stamp`` has size, modification time and
    inode of one file, or a hash of several.

    >>> stamp_columns([("a.etl", 5, 7, 9)])
    {'size_bytes': 5, 'modified_ns': 7, 'stamp': '5:7:9'}
    """
    text = "\n".join(f"{size}:{modified}:{inode}" for _, size, modified, inode in states)
    if len(states) != 1:
        text = hashlib.sha256("\n".join(f"{name}:{size}:{modified}:{inode}" for name, size, modified, inode in states).encode(errors="replace")).hexdigest()
    return {"size_bytes": sum(state[1] for state in states), "modified_ns": max((state[2] for state in states), default=None), "stamp": text}


def display_name(paths: list[str]) -> str:
    """Returns the display name of a recording, with bytes that are not valid text replaced by ``?``.

    >>> display_name(["a.etl", "b\\udcff.etl"])
    'a.etl+b?.etl'
    """
    return "+".join(paths).encode(errors="replace").decode()


def _files(paths: list[str]) -> Iterator[str]:
    for path in paths:
        if os.path.isdir(path):
            for folder, folders, names in os.walk(path):
                folders.sort()
                yield from (os.path.join(folder, name) for name in sorted(names))
        else:
            yield path


def rows(paths: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Returns the rows about a recording, by table.

    >>> tables = rows(["samples/slow-boot.etl"])
    >>> [row["duration_ns"] for row in tables["transitions"]]
    [30032145500]
    """
    try:
        recording = _onoff.Recording(paths)
        documents = json.loads(recording.documents(display_name(paths)))
    except _onoff.NoAnswer as error:
        return failure(str(error.args[1]))
    return rows_from_documents(documents, recording.kind)


def rows_from_documents(documents: Mapping[str, Any], kind: str) -> dict[str, list[dict[str, Any]]]:
    """Converts the documents about a recording to rows."""
    info = documents.get("info", {})
    system = info.get("system", {})
    transitions = [row for row in documents["rows"] if row["transition"]]
    tables: dict[str, list[dict[str, Any]]] = {
        "recordings": [
            {
                "kind": kind,
                "computer": transitions[0]["computer"] if transitions else system.get("computer", ""),
                "os": info.get("os", ""),
                "os_build": info.get("os_build"),
                "model": system.get("model", ""),
                "firmware": system.get("firmware", ""),
                "processor": system.get("processor_name", ""),
                "processors": system.get("processors"),
                "memory_bytes": system.get("memory_bytes"),
                "recorded_utc": (transitions[0]["recorded_utc"] if transitions else None) or info.get("start_utc"),
                "error": "" if transitions else NO_TRANSITION,
            }
        ],
        "transitions": [
            {
                "number": number,
                **{name: row[name] for name in _TRANSITION_COLUMNS},
            }
            for number, row in enumerate(transitions)
        ],
        "phases": [],
        "account": [],
        "services": [],
        "devices": [],
        "findings": [],
        "losses": [],
        "versions": [{"module": module, "version": version} for module, version in documents.get("versions", [])],
    }
    for transition, number, report in _reports(documents):
        identity = {"transition": transition, "number": number}
        for index, phase in enumerate(report.get("phases", report.get("stages", []))):
            name = phase.get("name", phase.get("kind"))
            columns = ("half", "start_ns", "end_ns", "duration_ns", "certainty")
            tables["phases"].append({**identity, "place": index, "phase": name, **{column: phase.get(column) for column in columns}})
        for unit in report.get("units", []):
            tables["services"].append(
                {
                    **identity,
                    "service": unit["name"],
                    "kind": unit["kind"],
                    "duration_ns": unit.get("duration_ns"),
                    "outcome": unit.get("outcome"),
                    "image": unit.get("image", ""),
                    "on_path": unit.get("on_path"),
                }
            )
        for device in report.get("devices", []):
            tables["devices"].append(
                {
                    **identity,
                    "device": device.get("device", ""),
                    "driver": device.get("driver", ""),
                    "kind": str(device.get("kind", "")),
                    "duration_ns": device.get("duration_ns"),
                }
            )
    for interval in documents.get("why", {}).get("intervals", []):
        for entry in interval["account"]["entries"]:
            tables["account"].append(
                {
                    "transition": interval["action"],
                    "phase": interval["name"],
                    "start_ns": interval["start_ns"],
                    "phase_ns": interval["duration_ns"],
                    "kind": entry["kind"],
                    "subject": entry["name"],
                    "ns": entry["ns"],
                    "certainty": entry["certainty"],
                }
            )
    for finding in documents.get("diagnosis", {}).get("findings", []):
        tables["findings"].append(
            {
                "transition": finding["transition"],
                "code": finding["code"],
                "subject_kind": finding["subject"]["kind"],
                "subject": finding["subject"]["name"],
                "phase": finding.get("phase"),
                "cost_ns": finding.get("cost_ns"),
                "cost_basis": finding.get("cost_basis"),
                "certainty": finding.get("certainty"),
                "title": finding["title"],
            }
        )
    for loss in info.get("losses", documents.get("netboot", {}).get("losses", [])):
        tables["losses"].append({"counter": loss["counter"], "count": loss["count"], "severity": loss["severity"]})
    return tables


def _reports(documents: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Yields the kind of each transition, its number within the kind, and its report."""
    for transition in ("boot", "shutdown", "suspend"):
        document = documents.get(transition)
        if document is not None:
            sleeps = document.get("transitions")
            for number, report in enumerate(sleeps if sleeps is not None else [document]):
                yield transition, number, report
    for number, report in enumerate(documents.get("netboot", {}).get("boots", [])):
        yield "netboot", number, report


def failure(message: str, transient: bool = False) -> dict[str, list[dict[str, Any]]]:
    """Returns the rows about a recording that cannot be read; ``transient`` if a retry may succeed."""
    return {"recordings": [{"kind": "", "error": message, **({"schema": _TRANSIENT} if transient else {})}]}


def answer(task: Any) -> Any:
    """Runs a task. A list of files returns rows. ``{"files": […], "table": …, "columns": […], "file": …}`` writes columns
    of the table to a file, as an Arrow stream, and returns ``{"rows": …}``. ``{"files": […]}`` returns ``computer`` and
    ``recorded_utc`` without an analysis. Both return ``{"error": …}`` if they cannot.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answer({"files": ["samples/slow-boot.etl"], "table": "processes", "columns": ["pid"], "file": os.path.join(folder, "new")})
    {'rows': 28}
    >>> answer({"files": ["samples/slow-boot.etl"]})["computer"]
    'LAPTOP-7F3'
    """
    transient = False
    try:
        if isinstance(task, list):
            return rows(task)
        return _export(**task) if "table" in task else _identify(**task)
    except MemoryError:
        transient, message = True, "memory limit exceeded"
    except Exception as error:  # A bug triggered by one file must not affect the others.
        message = f"internal error ({type(error).__name__}: {error}); please report it"
    except BaseException as error:  # A panic of the compiled module.
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        message = f"internal error ({error}); please report it"
    return failure(message, transient) if isinstance(task, list) else {"error": message}


def _export(files: list[str], table: str, columns: list[str], file: str) -> dict[str, Any]:
    """Writes columns of a table to a file."""
    import pyarrow

    try:
        batches = pyarrow.RecordBatchReader.from_stream(_onoff.Recording(files).table(table))
    except _onoff.NoAnswer as error:
        return {"error": str(error.args[1])}
    count = 0
    # A stream, because the dictionaries of a file's batches cannot differ.
    with pyarrow.OSFile(file, "wb") as sink, pyarrow.ipc.new_stream(sink, pyarrow.schema([batches.schema.field(name) for name in columns])) as writer:
        for batch in batches:
            writer.write_batch(batch.select(columns))
            count += batch.num_rows
    return {"rows": count}


def _identify(files: list[str]) -> dict[str, Any]:
    """Returns what identifies a recording, with the names of ``recordings``; null if it is not described."""
    try:
        info = json.loads(_onoff.Recording(files).info())
    except _onoff.NoAnswer as error:
        return {"error": str(error.args[1])}
    return {"computer": info.get("system", {}).get("computer") or None, "recorded_utc": info.get("start_utc")}


def main() -> int:
    """Processes tasks from stdin until it is closed."""
    limits = [*sys.argv[1:], "0", "0"]
    if int(limits[0]) > 0:
        _limit_memory(int(limits[0]))
    seconds = float(limits[1])
    answers = os.fdopen(os.dup(1), "wb")
    # Redirect output of libraries to stderr, so that it cannot mix with the answers.
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        _limit_time(seconds)
        answers.write(json.dumps(answer(json.loads(line))).encode() + b"\n")
        answers.flush()
        _limit_time(0)
    return 0


_GRACE = 5.0
"""Seconds after the time limit before this process terminates itself, in case its parent cannot do so."""


def _limit_time(seconds: float) -> None:
    """Makes the system terminate this process after the time limit, in case its parent no longer exists."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE if seconds > 0 else 0)


def _limit_memory(max_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return
    resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))
