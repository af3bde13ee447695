"""The values of production-stack's chart: against its own schema, and what the chart does with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from fakes.clusters import TOP, flag, rendered, schema_file

from deploy.render.target import Choices

KEPT = TOP / "tests/golden/render/chat/production-stack/values.yaml"


def values(tmp_path: Path, text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(
        rendered(tmp_path, "production-stack", text)["production-stack/values.yaml"]
    )
    return found


def model(tmp_path: Path, text: str) -> dict[str, Any]:
    [found] = values(tmp_path, text)["servingEngineSpec"]["modelSpec"]
    inner: dict[str, Any] = found
    return inner


def closed(schema: Any) -> Any:
    """The chart's schema lets unknown keys pass, which Helm then ignores; here they are errors."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        found["additionalProperties"] = False
    return found


def problems(document: dict[str, Any]) -> Iterator[str]:
    schema = closed(json.loads(schema_file("production-stack.values.schema.json").read_text()))
    return (error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document))


def test_the_values_meet_the_charts_own_schema_with_no_unknown_key() -> None:
    assert list(problems(yaml.safe_load(KEPT.read_text()))) == []


def test_the_schema_would_notice_a_wrong_key() -> None:
    document = yaml.safe_load(KEPT.read_text())
    document["servingEngineSpec"]["modelSpec"][0]["vllmConfig"]["maxModelLength"] = 1
    assert any("maxModelLength" in problem for problem in problems(document))


@pytest.mark.parametrize(
    ("modes", "on"), [("", True), ("modes: [{kind: prefix_cache, enabled: false}]\n", False)]
)
def test_prefix_caching_is_always_said_for_the_chart_switches_it_off_otherwise(
    tmp_path: Path, modes: str, on: bool
) -> None:
    assert model(tmp_path, f"name: d\nmodel: a/b\n{modes}")["vllmConfig"]["enablePrefixCaching"] is on


def test_flags_are_in_the_charts_keys_or_in_words_and_never_in_both(tmp_path: Path) -> None:
    modes = "modes: [{kind: parallel, tensor: 2, pipeline: 2}]\n"
    text = f"name: d\nmodel: a/b\nengine: {{max_model_len: 512}}\n{modes}"
    config = model(tmp_path, text)["vllmConfig"]
    assert (config["maxModelLen"], config["tensorParallelSize"]) == (512, 2)
    assert flag(config["extraArgs"], "--pipeline-parallel-size") == "2"
    given = {
        "--model",
        "--host",
        "--port",
        "--max-model-len",
        "--tensor-parallel-size",
        "--enable-prefix-caching",
    }
    assert not given & set(config["extraArgs"])


@pytest.mark.slow
def test_engines_end_within_the_thirty_seconds_that_the_chart_gives_them(tmp_path: Path) -> None:
    text = "name: d\nmodel: a/b\ngateway: {drain_timeout: 90s}\n"
    assert int(flag(model(tmp_path, text)["vllmConfig"]["extraArgs"], "--shutdown-timeout")) < 30
    assert "answers get 20 s and not 90 s" in " ".join(
        line.strip("# ")
        for line in rendered(tmp_path, "production-stack", text)["production-stack/values.yaml"].splitlines()
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "logic", "said"),
    [
        ("least_in_flight", "roundrobin", True),
        ("round_robin", "roundrobin", False),
        ("prefix_affinity", "prefixaware", False),
        ("session_affinity", "session", False),
    ],
)
def test_routing_is_the_routers_nearest_and_what_it_has_not_is_said(
    tmp_path: Path, policy: str, logic: str, said: bool
) -> None:
    text = f"name: d\nmodel: a/b\ngateway: {{routing: {{policy: {policy}}}}}\n"
    assert values(tmp_path, text)["routerSpec"]["routingLogic"] == logic
    file = rendered(tmp_path, "production-stack", text)["production-stack/values.yaml"]
    assert ("the router has none like it" in file) is said


def test_the_routers_address_is_known_by_the_release(tmp_path: Path) -> None:
    text = "name: d\nmodel: a/b\n"
    files = rendered(tmp_path, "production-stack", text, Choices(gateway="edge"))
    assert "http://d-router-service/v1" in files["production-stack/gateway.yaml"]
