"""Recordings and their analyses, as methods of an opened recording and as functions of paths."""

from __future__ import annotations

import builtins
import functools
import html
import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Optional, Union, cast, overload

from . import _onoff, types
from ._answers import Answer, Record, Records, parse
from ._errors import UsageError, in_python_words, raise_for
from ._rows import AccountRow

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Iterable[Path]]
Option = Union[None, bool, int, float, str, "os.PathLike[str]", Iterable[Union[int, str, "os.PathLike[str]"]]]
"""Value of a command-line option. Names use ``_`` for ``-``; flags take ``True``, repeated options a list."""

_TRANSITIONS = ("boot", "shutdown", "suspend")
_LISTS = ("processes", "cpu", "interrupts", "disk", "files", "hardfaults", "services", "devices", "policy")


class ColumnDeclaration(NamedTuple):
    """A column of a table."""

    name: str
    type: str
    nullable: bool
    unit: str
    """``ns``, ``bytes``, or empty."""
    role: str
    """Role of the column in its row, such as ``start`` or ``process``; empty for other columns."""
    description: str


class TableDeclaration(NamedTuple):
    """Declaration of a table, the same for every recording."""

    name: str
    description: str
    order: str
    columns: tuple[ColumnDeclaration, ...]


@functools.lru_cache(maxsize=None)
def _declarations() -> Mapping[str, TableDeclaration]:
    return {
        table["name"]: TableDeclaration(
            table["name"],
            table["description"],
            table["order"],
            tuple(ColumnDeclaration(**column) for column in table["columns"]),
        )
        for table in json.loads(_onoff.declarations())
    }


def tables() -> list[TableDeclaration]:
    """Lists all tables that a recording can contain, with columns, units and descriptions.

    >>> [column.unit for table in tables() if table.name == "samples" for column in table.columns][0]
    'ns'
    """
    return list(_declarations().values())


class Table:
    """A table of a recording. Supports the Arrow PyCapsule interface: pass it to ``pyarrow.table``,
    ``polars.from_arrow`` or DuckDB.

    Numbers and strings share the recording's memory, which is kept alive as long as it is referenced.
    """

    def __init__(self, source: _onoff.Table) -> None:
        self._source = source

    @property
    def name(self) -> str:
        """Name of the table."""
        return self._source.name

    @property
    def declaration(self) -> TableDeclaration:
        """Description and columns of the table."""
        return _declarations()[self.name]

    def __len__(self) -> int:
        return len(self._source)

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)

    def to_pyarrow(self) -> Any:
        """Converts the table to a ``pyarrow.Table``."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> Any:
        """Converts the table to a Polars DataFrame."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> Any:
        """Converts the table to a pandas DataFrame with Arrow-backed columns."""
        import pandas

        return self.to_pyarrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def __repr__(self) -> str:
        return f"<table {self.name}: {len(self):,} rows, {len(self.declaration.columns)} columns>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{column.name}</td><td>{column.type}</td><td>{column.unit}</td><td>{html.escape(column.description)}</td></tr>"
            for column in self.declaration.columns
        )
        caption = html.escape(f"{self.name}: {len(self):,} rows. {self.declaration.description}")
        head = "<tr><th>column</th><th>type</th><th>unit</th><th>description</th></tr>"
        return f"<p>{caption}</p><table><thead>{head}</thead><tbody>{rows}</tbody></table>"


class Recording(types.Tables):
    """A recording. Every command about one recording is a method, with command-line options as keywords; every table is
    an attribute."""

    def __init__(
        self,
        paths: Paths,
        *,
        boot: Union[None, int, str] = None,
        manifests: Paths = (),
        times: Literal["ns", "timedelta"] = "ns",
    ) -> None:
        if times not in ("ns", "timedelta"):
            raise UsageError(f"times must be 'ns' or 'timedelta', not {times!r}")
        self._paths = _path_list(paths)
        self._manifests = _path_list(manifests)
        self._boot = None if boot is None else str(boot)
        self._times = times
        self._answers: dict[tuple[str, ...], Answer] = {}
        self._transitions: Optional[Records[types.SummaryRow]] = None
        self._all_documents: Optional[dict[str, Any]] = None
        try:
            self._core = _onoff.Recording(self._paths, self._boot, self._manifests)
        except _onoff.NoAnswer as error:
            raise_for(*error.args)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the memory of the recording. Tables and results that are in use stay valid."""
        self._answers.clear()
        self._transitions = self._all_documents = None
        self._core = cast(Any, _Closed())

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens the files again.
        return _open_again, (self._paths, self._boot, self._manifests, self._times)

    @property
    def paths(self) -> list[str]:
        """Files and folders of the recording."""
        return list(self._paths)

    @property
    def kind(self) -> str:
        """Kind of recording, such as ``a Windows event trace log``."""
        return self._core.kind

    def _run(self, verb: str, options: Mapping[str, Any]) -> Any:
        arguments = [verb, *self._paths, *self._recording_flags(), *_flags(options), "--format", "json"]
        answer = self._answers.get(tuple(arguments))
        if answer is None:
            document = _answer(arguments)
            if verb in _TRANSITIONS:
                answer = types.ANSWERS[verb](json.loads(document), lambda: self, verb)
            else:
                answer = parse(document, types.ANSWERS[verb])
            self._answers[tuple(arguments)] = answer
        return answer

    def _recording_flags(self) -> list[str]:
        return [*_flags({"manifest": self._manifests}), *([f"--boot={self._boot}"] if self._boot else [])]

    def _picture(self, verb: str) -> str:
        return _answer([verb, *self._paths, *self._recording_flags(), "--format", "svg"]).decode()

    def boot(self, **options: Unpack[types.BootOptions]) -> types.BootAnswer:
        """Analyzes the boot, like ``onoff boot``."""
        return cast(types.BootAnswer, self._run("boot", options))

    def shutdown(self, **options: Unpack[types.ShutdownOptions]) -> types.ShutdownAnswer:
        """Analyzes the shutdown, like ``onoff shutdown``."""
        return cast(types.ShutdownAnswer, self._run("shutdown", options))

    def suspend(self, **options: Unpack[types.SuspendOptions]) -> types.SuspendAnswer:
        """Analyzes sleeps and resumes, like ``onoff suspend``."""
        return cast(types.SuspendAnswer, self._run("suspend", options))

    def diagnose(self, **options: Unpack[types.DiagnoseOptions]) -> types.DiagnoseAnswer:
        """Finds problems and suggests fixes, like ``onoff diagnose``."""
        return cast(types.DiagnoseAnswer, self._run("diagnose", options))

    def why(self, **options: Unpack[types.WhyOptions]) -> types.WhyAnswer:
        """Explains what a ``service``, ``process``, ``device``, ``thread`` or ``phase`` waited for."""
        return cast(types.WhyAnswer, self._run("why", options))

    def what_if(self, **options: Unpack[types.WhatIfOptions]) -> types.WhatIfAnswer:
        """Predicts how long a transition would take after changes, such as ``without="SoundShaper"``."""
        return cast(types.WhatIfAnswer, self._run("what-if", options))

    def netboot(self, **options: Unpack[types.NetbootOptions]) -> types.NetbootAnswer:
        """Analyzes network boots, like ``onoff netboot``."""
        return cast(types.NetbootAnswer, self._run("netboot", options))

    def io(self, **options: Unpack[types.IoOptions]) -> types.IoAnswer:
        """Analyzes file requests of programs, like ``onoff io``."""
        return cast(types.IoAnswer, self._run("io", options))

    @overload
    def list(self, what: Literal["processes"], **options: Unpack[types.ProcessesOptions]) -> types.ProcessesAnswer: ...
    @overload
    def list(self, what: Literal["cpu"], **options: Unpack[types.CpuOptions]) -> types.CpuAnswer: ...
    @overload
    def list(self, what: Literal["interrupts"], **options: Unpack[types.InterruptsOptions]) -> types.InterruptsAnswer: ...
    @overload
    def list(self, what: Literal["disk"], **options: Unpack[types.DiskOptions]) -> types.DiskAnswer: ...
    @overload
    def list(self, what: Literal["files"], **options: Unpack[types.FilesOptions]) -> types.FilesAnswer: ...
    @overload
    def list(self, what: Literal["hardfaults"], **options: Unpack[types.HardfaultsOptions]) -> types.HardFaultsAnswer: ...
    @overload
    def list(self, what: Literal["services"], **options: Unpack[types.ServicesOptions]) -> types.ServicesAnswer: ...
    @overload
    def list(self, what: Literal["devices"], **options: Unpack[types.DevicesOptions]) -> types.DevicesAnswer: ...
    @overload
    def list(self, what: Literal["policy"], **options: Unpack[types.PolicyOptions]) -> types.PolicyAnswer: ...
    def list(self, what: str, **options: Any) -> Answer:
        """Returns a list: ``processes``, ``cpu``, ``interrupts``, ``disk``, ``files``, ``hardfaults``, ``services``,
        ``devices`` or ``policy``."""
        if what not in _LISTS:
            raise UsageError(f"unknown list {what!r}; available: {', '.join(_LISTS)}")
        return cast(Answer, self._run(what, options))

    def info(self) -> types.InfoAnswer:
        """Describes the recording, like ``onoff info``."""
        answer = self._answers.get(("info",))
        if answer is None:
            answer = self._answers[("info",)] = parse(_core(self._core.info), types.InfoAnswer)
        return cast(types.InfoAnswer, answer)

    @property
    def losses(self) -> Records[types.Loss]:
        """Losses of the recorder or the reader, with name, count and meaning."""
        return Records(self.info().losses)

    def transitions(self) -> Records[types.SummaryRow]:
        """Lists boots, shutdowns, sleeps and network boots, like ``onoff summary``."""
        if self._transitions is None:
            rows = json.loads(_core(self._core.transitions, "+".join(self._paths)))
            self._transitions = Records(types.SummaryRow(row) for row in rows)
        return self._transitions

    @property
    def phases(self) -> Records[Union[types.Phase, types.Stage]]:
        """Phases of all transitions, in order."""
        phases: Records[Union[types.Phase, types.Stage]] = Records()
        for transition in dict.fromkeys(row.transition for row in self.transitions()):
            if transition == "suspend":
                for sleep in self.suspend().transitions:
                    phases.extend(sleep.phases)
            elif transition == "boot":
                phases.extend(self.boot().phases)
            elif transition == "shutdown":
                phases.extend(self.shutdown().phases)
            elif transition == "netboot":
                for boot in self.netboot().boots:
                    phases.extend(boot.stages)
        return phases

    @property
    def account(self) -> Records[AccountRow]:
        """Time of each phase by subject. The entries of a phase add up to its duration, to the nanosecond."""
        answer = self.why(top=10**6, min=0)
        return Records(
            AccountRow(
                {
                    **{"transition": phase.action, "phase": phase.name, "start_ns": phase.start_ns, "phase_ns": phase.duration_ns},
                    **{"subject" if name == "name" else name: value for name, value in entry.items()},
                }
            )
            for phase in answer.intervals
            for entry in phase.account.entries
        )

    def findings(self, **options: Unpack[types.DiagnoseOptions]) -> Records[types.RuleFinding]:
        """Findings of ``onoff diagnose``, most expensive first."""
        return Records(self.diagnose(**options).findings)

    def table(self, name: str) -> Table:
        """Returns a table by name. It is read on first use."""
        if name not in _declarations():
            raise UsageError(f"unknown table {name!r}; available: {', '.join(_declarations())}")
        return Table(_core(self._core.table, name, self._times == "timedelta"))

    def tables(self) -> dict[str, Table]:
        """Returns all tables that have rows, by name. Reads the entire recording."""
        return {name: self.table(name) for name in json.loads(_core(self._core.row_counts))}

    # Hidden from type checkers, which know the tables of ``types.Tables``.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Table:
            if name.startswith("_") or name not in _declarations():
                raise AttributeError(f"no method or table {name!r}")
            return self.table(name)

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *_declarations()]

    def _documents(self) -> dict[str, Any]:
        """Returns the documents of all analyses by name, as in ``--format json``, and the transitions as ``rows``. Reads
        the recording once."""
        if self._all_documents is None:
            self._all_documents = cast("dict[str, Any]", json.loads(_core(self._core.documents, "+".join(self._paths))))
        return self._all_documents

    def export(
        self, folder: Path, format: Literal["parquet", "arrow", "csv"] = "parquet", tables: Optional[Iterable[str]] = None
    ) -> dict[str, int]:
        """Writes tables to a new folder, like ``onoff export``. Returns the number of rows of each file."""
        names = None if tables is None else [str(name) for name in tables]
        try:
            written = _core(self._core.export, folder, format, names)
        except UsageError:
            raise
        except ValueError as error:
            raise UsageError(str(error)) from None
        return {file: rows for file, rows, _ in written}

    def view(self, height: int = 800) -> Any:
        """Returns the page of ``onoff view`` for a notebook, displayed in a frame of ``height`` pixels."""
        return _Page(_answer_file(["view", *self._paths, *self._recording_flags()]), height)

    def __repr__(self) -> str:
        names = ", ".join(os.path.basename(path.rstrip("/\\")) or path for path in self._paths)
        losses = len(self.losses)
        loss_note = f", {losses} kind{'s' if losses > 1 else ''} of losses" if losses else ""
        return f"<recording {names}: {self.kind}{loss_note}>"

    def _repr_html_(self) -> str:
        parts = [f"<p>{html.escape(repr(self)[1:-1])}</p>"]
        for transition in dict.fromkeys(row.transition for row in self.transitions()):
            if transition in _TRANSITIONS:
                parts.append(self._picture(transition))
        parts.append(self.transitions()._repr_html_())
        return "".join(parts)


class _Page:
    def __init__(self, page: str, height: int) -> None:
        self.page = page
        self.height = height

    def _repr_html_(self) -> str:
        # The sandbox gives the frame another origin, so that content of the recording cannot access the notebook.
        return (
            f'<iframe sandbox="allow-scripts" style="width:100%;height:{self.height}px;border:0" '
            f'srcdoc="{html.escape(self.page)}"></iframe>'
        )


def open(
    paths: Paths,
    *,
    boot: Union[None, int, str] = None,
    manifests: Paths = (),
    times: Literal["ns", "timedelta"] = "ns",
) -> Recording:
    """Opens a recording: a file, possibly compressed, or several files that belong together. ``boot`` selects a boot of a Linux
    journal; ``times="timedelta"`` returns times in tables as durations instead of integers.

    >>> open("samples/slow-boot.etl")
    <recording slow-boot.etl: a Windows event trace log>
    """
    return Recording(paths, boot=boot, manifests=manifests, times=times)


def boot(paths: Paths, **options: Unpack[types.BootPathOptions]) -> types.BootAnswer:
    """Analyzes a boot."""
    return cast(types.BootAnswer, _transition("boot", paths, options))


def shutdown(paths: Paths, **options: Unpack[types.ShutdownPathOptions]) -> types.ShutdownAnswer:
    """Analyzes a shutdown."""
    return cast(types.ShutdownAnswer, _transition("shutdown", paths, options))


def suspend(paths: Paths, **options: Unpack[types.SuspendPathOptions]) -> types.SuspendAnswer:
    """Analyzes sleeps and resumes."""
    return cast(types.SuspendAnswer, _transition("suspend", paths, options))


def why(paths: Paths, **options: Unpack[types.WhyPathOptions]) -> types.WhyAnswer:
    """Explains what a service, process, device, thread or phase waited for."""
    return cast(types.WhyAnswer, _run_command("why", paths, options))


def what_if(paths: Paths, **options: Unpack[types.WhatIfPathOptions]) -> types.WhatIfAnswer:
    """Predicts how long a transition would take after changes: ``without``, ``pend``, ``ungroup``, ``delay``, ``disk``,
    ``cpu``, ``processors``."""
    return cast(types.WhatIfAnswer, _run_command("what-if", paths, options))


def info(paths: Paths) -> types.InfoAnswer:
    """Describes a recording."""
    return Recording(paths).info()


def transitions(paths: Paths) -> Records[types.SummaryRow]:
    """Lists the boots, shutdowns, sleeps and network boots of a recording."""
    return Recording(paths).transitions()


def netboot(paths: Paths, **options: Unpack[types.NetbootPathOptions]) -> types.NetbootAnswer:
    """Analyzes the network boots in a capture."""
    return cast(types.NetbootAnswer, _run_command("netboot", paths, options))


def io(paths: Paths, **options: Unpack[types.IoPathOptions]) -> types.IoAnswer:
    """Analyzes file requests of programs."""
    return cast(types.IoAnswer, _run_command("io", paths, options))


def firmware(paths: Paths, **options: Unpack[types.FirmwarePathOptions]) -> types.FirmwareAnswer:
    """Analyzes the time before the operating system, from firmware tables."""
    return cast(types.FirmwareAnswer, _run_command("firmware", paths, options))


def image(paths: Paths, **options: Unpack[types.ImagePathOptions]) -> types.ImageAnswer:
    """Analyzes an offline Windows installation."""
    return cast(types.ImageAnswer, _run_command("image", paths, options))


def prefetch(paths: Paths, **options: Unpack[types.PrefetchPathOptions]) -> types.PrefetchAnswer:
    """Shows prefetcher data."""
    return cast(types.PrefetchAnswer, _run_command("prefetch", paths, options))


def summary(paths: Paths, **options: Unpack[types.SummaryPathOptions]) -> types.SummaryAnswer:
    """Summarizes many recordings, one row per transition. An unreadable recording becomes a row with an error."""
    return cast(types.SummaryAnswer, _run_command("summary", paths, options))


def compare(baseline: Paths = (), *others: Paths, **options: Unpack[types.ComparePathOptions]) -> types.CompareAnswer:
    """Compares sets of runs. Each side is a recording, a folder or a list of recordings. ``boots`` and ``sleeps`` compare
    all boots or sleeps of their recordings instead."""
    return cast(types.CompareAnswer, _run_comparison("compare", baseline, others, options))


def gate(baseline: Paths, *others: Paths, **options: Unpack[types.GatePathOptions]) -> types.GateAnswer:
    """Checks runs against limits relative to a baseline; the result is in ``passed``."""
    return cast(types.GateAnswer, _run_comparison("gate", baseline, others, options))


def _run_comparison(verb: str, baseline: Paths, others: Iterable[Paths], options: Mapping[str, Any]) -> Answer:
    sides = [_path_list(side) for side in (baseline, *others)]
    if sides == [[]] and ("boots" in options or "sleeps" in options):
        arguments = []
    elif all(len(side) == 1 for side in sides):
        arguments = [side[0] for side in sides]
    else:
        baseline_side, *candidate_sides = sides
        arguments = [f"--baseline={path}" for path in baseline_side]
        arguments += [f"--candidate={path}" for side in candidate_sides for path in side]
        if len(candidate_sides) != 1:
            raise UsageError("cannot compare more than two lists of recordings; pass folders instead")
    return cast(Answer, parse(_answer([verb, *arguments, *_flags(options), "--format", "json"]), types.ANSWERS[verb]))


def _run_command(verb: str, paths: Paths, options: Mapping[str, Any]) -> Answer:
    path_list = _path_list(paths)
    if not path_list:
        raise UsageError("no recording specified")
    return cast(Answer, parse(_answer([verb, *path_list, *_flags(options), "--format", "json"]), types.ANSWERS[verb]))


def _transition(verb: str, paths: Paths, options: Mapping[str, Any]) -> Any:
    # Both arguments are used twice, but may be iterators.
    path_list, manifests = _path_list(paths), _path_list(cast(Paths, options.get("manifest") or ()))
    if not path_list:
        raise UsageError("no recording specified")
    document = _answer([verb, *path_list, *_flags({**options, "manifest": manifests}), "--format", "json"])
    selected_boot = options.get("boot")

    @functools.lru_cache(maxsize=None)
    def recording() -> Recording:
        """Opens the recording on first use."""
        return Recording(path_list, boot=selected_boot if isinstance(selected_boot, (int, str)) else None, manifests=manifests)

    return types.ANSWERS[verb](json.loads(document), recording, verb)


def _answer(arguments: list[str]) -> bytes:
    try:
        return _onoff.answer(arguments)
    except _onoff.NoAnswer as error:
        code, message = error.args
        raise_for(code, in_python_words(message) if code == 64 else message)


def _answer_file(arguments: list[str]) -> str:
    """Returns the output of a command that can only write to a file."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="onoff-") as folder:
        target = os.path.join(folder, "answer")
        _answer([*arguments, "--output", target])
        with builtins.open(target, encoding="utf-8") as file:
            return file.read()


class _Closed:
    """Stands in for a closed recording."""

    def __getattr__(self, name: str) -> Any:
        raise UsageError("the recording is closed")


def _open_again(paths: list[str], boot: Optional[str], manifests: list[str], times: Literal["ns", "timedelta"]) -> Recording:
    return Recording(paths, boot=boot, manifests=manifests, times=times)


def _core(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except _onoff.NoAnswer as error:
        raise_for(*error.args)


def _path_list(paths: Paths) -> list[str]:
    path_list = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    # Prevent file names that start with a dash from being parsed as options.
    names = [os.fspath(path) for path in path_list]
    return [os.path.join(".", name) if name.startswith("-") else name for name in names]


def _flags(options: Mapping[str, Option]) -> list[str]:
    flags: list[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
        elif isinstance(value, (str, int, float, os.PathLike)):
            flags.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
        else:
            flags += [f"{flag}={os.fspath(item) if isinstance(item, os.PathLike) else item}" for item in value]
    return flags
