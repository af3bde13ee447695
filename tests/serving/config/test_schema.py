"""The schema, its reference page, and the files that are shipped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from serving.config.load import load_deployment, parse, validate
from serving.config.rollout import GatesSection, InconclusiveSection, RolloutSection, StepSection
from serving.config.schema import (
    Deployment,
    EngineSection,
    GatewaySection,
    GrafanaSection,
    PrometheusSection,
    PromisedSection,
    RevisionSection,
    RoutingSection,
    SloSection,
    TimeoutsSection,
    TlsSection,
    TracingSection,
)
from serving.config.units import parse_duration, parse_size
from serving.errors import UsageError
from serving.modes import MODES
from serving.modes.parallel import Parallel
from serving.modes.speculative import Speculative

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "deployment-file.md").read_text(encoding="utf-8")
SHIPPED = sorted((ROOT / "deploy" / "configs").glob("*.yaml"))
MODELS: list[type[BaseModel]] = [
    Deployment, EngineSection, GatewaySection, GrafanaSection, PrometheusSection, RevisionSection,
    RoutingSection, PromisedSection, SloSection, TimeoutsSection, TlsSection, TracingSection, *MODES,
    RolloutSection, StepSection, InconclusiveSection, GatesSection,
]  # fmt: skip


def keys() -> list[str]:
    return sorted({key for model in MODELS for key in model.model_fields})


@pytest.mark.parametrize("key", keys())
def test_every_key_is_on_the_page(key: str) -> None:
    assert f"`{key}`" in PAGE


@pytest.mark.parametrize("kind", [mode.model_fields["kind"].default for mode in MODES])
def test_every_kind_of_mode_is_on_the_page(kind: str) -> None:
    assert f"| `{kind}` |" in PAGE


@pytest.mark.parametrize("example", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_every_example_on_the_page_is_read(example: str) -> None:
    assert validate(parse(example, "page.yaml"), Deployment).name


def defaults_in(text: str) -> dict[str, str]:
    return dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", text, re.MULTILINE))


def test_the_defaults_of_prometheus_on_the_page_are_the_codes() -> None:
    rows, section = defaults_in(PAGE.partition("## `prometheus`")[2]), PrometheusSection()
    assert (rows["enabled"], int(rows["port"])) == (section.enabled, section.port)
    assert parse_duration(rows["retention_time"]) == section.retention_time
    assert parse_size(rows["retention_size"]) == section.retention_size


def test_the_default_of_grafana_on_the_page_is_the_codes() -> None:
    rows = defaults_in(PAGE.partition("## `grafana`")[2])
    assert rows["token_env"] == GrafanaSection(url="http://h").token_env


@pytest.mark.parametrize("url", ["grafana:3000", "http://admin:s3cret@h:3000", "http://h/?orgId=2"])
def test_an_address_of_a_grafana_that_is_none_is_told_without_it(url: str) -> None:
    with pytest.raises(
        UsageError, match=r"x.yaml:2: grafana.url: is no address of a Grafana; write it"
    ) as told:
        validate(parse(f"name: x\ngrafana: {{url: '{url}'}}\n", "x.yaml"), Deployment)
    assert "s3cret" not in str(told.value)


def test_the_defaults_on_the_page_are_the_codes() -> None:
    rows = defaults_in(PAGE.partition("## `prometheus`")[0])
    engine, gateway = EngineSection(), GatewaySection()
    assert rows["model"] == Deployment(name="x").model
    assert (rows["device"], rows["version"]) == (engine.device, engine.version)
    assert parse_duration(rows["start_timeout"]) == engine.start_timeout
    assert parse_duration(rows["drain_timeout"]) == gateway.drain_timeout
    assert parse_size(rows["max_body"]) == gateway.max_body
    assert (rows["host"], rows["admin_host"]) == (gateway.host, gateway.admin_host)
    assert (int(rows["port"]), int(rows["admin_port"])) == (gateway.port, gateway.admin_port)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_every_shipped_deployment_is_read_and_named_like_its_file(file: Path) -> None:
    deployment, _ = load_deployment(file)
    assert deployment.name == file.stem


def test_the_demo_is_the_embedded_model_with_both_modes() -> None:
    deployment, _ = load_deployment(ROOT / "deploy" / "configs" / "demo.yaml")
    assert (deployment.model, deployment.engine.max_model_len) == ("smollm2-135m", 2048)
    assert [mode.asked() for mode in deployment.modes] == ["on", "fp8"]


def test_a_mode_is_found_by_its_kind_with_its_place_in_the_file() -> None:
    modes = "modes: [{kind: prefix_cache, enabled: true}, {kind: parallel, tensor: 2}]\n"
    deployment = validate(parse(f"name: d\n{modes}", "d.yaml"), Deployment)
    found = deployment.mode(Parallel)
    assert found is not None
    assert found.tensor == 2
    assert deployment.placed_mode(Parallel) == (1, found)
    assert deployment.mode(Speculative) is None
    assert deployment.placed_mode(Speculative) is None
