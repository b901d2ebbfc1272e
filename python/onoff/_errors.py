"""Exceptions."""

from __future__ import annotations

import errno
import re
from typing import NoReturn, Optional

_OFFSET = re.compile(r"^(?P<path>.*?): byte offset (?P<offset>0x[0-9a-f]+|[0-9]+)")
_MISSING = re.compile(r"No such file or directory|cannot find the (file|path) specified|\(os error [23]\)$", re.MULTILINE)
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


class MissingFileError(UnreadableError, FileNotFoundError):
    """A file or folder does not exist.

    >>> error = MissingFileError("boot.etl: No such file or directory (os error 2)")
    >>> error.filename, isinstance(error, FileNotFoundError)
    ('boot.etl', True)
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.errno = errno.ENOENT
        self.filename = self.path

    def __str__(self) -> str:
        return str(self.args[0])


class NothingToAnswer(Error):
    """The recording does not contain the requested information."""


class UsageError(Error, ValueError):
    """Invalid arguments."""


_FLAG = re.compile(r"'--([a-z0-9-]+)(?:[= ][^']*)?'")


def in_python_words(message: str) -> str:
    """Returns an error about command-line options with the names of keyword arguments.

    >>> in_python_words("unexpected argument '--idle-time' found")
    "unexpected keyword argument 'idle_time'"
    >>> in_python_words("invalid value 'x' for '--idle <METRIC>'")
    "invalid value 'x' for 'idle'"
    """
    message = _FLAG.sub(lambda match: "'" + match[1].replace("-", "_") + "'", message)
    return re.sub(r"^(error: )?unexpected argument ('[a-z0-9_]+') found", r"unexpected keyword argument \2", message)


def raise_for(code: int, message: str) -> NoReturn:
    """Raises the exception that corresponds to an exit code."""
    if code == 1 and _MISSING.search(message):
        raise MissingFileError(message)
    exceptions = {1: UnreadableError, 2: NothingToAnswer, 64: UsageError}
    raise exceptions.get(code, Error)(message or f"onoff exited with code {code}")
