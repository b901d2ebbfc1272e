"""Reads recordings in a child process with limits on time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any, Optional


class Reader:
    """Reads recordings in a child process, which is started on demand and restarted after a crash or timeout."""

    def __init__(self, seconds: float, memory_bytes: int) -> None:
        self.seconds = seconds
        self.memory_bytes = memory_bytes
        self._process: Optional[subprocess.Popen[bytes]] = None

    def run(self, task: Any) -> Any:
        """Returns the result of a task (see ``_worker.answer``), or an error message after a crash or timeout."""
        if self._process is None:
            self._process = self._start()
        answer = self._run(self._process, task)
        if isinstance(answer, str):
            self.close()
        return answer

    def close(self) -> None:
        """Terminates the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                try:
                    if pipe is not None:
                        pipe.close()
                except OSError:  # Unwritten data to a process that has exited.
                    pass
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        program = "import sys; from onoff._worker import main; sys.exit(main())"
        command = [sys.executable, "-c", program, str(self.memory_bytes), str(self.seconds)]
        # Let the process import the same package as the caller.
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        python_path = os.environ.get("PYTHONPATH")
        environment = {**os.environ, "PYTHONPATH": folder if not python_path else f"{python_path}{os.pathsep}{folder}"}
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )

    def _run(self, process: subprocess.Popen[bytes], task: Any) -> Any:
        assert process.stdin is not None and process.stdout is not None
        timed_out = threading.Event()

        def stop() -> None:
            timed_out.set()
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
        if timed_out.is_set():
            return f"timed out after {self.seconds:g} s"
        code = process.wait()
        return f"the reader process was killed by signal {-code}" if code < 0 else f"the reader process exited with code {code}"
