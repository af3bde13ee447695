from __future__ import annotations

from serving.gateway.backends import Backend
from serving.gateway.routing import choose


def test_the_least_busy_ready_backend_is_chosen() -> None:
    backends = [
        Backend("busy", state="ready", in_flight=3),
        Backend("free", state="ready", in_flight=1),
        Backend("idle but down", state="down"),
        Backend("idle but starting", state="starting"),
        Backend("idle but draining", state="draining"),
    ]
    chosen = choose(backends)
    assert chosen is not None
    assert chosen.url == "free"


def test_the_first_of_equals_is_chosen() -> None:
    backends = [Backend(name, state="ready") for name in ("a", "b")]
    assert choose(backends) is backends[0]


def test_without_a_ready_backend_there_is_none() -> None:
    assert choose([Backend("a", state="starting")]) is None
    assert choose([]) is None
