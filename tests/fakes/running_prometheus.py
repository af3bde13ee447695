"""A real Prometheus for the length of a `with`, where the program is installed.

Owns: its process and how it is asked for alerts. Knows nothing about what it scrapes.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAM = shutil.which("prometheus")
needs_prometheus = pytest.mark.skipif(PROGRAM is None, reason="the program prometheus is not installed")


@dataclass(frozen=True, slots=True)
class ActiveAlert:
    """An alert as Prometheus has it: pending or firing."""

    labels: frozenset[tuple[str, str]]
    state: str
    annotations: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RunningPrometheus:
    """Where it answers, and its log."""

    url: str
    log: Path

    def alerts(self) -> list[ActiveAlert]:
        """Those that are pending or firing now."""
        with urllib.request.urlopen(f"{self.url}/api/v1/alerts", timeout=10) as answer:
            rows = json.loads(answer.read())["data"]["alerts"]
        return [
            ActiveAlert(frozenset(row["labels"].items()), row["state"], frozenset(row["annotations"].items()))
            for row in rows
        ]

    def ready(self) -> bool:
        """Whether it answers questions."""
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=10) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            pass
        return False


class Watch:
    """What Prometheus said of alerts so far."""

    def __init__(self, prometheus: RunningPrometheus) -> None:
        self._prometheus = prometheus
        self.fired: dict[frozenset[tuple[str, str]], ActiveAlert] = {}
        self.active: list[ActiveAlert] = []

    def until(self, done: Callable[[], bool]) -> None:
        """Look on until something is so. A busy machine may take long."""
        deadline = time.monotonic() + 150
        while True:
            self.active = self._prometheus.alerts()
            for alert in self.active:
                if alert.state == "firing":
                    self.fired.setdefault(alert.labels, alert)
            if done():
                return
            if time.monotonic() > deadline:
                shown = "\n".join(f"{a.state} {sorted(a.labels)}" for a in self.active)
                pytest.fail(f"not in 150 s; active are:\n{shown}\n{self._prometheus.log.read_text()}")
            time.sleep(0.2)


@contextmanager
def running_prometheus(folder: Path, config: str) -> Iterator[RunningPrometheus]:
    """Start it with a configuration (`{address}` in it is its own), and end it."""
    assert PROGRAM is not None, "mark the test with needs_prometheus"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    file, log = folder / "prometheus.yml", folder / "log"
    file.write_text(config.replace("{address}", address))
    words = [f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [PROGRAM, *words, f"--web.listen-address={address}"], stdout=out, stderr=out
        )
        try:
            found = RunningPrometheus(f"http://{address}", log)
            until = time.monotonic() + 30
            while not found.ready():
                if process.poll() is not None or time.monotonic() > until:
                    pytest.fail(f"Prometheus does not answer:\n{log.read_text()}")
                time.sleep(0.05)
            yield found
        finally:
            process.terminate()
            process.wait(30)
