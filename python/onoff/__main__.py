"""Command-line entry point: ``python -m onoff`` and the ``onoff`` script."""

from __future__ import annotations

import signal
import sys

from . import _onoff, _summary_command


def main() -> int:
    """Runs the command line and returns the exit code."""
    # Python cannot handle signals while the compiled code runs, so let the system terminate the process on Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    if _summary_command.handles(sys.argv[1:]):
        # This command runs in Python and handles Ctrl-C itself: it writes finished rows before it exits.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return _summary_command.run(sys.argv[1:])
    return _onoff.run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
