"""``onoff summary DIR… --format parquet|delta -o OUT``: ``onoff.summaries`` on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Optional

from ._compaction import compact_summaries
from ._errors import Error, NothingToAnswer, UsageError
from ._summaries import summaries
from ._summary_check import check_summaries

FORMATS = ("parquet", "delta")
_EXIT_CODES = (
    "Exit codes: 0 all recordings were read; 1 a recording in DIR could not be read, in this run or an earlier one, or another process is "
    "writing to DIR; 2 no recording contains a transition; 64 usage error."
)


def handles(arguments: Sequence[str]) -> bool:
    """Returns whether this module handles the command line; the compiled program does not write these formats.

    >>> handles(["summary", "boots", "--format", "parquet", "-o", "runs"]), handles(["summary", "boots", "--format=parquet"])
    (True, True)
    >>> handles(["summary", "--check", "runs"]), handles(["summary", "--compact", "runs"])
    (True, True)
    >>> handles(["summary", "boots", "--format", "csv"]), handles(["export", "--format", "parquet"])
    (False, False)
    """
    if not arguments or arguments[0] != "summary":
        return False
    if "--check" in arguments or "--compact" in arguments:
        return True
    pairs = zip(arguments, [*arguments[1:], ""])
    return any((name == "--format" and value in FORMATS) or name in [f"--format={choice}" for choice in FORMATS] for name, value in pairs)


def run(arguments: Sequence[str]) -> int:
    """Writes the tables, or checks them, and returns the exit code."""
    if "--check" in arguments:
        return _check(arguments)
    if "--compact" in arguments:
        return _compact(arguments)
    parser = argparse.ArgumentParser(prog="onoff summary", allow_abbrev=False, epilog=_EXIT_CODES)
    parser.add_argument("paths", nargs="+", metavar="FILE|DIR", help="recordings, or folders with recordings")
    parser.add_argument("--format", choices=FORMATS, required=True, help="format of the tables")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the tables; recordings already in it are not read again")
    parser.add_argument("--verify", action="store_true", help="also hash files with the name, size, time and inode of an earlier run")
    parser.add_argument("--workers", type=int, help="number of reader processes (default: one per CPU)")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit per recording in seconds (default: 600)")
    parser.add_argument("--memory-mib", type=int, default=0, help="memory limit per recording in MiB, if the system supports it (default: none)")
    try:
        options = parser.parse_args(arguments[1:])
    except SystemExit as exit_request:
        # Use the same exit code for usage errors as the compiled program.
        return 64 if exit_request.code else 0
    try:
        result = summaries(
            options.paths,
            options.output,
            workers=options.workers,
            seconds=options.seconds,
            memory_bytes=options.memory_mib << 20,
            format=options.format,
            verify=options.verify,
            progress=_progress if sys.stderr.isatty() else None,
        )
    except Error as error:
        print(f"onoff: {error}", file=sys.stderr)
        return 64 if isinstance(error, UsageError) else 2 if isinstance(error, NothingToAnswer) else 1
    except KeyboardInterrupt:
        print("onoff: interrupted; run the same command again to continue", file=sys.stderr)
        return 130
    finally:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
    errors = f"; {result.errors} recording{'' if result.errors == 1 else 's'} in it could not be read" if result.errors else ""
    skipped = f"; skipped {result.skipped} other file{'' if result.skipped == 1 else 's'}" if result.skipped else ""
    print(f"{result.out}: {result.read} read in {result.seconds:.1f} s, {result.failed} failed; {result.known} already known{errors}{skipped}")
    if result.failed or result.errors:
        return 1
    return 0 if result.answered else 2


_FOLDER = "folder with tables of 'onoff summary --format parquet' or 'delta'"


def _check(arguments: Sequence[str]) -> int:
    """Checks the tables in a folder and returns the exit code."""
    parser = argparse.ArgumentParser(prog="onoff summary", allow_abbrev=False, epilog="Exit codes: 0 the tables are complete; 1 they are not; 64 usage error.")
    parser.add_argument("--check", dest="folder", metavar="DIR", required=True, help=_FOLDER)

    def check(folder: str) -> int:
        result = check_summaries(folder)
        print(result)
        return 1 if result.problems else 0

    return _in_folder(parser, arguments, check)


def _compact(arguments: Sequence[str]) -> int:
    """Merges small files of the tables in a folder and returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="onoff summary", allow_abbrev=False, epilog="Exit codes: 0 files were merged, or there was nothing to merge; 1 another process is writing to DIR; 64 usage error."
    )
    parser.add_argument("--compact", dest="folder", metavar="DIR", required=True, help=_FOLDER)

    def compact(folder: str) -> int:
        result = compact_summaries(folder)
        print(f"{folder}: {result.files_before:,} files are now {result.files_after:,}, with {result.recordings:,} recordings")
        return 0

    return _in_folder(parser, arguments, compact)


def _in_folder(parser: argparse.ArgumentParser, arguments: Sequence[str], run: Callable[[str], int]) -> int:
    """Runs a command on the folder in the arguments and returns the exit code."""
    try:
        return run(parser.parse_args(arguments[1:]).folder)
    except SystemExit as exit_request:
        return 64 if exit_request.code else 0
    except Error as error:
        print(f"onoff: {error}", file=sys.stderr)
        return 64 if isinstance(error, UsageError) else 1


def _progress(done: int, total: int, seconds: Optional[float]) -> None:
    remaining = f", {seconds:.0f} s left" if seconds else ""
    print(f"\r\033[K{done} of {total} recordings{remaining}", end="", file=sys.stderr, flush=True)
