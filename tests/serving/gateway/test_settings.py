"""From the file's section to the edge's settings."""

from __future__ import annotations

from pathlib import Path

from serving.config.load import parse, validate
from serving.config.schema import Deployment, GatewaySection, TlsSection, TracingSection
from serving.gateway.objectives import Objectives
from serving.gateway.settings import Tracing, edge_settings, gateway_limits, objectives


def test_files_are_found_beside_the_deployment_file() -> None:
    section = GatewaySection(keys_file="keys.yaml", tls=TlsSection(cert="a.pem", key="/etc/b.pem"))
    settings = edge_settings(section, Path("/here"))
    assert settings.keys_file == Path("/here/keys.yaml")
    assert settings.tls is not None
    assert (settings.tls.cert, settings.tls.key) == (Path("/here/a.pem"), Path("/etc/b.pem"))


def test_every_value_is_carried_over() -> None:
    section = GatewaySection(
        max_in_flight=3, queue=4, queue_timeout="5s", aliases={"a": "b"}, cors_origins=("https://x",),
        access_log=True, grace="6s", workers=2, max_body="7B",
        tracing=TracingSection(endpoint="http://c:4318", ratio=0.5),
    )  # fmt: skip
    settings = edge_settings(section, Path())
    assert (settings.max_in_flight, settings.queue, settings.queue_timeout_s) == (3, 4, 5.0)
    assert (settings.aliases, settings.cors_origins) == ({"a": "b"}, frozenset({"https://x"}))
    assert (settings.access_log, settings.grace_s, settings.workers) == (True, 6.0, 2)
    assert settings.tracing == Tracing("http://c:4318", 0.5)
    assert gateway_limits(section).max_body_bytes == 7


def test_the_objectives_are_the_files() -> None:
    text = "name: demo\nslo: {ttft: 500ms, e2e: 30s, target: 0.9, availability: 0.999}"
    assert objectives(validate(parse(text, "demo.yaml"), Deployment)) == Objectives(
        ttft_s=0.5, e2e_s=30.0, latency_target_ratio=0.9, availability_target_ratio=0.999
    )


def test_without_a_section_nothing_is_promised_of_speed() -> None:
    assert objectives(validate(parse("name: demo", "demo.yaml"), Deployment)) == Objectives()
