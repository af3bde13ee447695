"""The admin interface as a rollout uses it: what is sent with which token, and what is said of no answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.keeper import FakeKeeper

from deploy.rollout.client import Admin, Away, Declined
from serving.engine.ports import free_port
from serving.gateway.backends import Backend
from serving.gateway.revisions import Asked
from serving.gateway.server import Gateway


@pytest.fixture
def keeper() -> FakeKeeper:
    return FakeKeeper()


@pytest.fixture
async def gateway(keeper: FakeKeeper, tmp_path: Path) -> AsyncIterator[Gateway]:
    gateway = Gateway("demo")
    gateway.keeper = keeper
    token = tmp_path / "token"
    token.write_text("the-token\n")
    gateway.state.token_file = str(token)
    await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
    for revision in ("main", "new"):
        gateway.add(Backend(f"http://{revision}", revision=revision, state="ready"))
    gateway.open(())
    yield gateway
    await gateway.stop()


async def test_engines_are_started_and_ended_with_the_token_in_the_file(
    gateway: Gateway, keeper: FakeKeeper
) -> None:
    admin = Admin(gateway.admin_url)
    await asyncio.to_thread(admin.begin, "v2", "/x/new.yaml", replaces="main", again_in_s=9)
    await asyncio.to_thread(admin.end, "a b", cut=True)
    assert keeper.begun == [Asked("v2", "/x/new.yaml", "main", 9)]
    assert keeper.ended == [("a b", True)]


async def test_weights_and_shadow_and_the_rollout_need_none(gateway: Gateway) -> None:
    admin = Admin(gateway.admin_url)
    await asyncio.to_thread(admin.weigh, {"main": 0.25, "new": 0.75})
    await asyncio.to_thread(admin.shadow, "new", 1.0)
    document = {"revision": "new", "baseline": "main", "strategy": "canary", "state": "baking"}
    await asyncio.to_thread(admin.tell, document)
    status = await asyncio.to_thread(admin.status)
    assert [row["weight"] for row in status["revisions"]] == [0.25, 0.75]
    assert status["rollout"] == document
    assert gateway.state.shadow is not None
    assert "teapot_rollout_info" in await asyncio.to_thread(admin.exposition)


async def test_what_is_refused_is_told_in_the_words_of_who_refuses(gateway: Gateway) -> None:
    admin = Admin(gateway.admin_url)
    with pytest.raises(Declined, match="there is a revision 'main' already"):
        await asyncio.to_thread(admin.begin, "main", "/x/new.yaml")
    with pytest.raises(Declined, match="there is no revision 'nobody'"):
        await asyncio.to_thread(admin.weigh, {"nobody": 1.0})


async def test_a_gateway_without_engines_of_its_own_cannot_roll_out(gateway: Gateway) -> None:
    gateway.state.token_file = None
    with pytest.raises(Declined, match="no revision of it can be rolled out"):
        await asyncio.to_thread(Admin(gateway.admin_url).begin, "v2", "/x/new.yaml")


def test_nobody_there_is_away_with_what_to_do() -> None:
    with pytest.raises(Away, match="is `teapot serve` running"):
        Admin(f"http://127.0.0.1:{free_port()}").status()


async def test_something_else_there_is_away_too(gateway: Gateway) -> None:
    # The public address answers with JSON of another shape.
    with pytest.raises(Declined):
        await asyncio.to_thread(Admin(gateway.public_url).status)
