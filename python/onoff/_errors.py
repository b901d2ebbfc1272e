"""What goes wrong, as exceptions."""

from __future__ import annotations

import re
from typing import NoReturn, Optional

_OFFSET = re.compile(r"^(?P<path>.*?): byte offset (?P<offset>0x[0-9a-f]+|[0-9]+)")
_PATH = re.compile(r"^(?P<path>[^:\n]*(?:[/\\][^:\n]*|\.[A-Za-z0-9]+)): ")


class Error(Exception):
    """No answer. ``path`` and ``offset`` say where, as far as that is known.

    >>> error = Error("boot.etl: byte offset 0x48: the header is cut")
    >>> error.path, error.offset
    ('boot.etl', 72)
    """

    path: Optional[str]
    """The file that could not be read."""
    offset: Optional[int]
    """The byte in it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = _OFFSET.match(message)
        self.offset = int(found["offset"], 0) if found else None
        found = found or _PATH.match(message)
        self.path = found["path"] if found else None


class UnreadableError(Error):
    """A recording cannot be read, or an answer cannot be written."""


class NothingToAnswer(Error):
    """The recording does not hold what the question is about."""


class UsageError(Error, ValueError):
    """The arguments make no sense."""


def raise_for(code: int, message: str) -> NoReturn:
    """Raises the exception for the program's exit code."""
    kinds = {1: UnreadableError, 2: NothingToAnswer, 64: UsageError}
    raise kinds.get(code, Error)(message or f"the program ended with exit code {code}")
