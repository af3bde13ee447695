"""The locust process (or processes) that sends a prepared folder, seen from the one that waits for it.

Owns: its command line, its progress, and that it is never left behind. Knows nothing about prompts or
summaries.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from loadgen.limits import Limits
from loadgen.live_view import View
from loadgen.run_folder import RunFolder
from serving.errors import Failed

LOCUSTFILE = Path(__file__).with_name("locustfile.py")
PARENT_VARIABLE = "TEAPOT_PARENT_PID"
"""Tells the child whom it works for: when that process is gone, it ends too."""
_ERROR = "/ERROR/"
"""Between host and logger of a line of locust's log."""
POLL_S = 0.25
GRACE_S = 15.0
"""What the child gets beyond its drain, to write its files."""


class Sender:
    """A locust child in a process group of its own, so that Ctrl-C reaches it only through us.

    With several `processes` it leads that many workers, which are its children.
    """

    def __init__(
        self,
        folder: RunFolder,
        *,
        api_key: str | None,
        processes: int = 1,
        exporter_port: str = "auto",
        discovery: Path | None = None,
    ) -> None:
        self._folder = folder
        environment = {**os.environ, PARENT_VARIABLE: str(os.getpid())}
        if api_key is not None:
            environment["TEAPOT_API_KEY"] = api_key
        command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--headless", "--only-summary"]
        command += ["--run-dir", str(folder.path), "-H", folder.manifest().target]
        command += ["--exporter-port", exporter_port]
        command += ["--discovery", str(discovery.absolute())] if discovery else []
        if processes > 1:
            port = str(_free_port())
            command += ["--processes", str(processes), "--master-bind-host", "127.0.0.1"]
            command += ["--master-bind-port", port, "--master-port", port]
        with folder.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def wait(self, *, stopped: Callable[[], bool], progress: Callable[[View], None]) -> bool:
        """Wait for the end of the run; True if it came by itself, False if `stopped` asked for it.

        Raises: Failed if the child broke down.
        """
        while self._process.poll() is None:
            if stopped():
                self.stop()
                return False
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(POLL_S)
            shown = self._folder.live()
            if shown is not None:
                progress(shown)
        if self._process.returncode not in (0, 1):  # 1: locust's own code for a run with failed requests
            raise Failed(
                f"the sending process ended with {self._process.returncode}: {self._last_words()}",
                where=str(self._folder.log_path),
                fix="read this log",
            )
        return True

    def stop(self, limits: Limits | None = None) -> None:
        """End it: orderly with its drain, at once on a second Ctrl-C, by force if it does not listen."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        deadline = time.monotonic() + (limits or Limits()).drain_s + GRACE_S
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                self._process.wait(POLL_S)
            except subprocess.TimeoutExpired:
                continue
            except KeyboardInterrupt:
                self._process.terminate()
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _last_words(self) -> str:
        return last_words(self._folder.log_path.read_text(errors="replace"))


def last_words(log: str) -> str:
    """The last error in locust's log, else its last line: under an error locust still prints its tables."""
    lines = log.strip().splitlines()
    errors = [line.partition(_ERROR)[2].partition(": ")[2] for line in lines if _ERROR in line]
    return (errors or lines or ["it said nothing"])[-1]


def _free_port() -> int:
    """A port that nobody has: runs beside each other must not share their workers."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])
