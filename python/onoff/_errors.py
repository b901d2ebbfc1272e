"""Exceptions."""

from __future__ import annotations

import re
from typing import NoReturn, Optional

_OFFSET = re.compile(r"^(?P<path>.*?): byte offset (?P<offset>0x[0-9a-f]+|[0-9]+)")
_PATH = re.compile(r"^(?P<path>[^:\n]*(?:[/\\][^:\n]*|\.[A-Za-z0-9]+)): ")


class Error(Exception):
    """Base class of all errors. ``path`` and ``offset`` locate the error if known.

    >>> error = Error("boot.etl: byte offset 0x48: the header is cut")
    >>> error.path, error.offset
    ('boot.etl', 72)
    """

    path: Optional[str]
    """File that could not be read."""
    offset: Optional[int]
    """Byte offset in the file."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        match = _OFFSET.match(message)
        self.offset = int(match["offset"], 0) if match else None
        match = match or _PATH.match(message)
        self.path = match["path"] if match else None


class UnreadableError(Error):
    """A recording cannot be read, or a result cannot be written."""


class NothingToAnswer(Error):
    """The recording does not contain the requested information."""


class UsageError(Error, ValueError):
    """Invalid arguments."""


def raise_for(code: int, message: str) -> NoReturn:
    """Raises the exception that corresponds to an exit code."""
    exceptions = {1: UnreadableError, 2: NothingToAnswer, 64: UsageError}
    raise exceptions.get(code, Error)(message or f"onoff exited with code {code}")
