"""From the deployment file to the settings of routing."""

from __future__ import annotations

from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.connectors.nixl import Nixl
from serving.gateway.routing_settings import RoutingSettings, routing_settings

FILE = """
name: demo
modes:
  - {kind: disaggregated, prefill: 1, decode: 1, connector: {kind: nixl}}
gateway:
  routing: {policy: prefix_affinity, sticky: session, slow_start: 3s, attempts: 2, retry_ratio: 0.5,
            rest: 500ms, prefill_from_tokens: 7, prefill_timeout: 9s, on_prefill_failure: error}
slo: {ttft: 500ms, e2e: 30s}
"""


def deployment(text: str) -> Deployment:
    return validate(parse(text, "demo.yaml"), Deployment)


def test_every_key_of_the_file_is_used() -> None:
    assert routing_settings(deployment(FILE)) == RoutingSettings(
        policy="prefix_affinity", sticky="session", slow_start_s=3, attempts=2, retry_ratio=0.5, rest_s=0.5,
        prefill_from_tokens=7, prefill_s=9, on_prefill_failure="error", legs=Nixl.legs,
    )  # fmt: skip


def test_the_files_defaults_are_the_codes_and_nothing_is_divided_without_the_mode() -> None:
    assert routing_settings(deployment("name: demo")) == RoutingSettings(legs=None)
