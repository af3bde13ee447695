"""Requests to a revision that others serve: with our key, under their names, over verified TLS."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import openai
import pytest
from fakes.raw_http import RawEngine, ask, fixed, get, post
from fakes.samples import total
from fakes.scripted_engine import ScriptedEngine

from serving.gateway.backends import Backend
from serving.gateway.elsewhere import Elsewhere
from serving.gateway.probing import Pace
from serving.gateway.routing_settings import RoutingSettings
from serving.gateway.server import Gateway
from serving.gateway.settings import EdgeSettings
from serving.gateway.state import ShadowShare

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
Make = Callable[..., Awaitable[Gateway]]
GOLDEN = Path(__file__).parents[2] / "golden" / "tls"
CHAT = "/v1/chat/completions"
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
LISTING = b'{"object":"list","data":[{"id":"org/Small","object":"model"}]}'
LISTED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(LISTING)
    + LISTING
)
SECRET = "sk-of-the-gateway"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text(SECRET)
    return file


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """A gateway in front of own engines by address and of others by revision."""
    started: list[Gateway] = []

    async def made(
        *own: str, weights: dict[str, float] | None = None, workers: int = 1, **there: Elsewhere
    ) -> Gateway:
        routing = RoutingSettings(elsewhere=there, weights=weights or {}, rest_s=60)
        gateway = Gateway("demo", settings=EdgeSettings(workers=workers), routing=routing)
        started.append(gateway)
        await gateway.start("127.0.0.1", 0, "127.0.0.1", 0)
        for url in own:
            gateway.add(Backend(url, state="ready"))
        await gateway.known()
        gateway.open(())
        return gateway

    yield made
    for gateway in started:
        await gateway.stop()


async def test_the_request_goes_there_with_our_key_and_never_with_the_clients(
    engine: RawEngine, key_file: Path, make: Make
) -> None:
    engine.answer = fixed(OK)
    gateway = await make(cluster=Elsewhere((engine.url,), key_file=key_file, models={"small": "org/Small"}))
    seen = await ask(
        gateway.public_url,
        post(CHAT, b'{"model": "small"}', "Authorization: Bearer sk-of-the-client", "Cookie: a=b"),
    )
    assert seen.status == 200
    call = engine.calls[-1]
    assert call.line == f"POST {CHAT} HTTP/1.1"
    assert call.header("Authorization") == f"Bearer {SECRET}"
    assert "client" not in call.head
    assert call.header("Cookie") is None
    assert call.body == b'{"model": "org/Small"}'


async def test_an_api_below_a_path_is_asked_below_it(engine: RawEngine, make: Make) -> None:
    engine.answer = fixed(OK)
    gateway = await make(cluster=Elsewhere((f"{engine.url}/openai",)))
    await ask(gateway.public_url, post(CHAT))
    assert [call.line.split()[1] for call in engine.calls] == ["/openai/v1/models", f"/openai{CHAT}"]


async def test_its_models_are_listed_under_the_names_of_here(engine: RawEngine, make: Make) -> None:
    engine.answer = fixed(LISTED)
    gateway = await make(cluster=Elsewhere((engine.url,), models={"small": "org/Small"}))
    listed = json.loads((await ask(gateway.public_url, get("/v1/models"))).body)
    assert [model["id"] for model in listed["data"]] == ["small"]
    assert json.loads((await ask(gateway.public_url, get("/v1/models/small"))).body)["id"] == "small"
    assert (await ask(gateway.public_url, get("/v1/models/org%2FSmall"))).status == 404


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_is_refused_there_is_not_the_clients_fault(
    engine: RawEngine, key_file: Path, make: Make, status: int
) -> None:
    engine.answer = fixed(OK)
    gateway = await make(cluster=Elsewhere((engine.url,), key_file=key_file))
    engine.answer = fixed(b"HTTP/1.1 %d X\r\ncontent-length: 0\r\n\r\n" % status)
    seen = await ask(gateway.public_url, post(CHAT))
    assert seen.status == 502
    assert json.loads(seen.body)["error"]["code"] == "upstream_key_refused"
    assert SECRET.encode() not in seen.raw


async def test_own_engines_take_over_what_a_refused_key_would_cost(engine: RawEngine, make: Make) -> None:
    engine.answer = fixed(OK)
    async with RawEngine().listening() as own:
        own.answer = fixed(OK)
        gateway = await make(own.url, weights={"main": 0.001, "cluster": 1}, cluster=Elsewhere((engine.url,)))
        engine.answer = fixed(b"HTTP/1.1 401 X\r\ncontent-length: 0\r\n\r\n")
        assert {(await ask(gateway.public_url, post(CHAT))).status for _ in range(3)} == {200}
        assert own.calls
        assert own.calls[0].header("Authorization") is None


async def test_shares_are_as_the_file_says_and_one_that_is_away_lends_its_own(
    engine: RawEngine, make: Make
) -> None:
    engine.answer = fixed(OK)
    away = Elsewhere(("http://127.0.0.1:1",))
    gateway = await make(engine.url, weights={"main": 3, "away": 1}, away=away)
    revisions = {one["name"]: one for one in gateway.state.document()["revisions"]}
    assert (revisions["main"]["weight"], revisions["away"]["weight"]) == (0.75, 0.25)
    (backend,) = revisions["away"]["backends"]
    assert backend["state"] == "down"
    assert "Errno 111" in backend["detail"]
    assert gateway.state.unready() is None
    assert [(await ask(gateway.public_url, post(CHAT))).status for _ in range(8)] == [200] * 8


async def test_with_nobody_there_the_gateway_is_not_ready(make: Make) -> None:
    gateway = await make(away=Elsewhere(("http://127.0.0.1:1",)))
    assert (await ask(gateway.public_url, get("/health/ready"))).status == 503
    assert json.loads((await ask(gateway.public_url, post(CHAT))).body)["error"]["code"] == "no_engine_ready"


async def test_https_is_verified_against_the_given_certificate(make: Make, engine: RawEngine) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(GOLDEN / "cert.pem", GOLDEN / "key.pem")
    async with RawEngine().listening(tls) as secure:
        secure.answer = fixed(OK)
        gateway = await make(cluster=Elsewhere((secure.url,), ca_file=GOLDEN / "cert.pem"))
        assert (await ask(gateway.public_url, post(CHAT))).body == b"{}"
        assert secure.calls[-1].line == f"POST {CHAT} HTTP/1.1"
        big = bytes(range(256)) * 1500
        secure.answer = fixed(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(big) + big)
        assert (await ask(gateway.public_url, post(CHAT))).body == big
        strict = await make(cluster=Elsewhere((secure.url,)))
        (backend,) = strict.state.backends
        assert backend.state == "down"
        assert "certificate verify failed" in backend.detail


async def test_copies_for_a_shadow_elsewhere_carry_our_key_and_its_names(
    engine: RawEngine, key_file: Path, make: Make, eventually: Eventually
) -> None:
    engine.answer = fixed(OK)
    async with RawEngine().listening() as own:
        own.answer = fixed(OK)
        there = Elsewhere((engine.url,), key_file=key_file, models={"a": "b"})
        gateway = await make(own.url, weights={"main": 1}, cluster=there)
        gateway.state.set_shadow(ShadowShare("cluster", 1.0))
        await ask(gateway.public_url, post(CHAT, b'{"model":"a"}'))
        await eventually(lambda: len(engine.calls) == 2)
        assert engine.calls[1].header("Authorization") == f"Bearer {SECRET}"
        assert engine.calls[1].body == b'{"model":"b"}'
        assert own.calls[0].body == b'{"model":"a"}'


@pytest.mark.slow
async def test_worker_processes_know_the_key_too_and_probing_is_the_parents(
    engine: RawEngine, key_file: Path, make: Make
) -> None:
    engine.answer = fixed(OK)
    clock = asyncio.get_running_loop().time
    began_s = clock()
    gateway = await make(workers=2, cluster=Elsewhere((engine.url,), key_file=key_file))
    await asyncio.sleep(0.1)  # A worker is told within 10 ms.
    assert {(await ask(gateway.public_url, post(CHAT))).status for _ in range(6)} == {200}
    assert {call.header("Authorization") for call in engine.calls} == {f"Bearer {SECRET}"}
    # The workers' questions would make it three at once, however slow the machine is.
    asked = sum(call.line.startswith("GET") for call in engine.calls)
    assert 1 <= asked <= 1 + (clock() - began_s) / Pace().every_s


@pytest.mark.slow
async def test_the_openai_client_works_unchanged_through_such_a_revision(make: Make) -> None:
    with ScriptedEngine.start("--served-model-name", "small", "--ttft", "0", "--itl", "0") as scripted:
        gateway = await make(cluster=Elsewhere((scripted.url,), models={"mine": "small"}, health="/health"))
        async with openai.AsyncOpenAI(
            base_url=f"{gateway.public_url}/v1", api_key="sk-of-the-client", max_retries=0
        ) as client:
            models = [model.id async for model in client.models.list()]
            whole = await client.completions.create(model="mine", prompt="hello", max_tokens=4, temperature=0)
            parts = await client.completions.create(
                model="mine", prompt="hello", max_tokens=4, temperature=0, stream=True
            )
            text = "".join([part.choices[0].text async for part in parts if part.choices])
            with pytest.raises(openai.NotFoundError):
                await client.completions.create(model="nobody", prompt="x")
    assert models == ["mine"]
    assert text == whole.choices[0].text != ""
    registry = gateway.metrics.registry
    assert total(registry, "teapot_gateway_requests_total", outcome="ok", revision="cluster") == 3
