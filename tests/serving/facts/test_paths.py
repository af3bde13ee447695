"""The paths that make an engine work are public ones."""

from __future__ import annotations

from serving.facts.paths import WORKING
from serving.gateway.routes import ROUTES


def test_each_is_a_route_to_an_engine_and_those_without_work_are_not_among_them() -> None:
    forwarded = {route.path for route in ROUTES if route.action == "forward"}
    assert forwarded - set(WORKING) == {"/v1/models", "/tokenize", "/detokenize"}
    assert set(WORKING) <= forwarded
