"""The program ``onoff``, as ``python -m onoff`` and as the package's script."""

from __future__ import annotations

import signal
import sys

from . import _onoff, _summary_command


def main() -> int:
    """Runs the program with the process's arguments; returns its exit code."""
    # While the program works, Python cannot look for an interrupt: the system ends the process, as it does any program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    if _summary_command.is_meant(sys.argv[1:]):
        # Here it is Python that waits for the pool, and an interrupt ends it in order: what is done is written.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return _summary_command.run(sys.argv[1:])
    return _onoff.run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
