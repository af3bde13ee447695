"""Which requests are copied, and what becomes of the copies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from fakes.raw_http import Call, RawEngine, chunked, fixed

from serving.gateway.backends import Backend
from serving.gateway.errand import Errand, Task
from serving.gateway.limits import GatewayLimits
from serving.gateway.outcome import Exchange, Gaps, Outcome
from serving.gateway.policies.policy import Ask
from serving.gateway.routing import Router
from serving.gateway.shadow import MOST_AT_ONCE, Shadow
from serving.gateway.state import GatewayState, ShadowShare
from serving.gateway.upstream.pool import Pool

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
USAGE = b'data: {"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n'
STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    + chunked(b"data: 1\n\n", USAGE) + b"0\r\n\r\n"
)  # fmt: skip


class Copier:
    """A shadow in front of one engine, and the outcomes it told of."""

    def __init__(self, url: str) -> None:
        self.state = GatewayState("demo", shadow=ShadowShare("new", 1))
        self.state.backends.add(Backend("http://127.0.0.1:1", revision="main", state="ready"))
        self.backend = Backend(url, revision="new", state="ready")
        self.state.backends.add(self.backend)
        router = Router(self.state.backends)
        self.pool = Pool(connect_s=10, idle_s=1)
        self.shadow = Shadow(self.state, router, self.pool, GatewayLimits(total_s=60))
        self.outcomes: list[Outcome] = []
        self.shadow.observe = self.outcomes.append
        self.main, self.new = self.state.backends.revisions()

    def request(self, revision: str = "main", method: str = "POST") -> None:
        of = self.main if revision == "main" else self.new
        errand = Errand(Task("/v1/completions"), method, {}, Ask(b"{}"), of, b"{}")
        self.shadow.maybe(errand, Exchange("r", "/v1/completions", 1, gaps=Gaps((10,))))


@pytest.fixture
async def copier(engine: RawEngine) -> AsyncIterator[Copier]:
    made = Copier(engine.url)
    yield made
    await made.shadow.close()
    await made.pool.close()


async def test_a_copy_is_measured_and_thrown_away(
    engine: RawEngine, copier: Copier, eventually: Eventually
) -> None:
    engine.answer = fixed(STREAM)
    copier.request()
    await eventually(lambda: len(copier.outcomes) == 1)
    (outcome,) = copier.outcomes
    assert (outcome.kind, outcome.traffic, outcome.revision, outcome.streamed) == (
        "ok",
        "shadow",
        "new",
        True,
    )
    assert (outcome.tokens_in, outcome.tokens_out) == (3, 2)
    assert outcome.first_byte_ns is not None
    assert copier.backend.in_flight == 0


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (b"HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n", "upstream_error"),
        (b"HTTP/1.1 400 X\r\ncontent-length: 0\r\n\r\n", "rejected"),
        (b"", "upstream_error"),
        (STREAM[:-20], "upstream_error"),
    ],
)
async def test_a_copy_that_fails_is_counted_as_what_it_was(
    engine: RawEngine, copier: Copier, eventually: Eventually, said: bytes, kind: str
) -> None:
    engine.answer = fixed(said)
    copier.request()
    await eventually(lambda: len(copier.outcomes) == 1)
    assert copier.outcomes[0].kind == kind


async def test_only_the_share_is_copied(engine: RawEngine, copier: Copier, eventually: Eventually) -> None:
    engine.answer = fixed(STREAM)
    copier.state.set_shadow(ShadowShare("new", 0.25))
    for _ in range(40):
        copier.request()
    await eventually(lambda: len(copier.outcomes) >= 9)
    await asyncio.sleep(0.05)
    assert 9 <= len(copier.outcomes) <= 11


async def test_the_shadows_own_traffic_and_what_is_not_generated_is_not_copied(
    engine: RawEngine, copier: Copier
) -> None:
    engine.answer = fixed(STREAM)
    copier.request("new")
    copier.request(method="GET")
    copier.backend.state = "down"
    copier.request()
    await asyncio.sleep(0.05)
    assert engine.calls == []


async def test_a_slow_shadow_falls_behind_by_so_much_and_ends_with_the_gateway(
    engine: RawEngine, copier: Copier, eventually: Eventually
) -> None:
    engine.answer = Call.gone
    for _ in range(MOST_AT_ONCE + 20):
        copier.request()
    await eventually(lambda: len(engine.calls) == MOST_AT_ONCE)
    assert copier.backend.in_flight == MOST_AT_ONCE
    await copier.shadow.close()
    assert copier.backend.in_flight == 0
    assert [outcome.kind for outcome in copier.outcomes] == ["client_gone"] * MOST_AT_ONCE
