"""Spans: what they say, and that nothing is needed where they are not asked for."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from fakes.raw_http import RawEngine, ask, fixed, post

from serving.errors import UsageError
from serving.gateway.caller import Caller
from serving.gateway.outcome import Exchange, Outcome
from serving.gateway.server import Gateway
from serving.gateway.settings import EdgeSettings, Tracing
from serving.gateway.tracing import attributes, failed, make_tracer

MakeGateway = Callable[..., Awaitable[Gateway]]
INSTALLED = importlib.util.find_spec("opentelemetry") is not None
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


def outcome(**notes: object) -> Outcome:
    return Exchange("r1", "/v1/completions", 0, **notes).outcome(1)  # type: ignore[arg-type]


def test_a_span_says_how_a_request_went_and_nothing_of_what_it_said() -> None:
    said = attributes(
        outcome(kind="ok", status=200, revision="main", tokens_in=3, tokens_out=4,
                caller=Caller("alice", "abc"), body=b"hidden", backend="http://127.0.0.1:1")
    )  # fmt: skip
    assert said == {
        "http.route": "/v1/completions", "http.response.status_code": 200, "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 4, "teapot.request_id": "r1", "teapot.outcome": "ok",
        "teapot.revision": "main", "teapot.caller": "alice", "teapot.streamed": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("notes", "is_error"),
    [({"kind": "ok", "status": 200}, False), ({"kind": "rejected", "status": 404}, False),
     ({"kind": "rejected", "status": 503}, True), ({"kind": "client_gone"}, False),
     ({"kind": "upstream_error", "status": 200}, True), ({"kind": "timeout", "status": 504}, True)],
)  # fmt: skip
def test_only_our_side_can_fail(notes: Mapping[str, object], is_error: bool) -> None:
    assert failed(outcome(**notes)) is is_error


def test_tracing_without_the_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("opentelemetry", "opentelemetry.sdk", "opentelemetry.sdk.trace", "opentelemetry.trace"):
        monkeypatch.setitem(sys.modules, name, None)  # Python's own way to say that there is none
    with pytest.raises(UsageError) as caught:
        make_tracer(Tracing("http://127.0.0.1:4318", 1.0), "demo")
    (problem,) = caught.value.problems
    assert problem.where == "gateway.tracing"
    assert "pip install 'teapot-serving[otel]'" in (problem.fix or "")


class Collector(HTTPServer):
    """Keeps what is sent to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Keep)
        self.posts: list[tuple[str, bytes]] = []


class _Keep(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.posts.append((self.path, body))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="needs the extra 'otel'")
async def test_a_trace_goes_on_from_the_client_to_the_engine_and_its_span_is_sent(
    engine: RawEngine, collector: Collector, make_gateway: MakeGateway
) -> None:
    engine.answer = fixed(OK)
    tracing = Tracing(f"http://127.0.0.1:{collector.server_port}", 1.0)
    gateway = await make_gateway(engine.url, settings=EdgeSettings(tracing=tracing))
    await ask(gateway.public_url, post("/v1/completions", b"{}", f"Traceparent: {PARENT}"))
    passed_on = engine.calls[0].header("traceparent") or ""
    assert passed_on.split("-")[1] == TRACE
    assert passed_on != PARENT
    await gateway.stop()
    ((path, body),) = collector.posts
    assert path == "/v1/traces"
    for part in (bytes.fromhex(TRACE), bytes.fromhex(passed_on.split("-")[2]), b"POST /v1/completions"):
        assert part in body


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="needs the extra 'otel'")
async def test_a_trace_that_is_not_sampled_is_passed_on_and_not_sent(
    engine: RawEngine, collector: Collector, make_gateway: MakeGateway
) -> None:
    engine.answer = fixed(OK)
    tracing = Tracing(f"http://127.0.0.1:{collector.server_port}", 1.0)
    gateway = await make_gateway(engine.url, settings=EdgeSettings(tracing=tracing))
    await ask(gateway.public_url, post("/v1/completions", b"{}", f"Traceparent: {PARENT[:-1]}0"))
    assert (engine.calls[0].header("traceparent") or "").endswith("-00")
    await gateway.stop()
    assert collector.posts == []
