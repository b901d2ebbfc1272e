"""Recordings: opened once, asked many questions; and the same questions as functions of paths."""

from __future__ import annotations

import builtins
import functools
import html
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Callable, Literal, NamedTuple, Optional, Union, cast

from . import _onoff
from ._answers import Answer, Record, Records, parse
from ._errors import UsageError, raise_for

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Iterable[Path]]
Option = Union[None, bool, int, float, str, "os.PathLike[str]", Iterable[Union[int, str, "os.PathLike[str]"]]]
"""An option of a verb: as on the command line, with ``_`` for ``-``; ``True`` for one without a value, several in a list."""

_TRANSITIONS = ("boot", "shutdown", "suspend")


class ColumnDeclaration(NamedTuple):
    """A column of a table."""

    name: str
    type: str
    nullable: bool
    unit: str
    """``ns``, ``bytes``, or empty."""
    role: str
    """The part that it plays in its row, such as ``start`` or ``process``; empty where it only describes."""
    description: str


class TableDeclaration(NamedTuple):
    """A table, as declared: the same for every recording."""

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
    """Every table that a recording can hold, with its columns, their units and what they mean.

    >>> [column.unit for table in tables() if table.name == "samples" for column in table.columns][0]
    'ns'
    """
    return list(_declarations().values())


class Table:
    """A table of a recording, for any library that speaks Arrow: pass it to ``pyarrow.table``, ``polars.from_arrow``, DuckDB.

    Numbers and texts are the recording's own memory, which stays for as long as somebody holds them.
    """

    def __init__(self, source: _onoff.Table) -> None:
        self._source = source

    @property
    def name(self) -> str:
        """Its name."""
        return self._source.name

    @property
    def declaration(self) -> TableDeclaration:
        """What it is, and its columns."""
        return _declarations()[self.name]

    def __len__(self) -> int:
        return len(self._source)

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)

    def to_pyarrow(self) -> Any:
        """The rows as a ``pyarrow.Table``."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> Any:
        """The rows as a Polars data frame."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame, whose columns stay in Arrow's memory."""
        import pandas

        return self.to_pyarrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def __repr__(self) -> str:
        return f"<table {self.name}: {len(self):,} rows, {len(self.declaration.columns)} columns>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{column.name}</td><td>{column.type}</td><td>{column.unit}</td><td>{html.escape(column.description)}</td></tr>"
            for column in self.declaration.columns
        )
        about = html.escape(f"{self.name}: {len(self):,} rows. {self.declaration.description}")
        head = "<tr><th>column</th><th>type</th><th>unit</th><th>what it is</th></tr>"
        return f"<p>{about}</p><table><thead>{head}</thead><tbody>{rows}</tbody></table>"


class Transition(Answer):
    """Where the time of a boot, a shutdown or a sleep went, with what its recording says of it besides.

    >>> boot = boot("samples/slow-boot.etl")
    >>> boot.findings()[0].subject.name, boot.account[0].name
    ('SoundShaper', 'LegacyScan')
    """

    __slots__ = ("_recording", "_verb")

    def __init__(self, values: Mapping[str, Any], recording: Callable[[], Recording], verb: str) -> None:
        super().__init__(values, lambda: recording()._picture(verb))
        self._recording = recording
        self._verb = verb

    def findings(self, **options: Option) -> Records:
        """What to change about it, most costly first: those of ``onoff diagnose`` that are about such a transition."""
        found = self._recording().findings(**options)
        return Records(finding for finding in found if finding.transition.split()[:1] == [self._verb])

    @property
    def account(self) -> Records:
        """Who took the time of each of its phases. The entries of a phase sum to it, to the nanosecond."""
        return Records(entry for entry in self._recording().account if entry.transition == self._verb)


class Recording:
    """A recording. Every verb of the program about one recording is a method, with the program's options as keywords; every table is
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
            raise UsageError(f"times is 'ns' or 'timedelta', not {times!r}")
        self._paths = _listed(paths)
        self._manifests = _listed(manifests)
        self._boot = None if boot is None else str(boot)
        self._times = times
        self._answers: dict[tuple[str, ...], Answer] = {}
        self._transitions: Optional[Records] = None
        try:
            self._core = _onoff.Recording(self._paths, self._boot, self._manifests)
        except _onoff.NoAnswer as error:
            raise_for(*error.args)

    @property
    def paths(self) -> list[str]:
        """Its files and folders."""
        return list(self._paths)

    @property
    def kind(self) -> str:
        """What kind of recording it is."""
        return self._core.kind

    def _ask(self, verb: str, options: Mapping[str, Option]) -> Answer:
        arguments = [verb, *self._paths, *self._reading(), *_flags(options), "--format", "json"]
        known = self._answers.get(tuple(arguments))
        if known is not None:
            return known
        answer = parse(_answer(arguments))
        self._answers[tuple(arguments)] = answer
        return answer

    def _transition(self, verb: str, options: Mapping[str, Option]) -> Transition:
        return Transition(self._ask(verb, options), lambda: self, verb)

    def _reading(self) -> list[str]:
        return [*_flags({"manifest": self._manifests}), *([f"--boot={self._boot}"] if self._boot else [])]

    def _picture(self, verb: str) -> str:
        return _answer([verb, *self._paths, *self._reading(), "--format", "svg"]).decode()

    def boot(self, **options: Option) -> Transition:
        """Where the time of the boot went: ``onoff boot``."""
        return self._transition("boot", options)

    def shutdown(self, **options: Option) -> Transition:
        """Where the time of the shutdown went: ``onoff shutdown``."""
        return self._transition("shutdown", options)

    def suspend(self, **options: Option) -> Transition:
        """Where the time of sleeping and waking went: ``onoff suspend``."""
        return self._transition("suspend", options)

    def diagnose(self, **options: Option) -> Answer:
        """What to change: ``onoff diagnose``."""
        return self._ask("diagnose", options)

    def why(self, **options: Option) -> Answer:
        """What something waited for: ``onoff why``, by ``service``, ``process``, ``device``, ``thread`` or ``phase``."""
        return self._ask("why", options)

    def netboot(self, **options: Option) -> Answer:
        """Where the time of network boots went: ``onoff netboot``."""
        return self._ask("netboot", options)

    def io(self, **options: Option) -> Answer:
        """What the requests of programs cost: ``onoff io``."""
        return self._ask("io", options)

    def list(self, what: str, **options: Option) -> Answer:
        """A list: ``processes``, ``cpu``, ``interrupts``, ``disk``, ``files``, ``hardfaults``, ``services``, ``devices``, ``policy``."""
        return self._ask(what, options)

    def info(self) -> Answer:
        """What the recording is: ``onoff info``."""
        known = self._answers.get(("info",))
        if known is None:
            known = self._answers[("info",)] = parse(_core(self._core.info))
        return known

    @property
    def losses(self) -> Records:
        """What the recorder or the reader lost: name, count, what it means."""
        return Records(self.info().losses)

    def transitions(self) -> Records:
        """Its boots, shutdowns, sleeps and network boots, a row each: ``onoff summary``."""
        if self._transitions is None:
            rows = json.loads(_core(self._core.transitions, "+".join(self._paths)))
            self._transitions = Records(Record(row) for row in rows)
        return self._transitions

    @property
    def phases(self) -> Records:
        """The phases of its transitions, in order."""
        found = Records()
        for transition in dict.fromkeys(row.transition for row in self.transitions()):
            if transition == "suspend":
                for sleep in self.suspend().transitions:
                    found.extend(sleep.phases)
            elif transition in ("boot", "shutdown"):
                answer = getattr(self, transition)()
                sleeps = answer.get("transitions")
                for each in sleeps if sleeps is not None else [answer]:
                    found.extend(each.phases)
            elif transition == "netboot":
                for boot in self.netboot().boots:
                    found.extend(boot.stages)
        return found

    @property
    def account(self) -> Records:
        """Who took the time of each phase. The entries of a phase sum to it, to the nanosecond."""
        answer = self.why(top=10**6, min=0)
        return Records(
            type(entry)({"transition": stretch.action, "phase": stretch.name, "phase_ns": stretch.duration_ns, **entry})
            for stretch in answer.stretches
            for entry in stretch.account.entries
        )

    def findings(self, **options: Option) -> Records:
        """What to change, most costly first."""
        return Records(self.diagnose(**options).findings)

    def table(self, name: str) -> Table:
        """A table by its name, read when it is first used."""
        if name not in _declarations():
            raise UsageError(f"no table is called {name!r}; there are {', '.join(_declarations())}")
        return Table(_core(self._core.table, name, self._times == "timedelta"))

    def tables(self) -> dict[str, Table]:
        """Every table that has rows, by its name. Reads all of them."""
        return {name: self.table(name) for name in json.loads(_core(self._core.row_counts))}

    def __getattr__(self, name: str) -> Table:
        if name.startswith("_") or name not in _declarations():
            raise AttributeError(f"a recording has no {name!r}: no method, and no table of that name")
        return self.table(name)

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *_declarations()]

    def export(
        self, folder: Path, format: Literal["parquet", "arrow", "csv"] = "parquet", tables: Optional[Iterable[str]] = None
    ) -> dict[str, int]:
        """Writes tables into a new folder: ``onoff export``. Returns the rows of each file."""
        names = None if tables is None else [str(name) for name in tables]
        try:
            written = _core(self._core.export, folder, format, names)
        except UsageError:
            raise
        except ValueError as error:
            raise UsageError(str(error)) from None
        return {file: rows for file, rows, _ in written}

    def view(self, height: int = 800) -> Any:
        """The page of ``onoff view`` for a notebook: an object that shows itself as a frame of ``height`` pixels."""
        return _Page(_answer_file(["view", *self._paths, *self._reading()]), height)

    def __repr__(self) -> str:
        names = ", ".join(os.path.basename(path.rstrip("/\\")) or path for path in self._paths)
        losses = len(self.losses)
        lost = f", {losses} kind{'s' if losses > 1 else ''} of losses" if losses else ""
        return f"<recording {names}: {self.kind}{lost}>"

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
        # Of another origin: what a recording holds cannot reach the notebook.
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
    """Opens a recording: a file, packed or not, or the files of one. ``boot`` chooses one of a Linux journal; ``times="timedelta"``
    makes the times of tables durations.

    >>> open("samples/slow-boot.etl")
    <recording slow-boot.etl: a Windows event trace log>
    """
    return Recording(paths, boot=boot, manifests=manifests, times=times)


def boot(paths: Paths, **options: Option) -> Transition:
    """Where the time of a boot went."""
    return _transition("boot", paths, options)


def shutdown(paths: Paths, **options: Option) -> Transition:
    """Where the time of a shutdown went."""
    return _transition("shutdown", paths, options)


def suspend(paths: Paths, **options: Option) -> Transition:
    """Where the time of sleeping and waking went."""
    return _transition("suspend", paths, options)


def why(paths: Paths, **options: Option) -> Answer:
    """What something waited for."""
    return _about("why", paths, options)


def info(paths: Paths) -> Answer:
    """What a recording is."""
    return Recording(paths).info()


def transitions(paths: Paths) -> Records:
    """The boots, shutdowns, sleeps and network boots of a recording."""
    return Recording(paths).transitions()


def netboot(paths: Paths, **options: Option) -> Answer:
    """Where the time of the network boots in a capture went."""
    return _about("netboot", paths, options)


def io(paths: Paths, **options: Option) -> Answer:
    """What the requests of programs cost."""
    return _about("io", paths, options)


def firmware(paths: Paths, **options: Option) -> Answer:
    """The time before the operating system, from the firmware's tables."""
    return _about("firmware", paths, options)


def image(paths: Paths, **options: Option) -> Answer:
    """What a Windows installation that is not running says about its next boot."""
    return _about("image", paths, options)


def prefetch(paths: Paths, **options: Option) -> Answer:
    """What the prefetcher learned."""
    return _about("prefetch", paths, options)


def summary(paths: Paths, **options: Option) -> Answer:
    """Many recordings, a row each transition. One that cannot be read is a row with its error."""
    return _about("summary", paths, options)


def compare(baseline: Paths, *others: Paths, **options: Option) -> Answer:
    """What differs between runs: of each side one recording, a folder of them, or a list."""
    return _sides("compare", baseline, others, options)


def gate(baseline: Paths, *others: Paths, **options: Option) -> Answer:
    """Whether runs got slower than a baseline by more than noise; see ``passed``."""
    return _sides("gate", baseline, others, options)


def _sides(verb: str, baseline: Paths, others: Iterable[Paths], options: Mapping[str, Option]) -> Answer:
    sides = [_listed(side) for side in (baseline, *others)]
    if all(len(side) == 1 for side in sides):
        named = [side[0] for side in sides]
    else:
        first, *rest = sides
        named = [f"--baseline={path}" for path in first]
        named += [f"--candidate={path}" for side in rest for path in side]
        if len(rest) != 1:
            raise UsageError("lists of recordings are compared two at a time; give folders to compare more")
    return parse(_answer([verb, *named, *_flags(options), "--format", "json"]))


def _about(verb: str, paths: Paths, options: Mapping[str, Option]) -> Answer:
    listed = _listed(paths)
    if not listed:
        raise UsageError("no recording was named")
    return parse(_answer([verb, *listed, *_flags(options), "--format", "json"]))


def _transition(verb: str, paths: Paths, options: Mapping[str, Option]) -> Transition:
    # Both are needed twice, and may be what can be gone through only once.
    listed, manifests = _listed(paths), _listed(cast(Paths, options.get("manifest") or ()))
    answer = _about(verb, listed, {**options, "manifest": manifests})
    chosen = options.get("boot")

    @functools.lru_cache(maxsize=None)
    def recording() -> Recording:
        """Opened when more than the answer is wanted."""
        return Recording(listed, boot=chosen if isinstance(chosen, (int, str)) else None, manifests=manifests)

    return Transition(answer, recording, verb)


def _answer(arguments: list[str]) -> bytes:
    try:
        return _onoff.answer(arguments)
    except _onoff.NoAnswer as error:
        raise_for(*error.args)


def _answer_file(arguments: list[str]) -> str:
    """What a verb writes into a file only."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="onoff-") as folder:
        target = os.path.join(folder, "answer")
        _answer([*arguments, "--output", target])
        with builtins.open(target, encoding="utf-8") as file:
            return file.read()


def _core(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except _onoff.NoAnswer as error:
        raise_for(*error.args)


def _listed(paths: Paths) -> list[str]:
    each = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    # A name that begins with a dash is a file all the same.
    listed = [os.fspath(path) for path in each]
    return [os.path.join(".", path) if path.startswith("-") else path for path in listed]


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
            flags += [f"{flag}={os.fspath(each) if isinstance(each, os.PathLike) else each}" for each in value]
    return flags
