"""The process that reads recordings for a pool: names of files come in, rows go out, a line of JSON each.

A recording that crashes the reader, or needs more memory or time than it may, ends this process and no other.
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

SCHEMA = 3
"""Version of the rows: recordings that were summarized under another are read again."""
_TRANSIENT = 0
"""The version of rows with an error that may go away, so that the next run reads the recording again."""
NO_TRANSITION = "no boot, shutdown, sleep or network boot in this recording"
"""The ``error`` of a recording that was read and is about something else."""


def content_hash(paths: list[str]) -> str:
    """SHA-256 of what the files of a recording hold, whatever they are called and wherever they lie.

    >>> content_hash(["samples/slow-boot.etl"]) == content_hash(["./samples/slow-boot.etl"])
    True
    """
    digests = []
    if all(os.path.isfile(path) and os.path.getsize(path) == 0 for path in paths):
        # Whatever was to be recorded there, it is not the same.
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


def stamp(paths: list[str]) -> list[tuple[str, int, int]]:
    """Name, size and time of change of each file of a recording: while they stay the same, so does what it holds."""
    found = []
    for path in _files(paths):
        status = os.stat(path)
        found.append((path, status.st_size, status.st_mtime_ns))
    return found


def shown(paths: list[str]) -> str:
    """The name of a recording, as far as it is text: a name on a disk may be any bytes, and neither rows nor documents hold those.

    >>> shown(["a.etl", "b\\udcff.etl"])
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
    """The rows about one recording, by table.

    >>> found = rows(["samples/slow-boot.etl"])
    >>> [row["duration_ns"] for row in found["transitions"]]
    [30032145500]
    """
    try:
        recording = _onoff.Recording(paths)
        documents = json.loads(recording.documents(shown(paths)))
    except _onoff.NoAnswer as error:
        return failure(str(error.args[1]))
    return rows_of(documents, recording.kind)


def rows_of(documents: Mapping[str, Any], kind: str) -> dict[str, list[dict[str, Any]]]:
    """The rows that documents about one recording make."""
    info = documents.get("info", {})
    system = info.get("system", {})
    transitions = [row for row in documents["rows"] if row["transition"]]
    found: dict[str, list[dict[str, Any]]] = {
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
                **{name: row[name] for name in ("transition", "variant", "duration_ns", "at_least_ns")},
                "longest_phase": row["phase"],
                "longest_phase_ns": row["phase_ns"],
                "culprit": row["subject"],
                "culprit_ns": row["subject_ns"],
                "culprit_certainty": row["subject_certainty"],
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
        about = {"transition": transition, "number": number}
        for place, phase in enumerate(report.get("phases", report.get("stages", []))):
            name = phase.get("name", phase.get("kind"))
            length = phase.get("duration_ns")
            found["phases"].append(
                {**about, "place": place, "phase": name, "half": phase.get("half"), "duration_ns": length, "certainty": phase.get("certainty")}
            )
        for unit in report.get("units", []):
            found["services"].append(
                {
                    **about,
                    "service": unit["name"],
                    "kind": unit["kind"],
                    "duration_ns": unit.get("duration_ns"),
                    "outcome": unit.get("outcome"),
                    "image": unit.get("image", ""),
                    "on_path": unit.get("on_path"),
                }
            )
        for device in report.get("devices", []):
            found["devices"].append(
                {
                    **about,
                    "device": device.get("device", ""),
                    "driver": device.get("driver", ""),
                    "kind": str(device.get("kind", "")),
                    "duration_ns": device.get("duration_ns"),
                }
            )
    for stretch in documents.get("why", {}).get("stretches", []):
        for entry in stretch["account"]["entries"]:
            found["account"].append(
                {
                    "transition": stretch["action"],
                    "phase": stretch["name"],
                    "start_ns": stretch["start_ns"],
                    "phase_ns": stretch["duration_ns"],
                    "kind": entry["kind"],
                    "subject": entry["name"],
                    "ns": entry["ns"],
                    "certainty": entry["certainty"],
                }
            )
    for finding in documents.get("diagnosis", {}).get("findings", []):
        found["findings"].append(
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
        found["losses"].append({"counter": loss["counter"], "count": loss["count"], "severity": loss["severity"]})
    return found


def _reports(documents: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Each transition's report: which, its number among those of its kind, what it says."""
    for transition in ("boot", "shutdown", "suspend"):
        document = documents.get(transition)
        if document is not None:
            several = document.get("transitions")
            for number, report in enumerate(several if several is not None else [document]):
                yield transition, number, report
    for number, report in enumerate(documents.get("netboot", {}).get("boots", [])):
        yield "netboot", number, report


def failure(said: str, transient: bool = False) -> dict[str, list[dict[str, Any]]]:
    """The rows about a recording that cannot be read; ``transient`` where that may go away."""
    return {"recordings": [{"kind": "", "error": said, **({"schema": _TRANSIENT} if transient else {})}]}


def answer(task: Any) -> Any:
    """What is answered about a recording: a list of files is answered by its rows; ``{"files": […], "table": …, "folder": …}`` by
    ``{"file": …}``, an Arrow file with that table in that new folder, or by ``{"error": …}``.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answer({"files": ["samples/slow-boot.etl"], "table": "processes", "folder": os.path.join(folder, "new")})["rows"]
    28
    """
    transient = False
    try:
        return rows(task) if isinstance(task, list) else _exported(**task)
    except MemoryError:
        transient, said = True, "it needs more memory than it may take"
    except Exception as error:  # A fault of ours about one file is no reason to say nothing about the others.
        said = f"onoff failed on it ({type(error).__name__}: {error}); please report it"
    except BaseException as error:  # A panic of the compiled part.
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        said = f"onoff failed on it ({error}); please report it"
    return failure(said, transient) if isinstance(task, list) else {"error": said}


def _exported(files: list[str], table: str, folder: str) -> dict[str, Any]:
    """Writes a table of a recording into a new folder."""
    try:
        [(name, count, _)] = _onoff.Recording(files).export(folder, "arrow", [table])
    except _onoff.NoAnswer as error:
        return {"error": str(error.args[1])}
    return {"file": os.path.join(folder, name), "rows": count}


def main() -> int:
    """Reads recordings as long as names come in."""
    limits = [*sys.argv[1:], "0", "0"]
    if int(limits[0]) > 0:
        _limit_memory(int(limits[0]))
    seconds = float(limits[1])
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints by itself must not get between the answers.
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        _limit_time(seconds)
        answers.write(json.dumps(answer(json.loads(line))).encode() + b"\n")
        answers.flush()
        _limit_time(0)
    return 0


_GRACE = 5.0
"""Seconds after which this process ends itself where the one that set the limit no longer can."""


def _limit_time(seconds: float) -> None:
    """Lets the system end this process when the time is over: who waits for it does so too, but may have been killed itself."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE if seconds > 0 else 0)


def _limit_memory(most_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit for a process by itself.
        return
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
