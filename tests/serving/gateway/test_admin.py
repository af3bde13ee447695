"""The admin interface: what it tells, and to whom."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest
from fakes.raw_http import RawAnswer, ask, get, post

from serving.errors import UsageError
from serving.gateway.admin import is_loopback, require_loopback
from serving.gateway.backends import Backend
from serving.gateway.server import Gateway
from serving.gateway.state import ShadowShare
from serving.modes.mode import Verdict

MakeGateway = Callable[..., Awaitable[Gateway]]


async def admin(gateway: Gateway, path: str, host: str = "127.0.0.1:8001") -> RawAnswer:
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    return await ask(gateway.admin_url, request.encode())


async def test_the_status_is_the_document_of_the_contract(gateway: Gateway) -> None:
    gateway.state.backends.remove(next(iter(gateway.state.backends)))
    gateway.add(Backend("http://127.0.0.1:9001", state="ready", in_flight=2))
    gateway.open([Verdict("prefix_cache", "on", True, "hits +48"), Verdict("quantized_kv", "fp8", None, "?")])
    answer = await admin(gateway, "/status")
    assert json.loads(answer.body) == {
        "name": "demo",
        "state": "ready",
        "prometheus": None,
        "revisions": [
            {
                "name": "main",
                "weight": 1.0,
                "backends": [
                    {"url": "http://127.0.0.1:9001", "role": "any", "state": "ready", "in_flight": 2}
                ],
            }
        ],
        "modes": [
            {"kind": "prefix_cache", "asked": "on", "in_effect": True, "evidence": "hits +48"},
            {"kind": "quantized_kv", "asked": "fp8", "in_effect": None, "evidence": "?"},
        ],
    }


async def test_metrics_are_in_prometheus_text_format(gateway: Gateway) -> None:
    answer = await admin(gateway, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert b"\nteapot_gateway_requests_in_flight 0.0\n" in answer.body


@pytest.mark.parametrize("host", ["localhost:8001", "127.0.0.1", "[::1]:8001", "127.8.9.1:1"])
async def test_loopback_names_are_answered(gateway: Gateway, host: str) -> None:
    assert (await admin(gateway, "/status", host)).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example:8001", "localhost.evil.example", "10.0.0.1", "", "[::", "a b"]
)
async def test_other_names_are_refused_because_dns_could_point_them_here(gateway: Gateway, host: str) -> None:
    answer = await admin(gateway, "/status", host)
    assert answer.status in (400, 403)
    assert b"revisions" not in answer.body


async def test_the_admin_interface_names_no_software(gateway: Gateway) -> None:
    assert (await admin(gateway, "/nowhere")).headers["server"] == "teapot"


async def test_the_public_address_has_none_of_it(gateway: Gateway) -> None:
    for path in ("/metrics", "/status"):
        assert (await ask(gateway.public_url, get(path))).status == 404


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),
        ("::", False),
        ("example.org", False),
    ],
)
def test_loopback_is_recognized(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_a_reachable_admin_address_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match="not a loopback address"):
        require_loopback("0.0.0.0")


async def put(url: str, path: str, body: bytes, method: str = "PUT") -> RawAnswer:
    request = post(path, body).replace(b"POST", method.encode(), 1).replace(b"Host: x", b"Host: 127.0.0.1")
    return await ask(url, request)


async def test_weights_are_set_all_at_once_and_shown(make_gateway: MakeGateway) -> None:
    gateway = await make_gateway("http://127.0.0.1:1")
    gateway.add(Backend("http://127.0.0.1:2", revision="new", state="ready"))
    answer = await put(gateway.admin_url, "/revisions", b'{"main": 3, "new": 1}')
    assert answer.status == 200
    shares = {row["name"]: row["weight"] for row in json.loads(answer.body)["revisions"]}
    assert shares == {"main": 0.75, "new": 0.25}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"mian": 1}', "there is no revision 'mian'; there are main"),
        (b'{"main": -1}', "the weight of 'main' is -1.0; give a number from 0 on"),
        (b'{"main": "all"}', "the weight of 'main' is 'all'; give a number from 0 on"),
        (b'{"main": 0}', "all weights are 0; give one revision a share"),
        (b'{"main": Infinity}', "the weight of 'main' is inf; give a number from 0 on"),
        (b"[]", "the body is not a JSON object"),
    ],
)
async def test_weights_that_make_no_sense_change_nothing(
    make_gateway: MakeGateway, body: bytes, said: str
) -> None:
    gateway = await make_gateway("http://127.0.0.1:1")
    answer = await put(gateway.admin_url, "/revisions", body)
    assert (answer.status, json.loads(answer.body)["error"]["message"]) == (400, said)
    assert [revision.weight for revision in gateway.state.backends.revisions()] == [1.0]


async def test_shadow_traffic_is_switched_on_and_off(make_gateway: MakeGateway) -> None:
    gateway = await make_gateway("http://127.0.0.1:1")
    on = await put(gateway.admin_url, "/shadow", b'{"revision": "main", "ratio": 0.5}', "POST")
    assert on.status == 200
    assert gateway.state.shadow == ShadowShare("main", 0.5)
    await put(gateway.admin_url, "/shadow", b'{"revision": "main", "ratio": 0}', "POST")
    assert gateway.state.shadow is None
    unknown = await put(gateway.admin_url, "/shadow", b'{"revision": "x", "ratio": 1}', "POST")
    assert unknown.status == 400


async def test_what_a_rollouts_controller_says_is_shown_until_it_takes_it_back(
    make_gateway: MakeGateway,
) -> None:
    gateway = await make_gateway("http://127.0.0.1:1")
    document = {"revision": "new", "baseline": "main", "strategy": "canary", "state": "baking"}
    told = await put(gateway.admin_url, "/rollout", json.dumps(document).encode())
    assert json.loads(told.body)["rollout"] == document
    assert "rollout" not in json.loads((await put(gateway.admin_url, "/rollout", b"{}")).body)
    for wrong in (b"[]", b'{"state": "baking"}', json.dumps(document | {"step": "1"}).encode()):
        assert (await put(gateway.admin_url, "/rollout", wrong)).status == 400
