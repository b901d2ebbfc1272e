"""``onoff summary DIR… --format parquet|delta -o OUT``: the rows of ``onoff.summaries``, from the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Optional

from ._errors import Error, NothingToAnswer, UsageError
from ._summaries import summaries

FORMATS = ("parquet", "delta")
_EXIT_CODES = (
    "Exit codes: 0, every recording in DIR could be read; 1, one of them could not, now or before, or another process is writing to DIR; "
    "2, none of them holds a transition; 64, a wrong command line."
)


def is_meant(arguments: Sequence[str]) -> bool:
    """Whether the command line wants rows as tables, which the compiled program does not write.

    >>> is_meant(["summary", "boots", "--format", "parquet", "-o", "runs"]), is_meant(["summary", "boots", "--format=parquet"])
    (True, True)
    >>> is_meant(["summary", "boots", "--format", "csv"]), is_meant(["export", "--format", "parquet"])
    (False, False)
    """
    if not arguments or arguments[0] != "summary":
        return False
    pairs = zip(arguments, [*arguments[1:], ""])
    return any((name == "--format" and value in FORMATS) or name in [f"--format={known}" for known in FORMATS] for name, value in pairs)


def run(arguments: Sequence[str]) -> int:
    """Writes the rows; returns the exit code: 1 when a recording in the tables could not be read, now or before, 2 when none of them holds
    a transition."""
    parser = argparse.ArgumentParser(prog="onoff summary", allow_abbrev=False, epilog=_EXIT_CODES)
    parser.add_argument("paths", nargs="+", metavar="FILE|DIR", help="recordings, and folders of them")
    parser.add_argument("--format", choices=FORMATS, required=True, help="tables of rows about each recording")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder of the tables; what is in it is not read again")
    parser.add_argument("--workers", type=int, help="processes that read (default: one for each processor)")
    parser.add_argument("--seconds", type=float, default=600.0, help="that one recording may take (default 600)")
    parser.add_argument("--memory-mib", type=int, default=0, help="that one recording may take, where the system limits it (default: any)")
    try:
        asked = parser.parse_args(arguments[1:])
    except SystemExit as end:
        # The compiled program's code for a wrong command line.
        return 64 if end.code else 0
    try:
        done = summaries(
            asked.paths,
            asked.output,
            workers=asked.workers,
            seconds=asked.seconds,
            memory_bytes=asked.memory_mib << 20,
            format=asked.format,
            progress=_progress if sys.stderr.isatty() else None,
        )
    except Error as error:
        print(f"onoff: {error}", file=sys.stderr)
        return 64 if isinstance(error, UsageError) else 2 if isinstance(error, NothingToAnswer) else 1
    except KeyboardInterrupt:
        print(f"onoff: interrupted; the same command goes on from what {asked.output} holds", file=sys.stderr)
        return 130
    finally:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
    errors = f"; {done.errors} of its recordings could not be read" if done.errors else ""
    skipped = f"; skipped {done.skipped} files that hold no recording" if done.skipped else ""
    print(f"{done.out}: {done.read} read in {done.seconds:.1f} s, {done.failed} failed; {done.known} known before{errors}{skipped}")
    if done.failed or done.errors:
        return 1
    return 0 if done.answered else 2


def _progress(done: int, of: int, seconds: Optional[float]) -> None:
    left = f", {seconds:.0f} s left" if seconds else ""
    print(f"\r\033[K{done} of {of} recordings{left}", end="", file=sys.stderr, flush=True)
