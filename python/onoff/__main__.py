"""The program ``onoff``, as ``python -m onoff`` and as the package's script."""

from __future__ import annotations

import signal
import sys

from . import _onoff


def main() -> int:
    """Runs the program with the process's arguments; returns its exit code."""
    # While the program works, Python cannot look for an interrupt: the system ends the process, as it does any program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    return _onoff.run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
