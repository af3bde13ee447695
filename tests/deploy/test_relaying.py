"""A deployment that starts no engine: the gateway in front of what others serve, from up to down."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from fakes.fake_prometheus import make_fake_prometheus
from fakes.raw_http import RawEngine, ask, fixed, get, post

from deploy.prometheus import Place
from deploy.relaying import Relaying
from serving.config.load import load_deployment
from serving.config.schema import PrometheusSection
from serving.console import Console
from serving.engine.folders import DataFolder
from serving.engine.leftovers import marked_processes

CHAT = "/v1/chat/completions"
OK = fixed(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")


@pytest.fixture
async def engine() -> AsyncIterator[RawEngine]:
    async with RawEngine().listening() as running:
        running.answer = OK
        yield running


def relaying(folder: Path, *urls: str, recording: Place | None = None, **gateway: object) -> Relaying:
    file = folder / "relay.yaml"
    document = {
        "name": "relay",
        "revisions": [{"name": "there", "urls": [f"{url}/v1" for url in urls], "key_file": "key"}],
        "gateway": {"port": 0, "admin_port": 0, **gateway},
    }
    file.write_text(yaml.safe_dump(document))
    (folder / "key").write_text("sk-own")
    deployment, _ = load_deployment(file)
    return Relaying(deployment, folder, Console(out=io.StringIO(), err=io.StringIO()), recording)


def said(stack: Relaying) -> str:
    return stack.console.err.getvalue()  # type: ignore[attr-defined]


async def test_it_serves_at_once_from_those_that_answer(engine: RawEngine, tmp_path: Path) -> None:
    stack = relaying(tmp_path, engine.url, "http://127.0.0.1:1")
    await stack.up()
    assert "no engines of its own; 1 of 2 backends elsewhere answer" in said(stack)
    url = stack.gateway.public_url
    assert (await ask(url, get("/health/ready"))).status == 200
    assert (await ask(url, post(CHAT))).body == b"{}"
    assert engine.calls[-1].header("Authorization") == "Bearer sk-own"
    await stack.down()
    with pytest.raises(ConnectionRefusedError):
        await ask(url, get("/health/live"))


async def test_it_does_not_end_when_nobody_answers(tmp_path: Path) -> None:
    stack = relaying(tmp_path, "http://127.0.0.1:1")
    await stack.up()
    ended = asyncio.create_task(stack.ended())
    assert (await ask(stack.gateway.public_url, get("/health/ready"))).status == 503
    await asyncio.sleep(0)
    assert not ended.done()
    ended.cancel()
    await stack.down()


@pytest.mark.slow
async def test_its_prometheus_scrapes_the_gateway_alone_and_ends_with_it(
    engine: RawEngine, tmp_path: Path
) -> None:
    make_fake_prometheus(tmp_path)
    place = Place("relay", PrometheusSection(port=0), DataFolder(tmp_path).make(), "now")
    stack = relaying(tmp_path, engine.url, recording=place)
    await stack.up()
    assert stack.prometheus is not None
    assert stack.gateway.state.document()["prometheus"] == stack.prometheus.url is not None
    [group] = json.loads(place.files.targets("gateway").read_text())
    assert f"http://{group['targets'][0]}" == stack.gateway.admin_url
    assert json.loads(place.files.targets("engine").read_text()) == []
    await stack.down()
    assert stack.gateway.state.document()["prometheus"] is None
    assert marked_processes("TEAPOT_STACK_ID", stack._guardian.stack_id) == []
