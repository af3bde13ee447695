from __future__ import annotations

import socket

import pytest
from fakes.scripted_engine import ScriptedEngine

from loadgen.control import Answer, ControlClient
from loadgen.target import parse_target


def test_get_and_post_give_the_whole_answer(engine: ScriptedEngine) -> None:
    with ControlClient(parse_target(engine.url)) as client:
        assert client.get("/v1/models").json()["data"][0]["id"] == "scripted"
        assert client.post("/tokenize", {"model": "scripted", "prompt": "a b c"}).json()["count"] == 3
        assert client.get("/nothing").status == 404


@pytest.mark.slow
def test_a_connection_that_the_server_closed_meanwhile_is_made_anew() -> None:
    with ScriptedEngine.start() as first, ControlClient(parse_target(first.url)) as client:
        assert client.get("/v1/models").status == 200
        first.process.kill()
        first.process.wait()
        with ScriptedEngine.start("--port", str(first.port)):
            assert client.get("/v1/models").status == 200


def test_a_body_that_is_no_json_is_none() -> None:
    assert Answer(200, b"<html>").json() is None


def test_nobody_listening_is_an_os_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    with pytest.raises(OSError):
        ControlClient(parse_target(f"http://127.0.0.1:{port}")).get("/")
