"""Filters that Spark passes to the data source. They only skip recordings: Spark evaluates every filter again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Optional

PATH_COLUMNS = ("path", "recording_path")
FILE_COLUMNS = (*PATH_COLUMNS, "size_bytes", "modified_ns")
"""Columns that are known from the state of the files."""
HEADER_COLUMNS = ("computer", "recorded_utc")
"""Columns that are known from the description of the recording, before it is analyzed."""


def on_columns(filters: Iterable[Any], columns: tuple[str, ...]) -> list[Any]:
    """Returns the filters on one of these columns."""
    return [filter for filter in filters if _column(filter) in columns]


def can_match(filters: Iterable[Any], values: Mapping[str, Any]) -> bool:
    """Returns false if a row with these values cannot meet all filters. Filters that cannot be decided are ignored."""
    return all(_evaluate(filter, values) is not False for filter in filters)


def _column(filter: Any) -> Optional[str]:
    if type(filter).__name__ == "Not":
        return _column(filter.child)
    attribute: Any = getattr(filter, "attribute", ())
    return str(attribute[0]) if len(attribute) == 1 else None


def _evaluate(filter: Any, values: Mapping[str, Any]) -> Optional[bool]:
    # Filters have names instead of classes here, because PySpark 4.0 has none.
    kind = type(filter).__name__
    if kind == "Not":
        result = _evaluate(filter.child, values)
        return None if result is None else not result
    value = values.get(_column(filter) or "")
    expected = getattr(filter, "value", None)
    # Null is undecided: a recording with an error has other nulls than its description. So are tests for null.
    if value is None or expected is None:
        return None
    try:
        if kind == "EqualTo":
            return bool(value == expected)
        if kind == "In":
            return None if None in expected else value in expected
        if kind == "LessThan":
            return bool(value < expected)
        if kind == "LessThanOrEqual":
            return bool(value <= expected)
        if kind == "GreaterThan":
            return bool(value > expected)
        if kind == "GreaterThanOrEqual":
            return bool(value >= expected)
        if kind == "StringStartsWith":
            return bool(value.startswith(expected))
        if kind == "StringEndsWith":
            return bool(value.endswith(expected))
        if kind == "StringContains":
            return bool(expected in value)
    except TypeError:
        return None
    return None
