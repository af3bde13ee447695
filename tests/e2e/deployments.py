"""`teapot serve` as a user runs it: a child process, a deployment file, free ports; and its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

READY_WITHIN_S = 420
END_WITHIN_S = 90
TEAPOT = [sys.executable, "-m", "deploy.cli"]


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_deployment(
    folder: Path,
    *,
    model: str | Path,
    modes: Sequence[Mapping[str, Any]] = (),
    args: Mapping[str, Any] | None = None,
) -> Path:
    """A deployment file for a quick start on two cores: eager, small KV cache, free ports."""
    path = folder / "deployment.yaml"
    document = {
        "name": "e2e",
        "model": str(model),
        "engine": {
            "device": "cpu",
            "max_model_len": 2048,
            "max_num_seqs": 16,
            "kv_cache_memory": "1GiB",
            "args": {"enforce-eager": True, **(args or {})},
        },
        "modes": list(modes),
        "gateway": {"port": free_port(), "admin_port": free_port(), "drain_timeout": "10s"},
        "prometheus": {"enabled": False},
    }
    path.write_text(yaml.safe_dump(document))
    return path


@dataclass(slots=True)
class Serving:
    """A running `teapot serve`; `said` is the file with all that it printed."""

    process: subprocess.Popen[bytes]
    url: str
    admin_url: str
    said: Path

    def get(self, path: str, *, admin: bool = False) -> tuple[int, Any]:
        """Status and JSON (or text) of a GET; status 0 while nobody listens."""
        url = (self.admin_url if admin else self.url) + path
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status, _value(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _value(error.read())
        except OSError:
            return 0, None

    def wait_until_ready(self) -> None:
        """Wait for /health/ready. Fails at once, with what was said, if the process ends."""
        until = time.monotonic() + READY_WITHIN_S
        while self.get("/health/ready")[0] != 200:
            assert self.process.poll() is None, self.said.read_text()
            assert time.monotonic() < until, f"not ready in {READY_WITHIN_S} s: {self.said.read_text()}"
            time.sleep(0.2)

    def wait_until_said(self, words: str) -> None:
        """Wait until the process has printed these words."""
        until = time.monotonic() + READY_WITHIN_S
        while words not in self.said.read_text():
            assert self.process.poll() is None, self.said.read_text()
            assert time.monotonic() < until, f"'{words}' was not said: {self.said.read_text()}"
            time.sleep(0.05)

    def stop(self, number: signal.Signals) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(END_WITHIN_S)

    def engines(self) -> list[int]:
        """The pids of all living processes that were started by this one, at any depth."""
        return descendants(self.process.pid)


def _value(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode()


@contextmanager
def serve(path: Path, *extra: str) -> Iterator[Serving]:
    """Start `teapot serve PATH`; whatever the test does, it is ended afterwards."""
    document = yaml.safe_load(path.read_text())
    said = path.with_suffix(".said")
    with said.open("wb") as out:
        process = subprocess.Popen(
            [*TEAPOT, "serve", str(path), *extra], stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    gateway = document["gateway"]
    running = Serving(
        process, f"http://127.0.0.1:{gateway['port']}", f"http://127.0.0.1:{gateway['admin_port']}", said
    )
    try:
        yield running
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(END_WITHIN_S)


def descendants(pid: int) -> list[int]:
    """Pids below a process, by /proc's parent links."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found = [pid]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found[1:]


def alive(pids: Sequence[int]) -> list[int]:
    """Those of the processes that still run (zombies do not)."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.append(pid)
    return found


def teapot(*words: str, timeout_s: float = 300, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a `teapot` command to its end."""
    return subprocess.run(
        [*TEAPOT, *words],
        capture_output=True, text=True, timeout=timeout_s, check=False, env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
