"""Results: the ``--format json`` documents as objects, with the names documented in docs/src/reference/json.md."""

from __future__ import annotations

import datetime
import functools
import html
import json
import keyword
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Callable, Optional, SupportsIndex, TypeVar, cast, overload

from ._errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from . import types
    from ._recording import Recording
    from ._rows import AccountRow

_MAX_HTML_ROWS = 50
"""Maximum number of rows of a list in a notebook."""
_MAX_REPR_FIELDS = 3
"""Maximum number of fields in the text of an object without a name."""


class Record(Mapping[str, Any]):
    """An object of a result, with values accessible by attribute and by key. A name that is a method of this class or a
    keyword of Python has a trailing underscore as an attribute.

    >>> Record({"values": 3, "from": "a"}).values_, Record({"values": 3, "from": "a"}).from_
    (3, 'a')
    >>> phase = Record({"name": "PreSMSS", "duration_ns": 9_120_400_200})
    >>> phase.name, phase["duration_ns"]
    ('PreSMSS', 9120400200)
    >>> phase
    <PreSMSS: 9.12 s>
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        declared = _declared_fields(type(self))
        self._values = {name: wrap(value, declared.get(name)) for name, value in values.items()}

    # Hidden from type checkers, so that they report unknown names.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            for key in (name, name[:-1] if name.endswith("_") else name):
                if key in self._values:
                    return self._values[key]
            declared = _declared_fields(type(self)).get(name[:-1] if name.endswith("_") else name)
            if declared is not None:
                return declared.missing()
            raise AttributeError(f"no attribute {name!r}; available: {', '.join(map(self._attribute, self._values))}")

    @classmethod
    def _attribute(cls, name: str) -> str:
        """Returns the name of the attribute with a value."""
        return f"{name}_" if keyword.iskeyword(name) or hasattr(cls, name) else name

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *map(self._attribute, self._values)]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """Converts the object to plain dictionaries and lists, as in JSON."""
        return {name: unwrap(value) for name, value in self._values.items()}

    def __repr__(self) -> str:
        name = next((str(self._values[key]) for key in ("name", "title", "what", "subject", "transition", "code", "kind") if isinstance(self._values.get(key), str) and self._values[key]), "")
        duration_ns = self._values.get("duration_ns")
        if duration_ns is None:
            duration_ns = self._values.get("ns")
        if isinstance(duration_ns, int):
            return f"<{name}: {seconds(duration_ns)}>" if name else f"<{seconds(duration_ns)}>"
        if not name:
            name = ", ".join(f"{key} {_short(value, key)}" for key, value in list(self._values.items())[:_MAX_REPR_FIELDS])
        return f"<{name or type(self).__name__}>"

    def _repr_html_(self) -> str:
        return _html_table(("", ""), [(_heading(name), _short(value, name)) for name, value in self._values.items()])


_R = TypeVar("_R", bound=Record)


class Records(list[_R]):
    """A list of objects with the same attributes.

    >>> phases = Records([Record({"name": "a", "duration_ns": 1}), Record({"name": "b", "duration_ns": 2})])
    >>> phases.columns
    ['name', 'duration_ns']
    """

    @overload
    def __getitem__(self, index: SupportsIndex) -> _R: ...

    @overload
    def __getitem__(self, index: slice) -> Records[_R]: ...

    def __getitem__(self, index: Any) -> Any:
        result = super().__getitem__(index)
        return Records(result) if isinstance(index, slice) else result

    @property
    def columns(self) -> list[str]:
        """Names of all attributes, in order of appearance."""
        return list(dict.fromkeys(name for record in self for name in record))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Converts the objects to plain dictionaries."""
        return [record.to_dict() for record in self]

    def to_pandas(self) -> Any:
        """Converts the objects to a pandas DataFrame, one row per object."""
        import pandas

        return pandas.DataFrame(self.to_dicts(), columns=self.columns)

    def to_polars(self) -> Any:
        """Converts the objects to a Polars DataFrame, one row per object."""
        import polars

        return polars.from_dicts(self.to_dicts(), infer_schema_length=None)

    def _repr_html_(self) -> str:
        columns = [name for name in self.columns if any(not isinstance(row.get(name), (Record, list)) for row in self)]
        rows = [[_short(record.get(name), name) for name in columns] for record in self[:_MAX_HTML_ROWS]]
        remaining = f"<p>{len(self) - _MAX_HTML_ROWS:,} more</p>" if len(self) > _MAX_HTML_ROWS else ""
        return _html_table([_heading(name) for name in columns], rows) + remaining


class Timed(Record):
    """An object with a total duration."""

    __slots__ = ()

    @property
    def total(self) -> Optional[datetime.timedelta]:
        """Total duration in whole microseconds, as the text shows it: of a Linux boot without an end, up to the start of the
        last unit. ``None`` if the start or the end was not recorded."""
        total_ns = self._values.get("total_ns")
        if total_ns is None:
            total_ns = self._values.get("startup_ns")
        return None if total_ns is None else datetime.timedelta(microseconds=total_ns // 1000)


class Answer(Record):
    """The JSON document of one command about a recording."""

    __slots__ = ("_picture",)

    if TYPE_CHECKING:
        onoff: types.DocumentHeader
        """Version, kind of document, and recordings."""

    def __init__(self, values: Mapping[str, Any], picture: Optional[Callable[[], str]] = None) -> None:
        super().__init__(values)
        self._picture = picture

    @property
    def document(self) -> str:
        """Type of the document, such as ``boot`` or ``linux_boot``."""
        return self.onoff.document

    def __repr__(self) -> str:
        recordings = self._values["onoff"].recordings
        computers = list(dict.fromkeys(str(recording.computer) for recording in recordings if recording.computer))
        computer_list = f" of {', '.join(computers)}" if computers else ""
        parts = []
        total = self._values.get("total_ns")
        if total is not None:
            parts.append(seconds(total))
        for name in ("phases", "transitions", "findings", "intervals", "boots", "rows", "losses"):
            rows = self._values.get(name)
            if isinstance(rows, list) and (rows or name not in ("losses",)):
                if name == "losses":
                    parts.append(f"{len(rows)} kind{'s' if len(rows) > 1 else ''} of losses")
                elif total is not None and name == "phases":
                    parts[-1] += f" in {len(rows)} phases"
                else:
                    parts.append(f"{len(rows)} {name}")
        return f"<{self.document}{computer_list}: {', '.join(parts)}>" if parts else f"<{self.document}{computer_list}>"

    def _repr_html_(self) -> str:
        parts = [f"<p>{html.escape(repr(self)[1:-1])}</p>"]
        if self._picture is not None:
            parts.append(self._picture())
        for name in ("phases", "culprits", "findings", "intervals", "rows", "losses"):
            rows = self._values.get(name)
            if isinstance(rows, Records) and rows:
                parts.append(f"<p><b>{name}</b></p>{rows._repr_html_()}")
        return "".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        # Drop the picture, which requires the open recording.
        return type(self), (self.to_dict(),)


class Transition(Answer, Timed):
    """Analysis of a boot, shutdown or sleep, with its findings and accounts.

    >>> import onoff
    >>> boot = onoff.boot("samples/slow-boot.etl")
    >>> boot.findings()[0].subject.name, boot.account[0].subject
    ('SoundShaper', 'LegacyScan')
    """

    __slots__ = ("_recording", "_verb")

    def __init__(
        self, values: Mapping[str, Any], recording: Optional[Callable[[], Recording]] = None, verb: str = ""
    ) -> None:
        super().__init__(values, None if recording is None else lambda: recording()._picture(verb))
        self._recording = recording
        self._verb = verb

    def _opened(self) -> Recording:
        if self._recording is None:
            raise UsageError("a copy of a result has no recording; open the recording again")
        return self._recording()

    def findings(self, **options: Unpack[types.DiagnoseOptions]) -> Records[types.RuleFinding]:
        """Findings of ``onoff diagnose`` about this kind of transition, most expensive first."""
        findings = self._opened().findings(**options)
        return Records(finding for finding in findings if finding.transition.split()[:1] == [self._verb])

    @property
    def account(self) -> Records[AccountRow]:
        """Time of each phase by subject. The entries of a phase add up to its duration, to the nanosecond."""
        return Records(entry for entry in self._opened().account if entry.transition == self._verb)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recording is None:
            return super().__reduce__()
        return _transition_again, (type(self), self.to_dict(), self._recording(), self._verb)


def _transition_again(cls: type[Transition], values: Mapping[str, Any], recording: Recording, verb: str) -> Transition:
    return cls(values, lambda: recording, verb)


class _DeclaredField:
    """Declaration of a field: whether it is a list, and the classes of its objects."""

    __slots__ = ("classes", "is_list")

    def __init__(self, annotation: str, module: Mapping[str, Any]) -> None:
        self.is_list = "Records[" in annotation or "list[" in annotation
        names = (module.get(name) for name in re.findall(r"\w+", annotation))
        found = [cls for cls in names if isinstance(cls, type) and issubclass(cls, Record) and cls is not Record]
        self.classes = cast("tuple[type[Record], ...]", tuple(found))

    def missing(self) -> Any:
        """Returns the value of a field that a document omits."""
        return Records[Record]() if self.is_list else None

    def class_of(self, value: Mapping[str, Any]) -> type[Record]:
        """Returns the class that declares all names of an object, or else the first."""
        for cls in self.classes:
            if len(self.classes) == 1 or value.keys() <= _declared_fields(cls).keys():
                return cls
        return self.classes[0] if self.classes else Record


@functools.lru_cache(maxsize=None)
def _declared_fields(cls: type[Record]) -> Mapping[str, _DeclaredField]:
    """Returns the fields that a class and its bases declare, by their names in JSON."""
    fields: dict[str, _DeclaredField] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Record) and base.__module__ != __name__:
            module = vars(sys.modules[base.__module__])
            for name, annotation in getattr(base, "__annotations__", {}).items():
                fields[name.rstrip("_")] = _DeclaredField(annotation, module)
    return fields


_A = TypeVar("_A", bound=Answer)


def parse(document: bytes, cls: type[_A]) -> _A:
    """Parses a JSON document."""
    return cls(json.loads(document))


def wrap(value: Any, declared: Optional[_DeclaredField] = None) -> Any:
    """Converts parsed JSON to objects with attributes."""
    if isinstance(value, Mapping):
        if isinstance(value, Record):
            return value
        return (declared.class_of(value) if declared else Record)(value)
    if isinstance(value, list):
        items = [wrap(item, declared) for item in value]
        return Records(items) if all(isinstance(item, Record) for item in items) else items
    return value


def unwrap(value: Any) -> Any:
    """Converts objects back to plain dictionaries and lists."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, list):
        return [unwrap(item) for item in value]
    return value


def seconds(nanoseconds: int) -> str:
    """Formats a duration with three significant digits.

    >>> [seconds(ns) for ns in (30_032_145_500, 171_001_700, 12_000, 5)]
    ['30.0 s', '171 ms', '12.0 µs', '5 ns']
    """
    for unit, unit_ns in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if abs(nanoseconds) >= unit_ns:
            number = nanoseconds / unit_ns
            integer_digits = len(str(int(abs(number))))
            return f"{number:.{max(0, 3 - integer_digits)}f} {unit}"
    return f"{nanoseconds} ns"


def _heading(name: str) -> str:
    """Returns the heading of a column; the unit of times is in the values.

    >>> _heading("duration_ns"), _heading("ns"), _heading("name")
    ('duration', 'time', 'name')
    """
    return "time" if name == "ns" else name[:-3] if name.endswith("_ns") else name


def _short(value: Any, name: str = "") -> str:
    if isinstance(value, Record):
        return repr(value)[1:-1]
    if isinstance(value, list):
        if value and all(isinstance(item, str) for item in value):
            return ", ".join(value)
        return f"{len(value)} rows" if value else ""
    if isinstance(value, int) and not isinstance(value, bool):
        return seconds(value) if name == "ns" or name.endswith("_ns") else f"{value:,}"
    return "" if value is None else str(value)


def _html_table(columns: Any, rows: Any) -> str:
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
