"""Results: the ``--format json`` documents as objects, with the names documented in docs/src/reference/json.md."""

from __future__ import annotations

import datetime
import html
import json
import keyword
from collections.abc import Iterator, Mapping
from typing import Any, Callable, Optional, SupportsIndex, overload

_MAX_HTML_ROWS = 50
"""Maximum number of rows of a list in a notebook."""


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
        self._values = {name: wrap(value) for name, value in values.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        for key in (name, name[:-1] if name.endswith("_") else name):
            if key in self._values:
                return self._values[key]
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
        name = next((str(self._values[key]) for key in ("name", "title", "transition", "code", "kind") if self._values.get(key)), "")
        duration_ns = self._values.get("duration_ns")
        if duration_ns is None:
            duration_ns = self._values.get("ns")
        if isinstance(duration_ns, int):
            return f"<{name or 'record'}: {seconds(duration_ns)}>"
        return f"<{name or 'record'}>"

    def _repr_html_(self) -> str:
        return _html_table(("", ""), [(name, _short(value)) for name, value in self._values.items()])


class Records(list[Record]):
    """A list of objects with the same attributes.

    >>> phases = Records([Record({"name": "a", "duration_ns": 1}), Record({"name": "b", "duration_ns": 2})])
    >>> phases.columns
    ['name', 'duration_ns']
    """

    @overload
    def __getitem__(self, index: SupportsIndex) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> Records: ...

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
        rows = [[_short(record.get(name)) for name in columns] for record in self[:_MAX_HTML_ROWS]]
        remaining = f"<p>{len(self) - _MAX_HTML_ROWS:,} more</p>" if len(self) > _MAX_HTML_ROWS else ""
        return _html_table(columns, rows) + remaining


class Answer(Record):
    """The JSON document of one command about a recording."""

    __slots__ = ("_picture",)

    def __init__(self, values: Mapping[str, Any], picture: Optional[Callable[[], str]] = None) -> None:
        super().__init__(values)
        self._picture = picture

    @property
    def document(self) -> str:
        """Type of the document, such as ``boot`` or ``linux_boot``."""
        return str(self.onoff.document)

    @property
    def total(self) -> Optional[datetime.timedelta]:
        """Duration of the transition in whole microseconds; ``None`` if its start or end was not recorded."""
        total = self._values.get("total_ns", self._values.get("duration_ns"))
        return None if total is None else datetime.timedelta(microseconds=total // 1000)

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
        return Answer, (self.to_dict(),)


def parse(document: bytes, picture: Optional[Callable[[], str]] = None) -> Answer:
    """Parses a JSON document."""
    return Answer(json.loads(document), picture)


def wrap(value: Any) -> Any:
    """Converts parsed JSON to objects with attributes."""
    if isinstance(value, Mapping):
        return value if isinstance(value, Record) else Record(value)
    if isinstance(value, list):
        items = [wrap(item) for item in value]
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


def _short(value: Any) -> str:
    if isinstance(value, Record):
        return repr(value)[1:-1]
    if isinstance(value, list):
        return f"{len(value)} rows" if value else ""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)


def _html_table(columns: Any, rows: Any) -> str:
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
