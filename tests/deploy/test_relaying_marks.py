"""A gateway alone and the Grafana of its file: marked where it answers, untroubled where it does not."""

from __future__ import annotations

import io
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest
import yaml
from fakes.fake_grafana import EDITOR, FakeGrafana, grafana
from fakes.raw_http import RawEngine, ask, fixed, get

from deploy.relaying import Relaying
from serving.config.load import load_deployment
from serving.console import Console

OK = fixed(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")


@pytest.fixture
async def engine() -> AsyncIterator[RawEngine]:
    async with RawEngine().listening() as running:
        running.answer = OK
        yield running


@pytest.fixture
def fake() -> Iterator[FakeGrafana]:
    with grafana() as running:
        yield running


def relaying(folder: Path, engine: str, url: str) -> Relaying:
    file = folder / "relay.yaml"
    revisions = [{"name": name, "urls": [f"{engine}/{name}/v1"]} for name in ("old", "new")]
    document = {
        "name": "relay",
        "revisions": revisions,
        "gateway": {"port": 0, "admin_port": 0},
        "grafana": {"url": url, "token_file": "token"},
    }
    file.write_text(yaml.safe_dump(document))
    (folder / "token").write_text(EDITOR)
    deployment, _ = load_deployment(file)
    return Relaying(deployment, folder, Console(out=io.StringIO(), err=io.StringIO()))


async def test_its_life_and_a_step_of_weights_are_marked(
    engine: RawEngine, fake: FakeGrafana, tmp_path: Path
) -> None:
    stack = relaying(tmp_path, engine.url, fake.url)
    await stack.up()
    weights = {"old": 9, "new": 1}
    async with (
        aiohttp.ClientSession(stack.gateway.admin_url) as session,
        session.put("/revisions", json=weights) as answer,
    ):
        assert answer.status == 200
    await stack.down()
    assert [one["text"] for one in fake.annotations] == [
        "relay is ready: old 50 %, new 50 %", "weights: old 90 %, new 10 %", "relay stops",
    ]  # fmt: skip
    tags = ["teapot", "deployment:relay", "revision:old", "revision:new", "kind:weights"]
    assert fake.annotations[1]["tags"] == tags


async def test_a_grafana_that_is_down_is_said_once_and_serving_goes_on(
    engine: RawEngine, tmp_path: Path
) -> None:
    stack = relaying(tmp_path, engine.url, "http://127.0.0.1:1")
    await stack.up()
    assert (await ask(stack.gateway.public_url, get("/health/ready"))).status == 200
    stack.gateway.state.set_weights({"old": 3, "new": 1})
    await stack.down()
    said = stack.console.err.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert said.count("Grafana cannot be reached") == 1
    assert "3 of 3 annotations did not get to Grafana" in said


async def test_a_grafana_that_hangs_keeps_nobody_from_being_served(
    engine: RawEngine, fake: FakeGrafana, tmp_path: Path
) -> None:
    fake.hold = threading.Event()
    stack = relaying(tmp_path, engine.url, fake.url)
    stack.marks.finish = lambda within_s: None  # not waited for: this is about serving
    await stack.up()
    assert (await ask(stack.gateway.public_url, get("/health/ready"))).status == 200
    stack.gateway.state.set_weights({"old": 3, "new": 1})
    assert (await ask(stack.gateway.public_url, get("/health/ready"))).status == 200
    await stack.down()
    assert fake.annotations == []
