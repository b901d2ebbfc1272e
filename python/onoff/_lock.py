"""Ensures a single writer with an operating system lock, which is released even if its process crashes."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ._errors import UnreadableError

if sys.platform == "win32":
    import msvcrt

    # Windows prevents reading locked bytes, so lock one after the text.
    _LOCKED_BYTE = 1 << 30

    def _try_lock(file: IO[bytes]) -> bool:
        file.seek(_LOCKED_BYTE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextlib.contextmanager
def exclusive(path: Path, output: str) -> Iterator[None]:
    """Locks the file ``path`` for the writer of ``output``; raises ``UnreadableError`` if it is already locked.

    An empty file is kept, because deleting it could delete a file that the next writer has just locked.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+b")
    except OSError as error:
        raise UnreadableError(f"{output}: cannot write: {error}") from None
    with file:
        try:
            is_free = _try_lock(file)
        except OSError as error:
            raise UnreadableError(f"{output}: the file system does not support locks ({error}); use another one") from None
        if not is_free:
            file.seek(0)
            holder = file.read(200).decode(errors="replace") or "another process"
            raise UnreadableError(f"{output}: {holder} is writing to it; try again when it has finished")
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
