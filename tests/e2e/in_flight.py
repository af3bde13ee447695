"""SIGTERM while answers are written: does the deployment end, and does every client get its whole answer?

Each trial costs a start of a real engine: the tests do three, `make bench-sigterm` does twenty.
"""

from __future__ import annotations

import http.client
import json
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from e2e.deployments import alive, serve, write_deployment

CLIENTS = 4
TOKENS = 120
STARTED_WITHIN_S = 60
DRAIN = "60s"
"""More than the answers take on busy cores: beyond it an answer is ended with an error, as it should be."""


@dataclass(slots=True)
class Client:
    """One streamed request in a thread: how many tokens came, and how it ended."""

    url: str
    tokens: int = 0
    whole: bool = False
    ended: str = "did not end"
    begun: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Read the stream to its end."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
        body = {"model": "tiny-llama", "prompt": "Once upon a time", "max_tokens": TOKENS, "ignore_eos": True}
        try:
            connection.request(
                "POST",
                "/v1/completions",
                json.dumps(body | {"stream": True}),
                {"Content-Type": "application/json"},
            )
            answer = connection.getresponse()
            for line in answer:
                if line.startswith(b"data: [DONE]"):
                    self.whole = True
                elif line.startswith(b"data: {") and b'"choices"' in line:
                    self.tokens += 1
                    self.begun.set()
            self.ended = f"HTTP {answer.status}"
        except (OSError, http.client.HTTPException) as error:
            self.ended = f"{type(error).__name__}: {error}"
        finally:
            self.begun.set()
            connection.close()


@dataclass(frozen=True, slots=True)
class Trial:
    """One SIGTERM: what the clients got, how the deployment ended."""

    exit_code: int
    took_s: float
    lost: Sequence[str]
    """Answers that were not whole, in words."""
    left: Sequence[int]
    """Processes that were still there."""
    in_flight: int
    """Answers that were not finished when the signal was sent."""

    @property
    def ok(self) -> bool:
        """Nothing lost, nothing left, and the exit code of a SIGTERM."""
        return self.exit_code == 128 + signal.SIGTERM and not self.lost and not self.left


def try_once(folder: Path, model: Path) -> Trial:
    """Serve, let clients read, send SIGTERM in the middle. A deployment that hangs raises TimeoutExpired."""
    with serve(write_deployment(folder, model=model), "--set", f"gateway.drain_timeout={DRAIN}") as running:
        running.wait_until_ready()
        engines = running.engines()
        clients = [Client(running.url) for _ in range(CLIENTS)]
        threads = [threading.Thread(target=client.run, daemon=True) for client in clients]
        for thread in threads:
            thread.start()
        for client in clients:
            assert client.begun.wait(STARTED_WITHIN_S)
        in_flight = sum(thread.is_alive() for thread in threads)
        began = time.monotonic()
        code = running.stop(signal.SIGTERM)
        took_s = time.monotonic() - began
        for thread in threads:
            thread.join(5)
        lost = [f"{c.tokens} tokens, {c.ended}" for c in clients if not c.whole]
        return Trial(code, took_s, lost, alive(engines), in_flight)
