"""The admin interface: what it tells, and to whom."""

from __future__ import annotations

import json

import pytest
from fakes.raw_http import RawAnswer, ask, get

from serving.errors import UsageError
from serving.gateway.admin import is_loopback, require_loopback
from serving.gateway.backends import Backend
from serving.gateway.server import Gateway
from serving.modes.mode import Verdict


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
