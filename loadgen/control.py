"""Plain blocking HTTP for everything that is not measured: probing, counting tokens, reading metrics.

Owns: one small client with keep-alive for each thread (or greenlet). Knows nothing about what is asked.
"""

from __future__ import annotations

import http.client
import json
import threading
from dataclasses import dataclass, field
from typing import Any, Self

from loadgen.target import Target


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The decoded body; None if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass(slots=True)
class ControlClient:
    """Requests to one target, for a `with`. Raises OSError or HTTPException where nothing answers."""

    target: Target
    timeout_s: float = 120.0
    _local: threading.local = field(default_factory=threading.local)
    _opened: list[http.client.HTTPConnection] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._opened:
            self._opened.pop().close()

    def get(self, path: str) -> Answer:
        """GET `path` below the target's prefix."""
        return self._ask("GET", path, None)

    def post(self, path: str, document: Any) -> Answer:
        """POST a JSON document."""
        return self._ask("POST", path, json.dumps(document).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> Answer:
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            try:
                return self._exchange(connection, method, path, body)
            except (http.client.HTTPException, ConnectionError):
                connection.close()  # it had slept too long: once more on a fresh one
        kind = http.client.HTTPSConnection if self.target.tls else http.client.HTTPConnection
        connection = kind(self.target.host, self.target.port, timeout=self.timeout_s)
        self._local.connection = connection
        self._opened.append(connection)
        return self._exchange(connection, method, path, body)

    def _exchange(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None
    ) -> Answer:
        headers = self.target.headers() | ({"Content-Type": "application/json"} if body else {})
        try:
            connection.request(method, self.target.prefix + path, body=body, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, response.read())
        except BaseException:
            connection.close()
            self._local.connection = None
            raise
