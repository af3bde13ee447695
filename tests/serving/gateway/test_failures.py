"""What failures mean to clients."""

from __future__ import annotations

import pytest

from serving.gateway.failures import ErrorAnswer, prefill_failed, timed_out, upstream_failed
from serving.gateway.limits import GatewayLimits
from serving.gateway.upstream.answer import Broke, CannotConnect, NotHttp, UpstreamFailed

LIMITS = GatewayLimits()


@pytest.mark.parametrize(
    ("status", "body", "elsewhere"),
    [
        (503, b"", True),
        (500, b'{"error":"cannot schedule new futures after shutdown"}', True),
        (500, b"CUDA error", False),
        (429, b"", False),
        (400, b"cannot schedule new futures after shutdown", False),
    ],
)
def test_only_who_had_no_place_sends_a_request_elsewhere(status: int, body: bytes, elsewhere: bool) -> None:
    assert ErrorAnswer(status, {}, body).elsewhere is elsewhere


@pytest.mark.parametrize(
    ("said", "rest_s"), [("7", 7), ("100000", 60), ("Wed, 21 Oct 2026 07:28:00 GMT", 1), ("-1", 1), ("", 1)]
)
def test_an_engine_rests_as_long_as_it_says_within_reason(said: str, rest_s: float) -> None:
    assert ErrorAnswer(503, {"retry-after": said}, b"").rest_s(1) == rest_s


@pytest.mark.parametrize(
    ("error", "begun", "status", "code"),
    [
        (CannotConnect("x"), False, 503, "engine_unreachable"),
        (CannotConnect("x", timed_out=True), False, 503, "engine_unreachable"),
        (NotHttp("x"), False, 502, "bad_upstream_answer"),
        (Broke("x"), True, 502, "bad_upstream_answer"),
    ],
)
def test_each_failure_has_its_status_and_code(
    error: UpstreamFailed, begun: bool, status: int, code: str
) -> None:
    refused = upstream_failed(error, LIMITS, begun=begun)
    assert (refused.status, refused.code) == (status, code)


def test_a_shutdown_and_a_failed_prefill_say_when_to_come_back() -> None:
    assert timed_out(None, LIMITS).code == "shutting_down"
    assert prefill_failed(LIMITS).headers == {"Retry-After": "2"}
