from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.fixture
def port() -> Iterator[int]:
    command = [sys.executable, "-m", "loadgen.scripted_server", "--ttft", "0.05", "--gap", "0.01"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline().rsplit(":", 1)[1])
        process.terminate()
        assert process.wait(timeout=10) == 0


def call(port: int, path: str, body: object = None) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body))
    data = connection.getresponse().read()
    connection.close()
    return data


def test_it_writes_each_event_when_it_is_due_and_notes_when(port: int) -> None:
    body = {"messages": [], "stream": True, "max_tokens": 5}
    answer = call(port, "/v1/chat/completions", body)
    assert answer.count(b"data: ") == 8  # role, five tokens, finish, [DONE]
    (row,) = json.loads(call(port, "/_served"))
    assert row["whole"]
    first, *rest = row["writes_ns"]
    assert first - row["t_received_ns"] >= 50_000_000
    # Each event is due ten ticks of a millisecond after the one before; a busy machine can only be late.
    assert all(write - first >= 9_000_000 * n for n, write in enumerate(rest, start=1))
    assert len(rest) == 4


def test_its_marks_bound_what_it_wrote(port: int) -> None:
    assert json.loads(call(port, "/_marks"))["first_received_ns"] is None
    call(port, "/v1/completions", {"prompt": "a", "stream": True, "max_tokens": 3})
    marks = json.loads(call(port, "/_marks"))
    assert (marks["requests"], marks["events"], marks["open"], marks["most_open"]) == (1, 3, 0, 1)
    assert marks["first_received_ns"] < marks["last_write_ns"]
    call(port, "/_forget")
    assert json.loads(call(port, "/_marks"))["requests"] == 0


def test_a_client_that_goes_away_ends_its_stream(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(
        "POST", "/v1/completions", json.dumps({"prompt": "a", "stream": True, "max_tokens": 1000})
    )
    connection.getresponse().read(10)
    connection.close()
    while json.loads(call(port, "/_marks"))["open"]:
        pass
    (row,) = json.loads(call(port, "/_served"))
    assert not row["whole"]
