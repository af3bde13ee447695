"""The shipped deployments have no problem that keeps them from starting where they are meant to run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.problem_cases import BOX, GPUS, QWEN_SMALL, SMOLLM2

from serving.config.flags import engine_context
from serving.config.load import load_deployment
from serving.modes.mode import Device, MachineFacts
from serving.modes.problems import all_problems

FOLDER = Path(__file__).parents[3] / "deploy" / "configs"
PRESETS = sorted(file.stem for file in FOLDER.glob("*.yaml"))
MODELS = {"smollm2-135m": SMOLLM2, "Qwen/Qwen3-0.6B": QWEN_SMALL}
PLACES: dict[Device, tuple[str, MachineFacts]] = {"cpu": ("0.32.0", BOX), "cuda": ("0.33.0", GPUS)}
WARNED = {
    "demo": {"kv_without_scales"},
    "fp8-kv": {"kv_without_scales"},
    "everything-on": {"kv_without_scales"},
    "speculative-draft": {"draft_as_large_as_the_model"},
}


def test_every_preset_of_the_issue_is_shipped() -> None:
    assert set(PRESETS) >= {
        "plain",
        "prefix-cache",
        "fp8-weights",
        "fp8-kv",
        "speculative-ngram",
        "speculative-draft",
        "tensor-parallel",
        "disaggregated",
        "everything-on",
    }


@pytest.mark.parametrize("device", PLACES)
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_no_more_than_its_warning(name: str, device: Device) -> None:
    deployment, _ = load_deployment(FOLDER / f"{name}.yaml")
    version, machine = PLACES[device]
    model = MODELS[deployment.model]
    context = engine_context(deployment, device=device, version=version, model=model, machine=machine)
    if name == "speculative-draft":
        context = replace(context, draft=model)
    found = all_problems(deployment.modes, context)
    assert {finding.severity for finding in found} <= {"warning"}
    assert len(found) == len(WARNED.get(name, ()))


def test_everything_on_is_all_that_one_engine_can_be() -> None:
    deployment, _ = load_deployment(FOLDER / "everything-on.yaml")
    assert [mode.kind for mode in deployment.modes] == [
        "prefix_cache",
        "chunked_prefill",
        "quantized_weights",
        "quantized_kv",
        "speculative",
    ]
