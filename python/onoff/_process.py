"""A process that reads recordings for somebody else, within limits of time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any, Optional


class Reader:
    """Reads recordings in a process that is started when it is needed, and started again after a recording has ended it."""

    def __init__(self, seconds: float, memory_bytes: int) -> None:
        self.seconds = seconds
        self.memory_bytes = memory_bytes
        self._process: Optional[subprocess.Popen[bytes]] = None

    def ask(self, task: Any) -> Any:
        """What the process answers about a recording (see ``_worker.answer``); a text, why it gave no answer, where it ended or took too long."""
        if self._process is None:
            self._process = self._start()
        answer = self._ask(self._process, task)
        if isinstance(answer, str):
            self.close()
        return answer

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                try:
                    if pipe is not None:
                        pipe.close()
                except OSError:  # What was still to be written to a process that is gone.
                    pass
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        program = "import sys; from onoff._worker import main; sys.exit(main())"
        command = [sys.executable, "-c", program, str(self.memory_bytes), str(self.seconds)]
        # Where the caller found this package, the process finds it too.
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        before = os.environ.get("PYTHONPATH")
        surroundings = {**os.environ, "PYTHONPATH": folder if not before else f"{before}{os.pathsep}{folder}"}
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=surroundings
        )

    def _ask(self, process: subprocess.Popen[bytes], task: Any) -> Any:
        assert process.stdin is not None and process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self.seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(json.dumps(task).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = b""
        finally:
            timer.cancel()
        if line.endswith(b"\n"):
            return json.loads(line)
        if late.is_set():
            return f"it took longer than {self.seconds:g} s"
        code = process.wait()
        return f"the process that read it ended by signal {-code}" if code < 0 else f"the process that read it ended with code {code}"
