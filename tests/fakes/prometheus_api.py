"""Prometheus' HTTP API, scripted: fixed answers by expression, in the shapes that 2.42 was seen to give."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs


def vector(*rows: tuple[Mapping[str, str], str]) -> dict[str, Any]:
    return {"resultType": "vector", "result": [{"metric": m, "value": [1000.5, text]} for m, text in rows]}


def matrix(*rows: tuple[Mapping[str, str], list[tuple[float, str]]]) -> dict[str, Any]:
    result = [{"metric": m, "values": [list(pair) for pair in values]} for m, values in rows]
    return {"resultType": "matrix", "result": result}


@dataclass
class Script:
    """What is answered: data by expression, by path, or (status, document)."""

    answers: dict[str, Any] = field(default_factory=dict)
    delay_s: float = 0.0
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)


def _answer(script: Script, path: str, form: dict[str, str]) -> tuple[int, bytes]:
    script.asked.append((path, form))
    time.sleep(script.delay_s)
    found = script.answers.get(form.get("query", path.partition("?")[0]))
    if isinstance(found, bytes):
        return 200, found
    if isinstance(found, tuple):
        status, document = found
        return status, document if isinstance(document, bytes) else json.dumps(document).encode()
    if found is None:
        found = matrix() if path.endswith("query_range") else vector()
    return 200, json.dumps({"status": "success", "data": found}).encode()


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """The address of a server that answers by the script."""

    class Handler(BaseHTTPRequestHandler):
        def _reply(self, form: dict[str, str]) -> None:
            status, body = _answer(script, self.path, form)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self._reply({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._reply({key: values[0] for key, values in parse_qs(body).items()})

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
