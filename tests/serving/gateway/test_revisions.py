"""Starting and ending engines over the admin address: who may, and what is asked of their keeper."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from fakes.keeper import FakeKeeper
from fakes.raw_http import RawAnswer, ask

from serving.gateway.revisions import Asked, read_asked
from serving.gateway.server import Gateway


@pytest.fixture
def keeper() -> FakeKeeper:
    return FakeKeeper()


@pytest.fixture
async def gateway(keeper: FakeKeeper) -> AsyncIterator[Gateway]:
    gateway = Gateway("demo")
    gateway.keeper = keeper
    gateway.state.token_file = "/state/demo.token"
    await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
    yield gateway
    await gateway.stop()


async def send(
    gateway: Gateway, method: str, path: str, body: bytes = b"", authorization: str = "Bearer the-token"
) -> RawAnswer:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    head += f"Authorization: {authorization}\r\nContent-Length: {len(body)}\r\n\r\n"
    return await ask(gateway.admin_url, head.encode() + body)


async def test_a_revision_is_asked_for_and_answered_at_once(gateway: Gateway, keeper: FakeKeeper) -> None:
    answer = await send(gateway, "POST", "/revisions", b'{"name": "new", "file": "/x/new.yaml"}')
    assert (answer.status, json.loads(answer.body)["name"]) == (202, "demo")
    assert keeper.begun == [Asked("new", "/x/new.yaml")]


async def test_what_the_keeper_refuses_is_a_400_with_its_words(gateway: Gateway) -> None:
    answer = await send(gateway, "POST", "/revisions", b'{"name": "main", "file": "/x/new.yaml"}')
    assert answer.status == 400
    assert "there is a revision 'main' already" in answer.body.decode()


@pytest.mark.parametrize(
    ("query", "cut"), [("", False), ("?in_flight=finish", False), ("?in_flight=cut", True)]
)
async def test_streams_finish_unless_they_are_to_be_cut(
    gateway: Gateway, keeper: FakeKeeper, query: str, cut: bool
) -> None:
    assert (await send(gateway, "DELETE", f"/revisions/new{query}")).status == 202
    assert keeper.ended == [("new", cut)]
    assert (await send(gateway, "DELETE", "/revisions/new?in_flight=kill")).status == 400


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer wrong", "Basic the-token", "Bearer the-toke\xe9"]
)
async def test_without_the_token_no_engine_is_started_or_ended(
    gateway: Gateway, keeper: FakeKeeper, authorization: str
) -> None:
    for method, path, body in (
        ("POST", "/revisions", b'{"name": "new", "file": "/x"}'),
        ("DELETE", "/revisions/main", b""),
    ):
        answer = await send(gateway, method, path, body, authorization)
        assert answer.status == 401
        assert b"/state/demo.token" in answer.body
    assert (keeper.begun, keeper.ended) == ([], [])


async def test_a_gateway_without_a_keeper_starts_none() -> None:
    gateway = Gateway("demo")
    await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
    try:
        assert (await send(gateway, "POST", "/revisions", b"{}")).status == 405
    finally:
        await gateway.stop()


def test_a_replacement_says_what_it_replaces_and_how_long_clients_wait() -> None:
    body = b'{"name": "new", "file": "/x/new.yaml", "replaces": "main", "again_in_s": 90}'
    assert read_asked(body) == Asked("new", "/x/new.yaml", "main", 90)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b'{"name": "new"}', b'{"name": "new", "file": "/x", "more": 1}',
        b'{"name": "", "file": "/x"}', b'{"name": "a/b", "file": "/x"}', b'{"name": 1, "file": "/x"}',
        b'{"name": "-a", "file": "/x"}', b'{"name": "new", "file": "new.yaml"}',
        b'{"name": "new", "file": "/x", "replaces": 1}', b'{"name": "new", "file": "/x", "again_in_s": 0}',
        b'{"name": "new", "file": "/x", "again_in_s": true}',
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        read_asked(body)
