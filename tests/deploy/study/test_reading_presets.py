"""Every preset is read, designed and estimated as `--dry-run` does it, on a machine of two cores."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.studies import machine

import deploy
from deploy.study.estimate import Costs
from deploy.study.making import make_design
from deploy.study.reading import read_study

FOLDER = Path(deploy.__file__).parent / "studies"
PRESETS = sorted(path.name for path in FOLDER.glob("*.yaml"))
RULED_OUT = {
    "quick.yaml": {"tensor-2"},
    "kv-precision.yaml": {"int4", "turboquant-4"},
    "weights.yaml": {"fp8", "int8"},
}
"""On CPU, by the modes' table; shown with the reason."""


def test_the_presets_are_those_that_the_docs_tell_of():
    wanted = "batching disaggregation kv-precision prefix quick speculation stack weights"
    assert [f"{name}.yaml" for name in wanted.split()] == PRESETS


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_run_here_but_for_the_arms_that_need_a_gpu(tmp_path, name):
    design = make_design(read_study(FOLDER / name), machine(tmp_path), Costs()).design
    assert {arm.name for arm in design.arms if not arm.runs} == RULED_OUT.get(name, set())
    assert design.control == design.arms[0].name
    assert {cell.arm for cell in design.cells} == {arm.name for arm in design.arms if arm.runs}
    assert design.estimate.total_s < 30 * 60


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_read_for_another_model_too(tmp_path, name):
    study = read_study(FOLDER / name, ["set.model=some-organisation/some-model"])
    assert {arm.deployment.model for arm in study.arms} == {"some-organisation/some-model"}


def test_speculation_is_measured_off_and_with_up_to_eight_tokens_a_step(tmp_path):
    design = make_design(read_study(FOLDER / "speculation.yaml"), machine(tmp_path), Costs()).design
    drafted = {arm.name: arm.drafted_tokens for arm in design.arms}
    assert drafted["off"] == 0
    assert {drafted[name] for name in drafted if name.startswith("draft")} == {1, 2, 4, 8}


def test_the_stack_stands_arm_upon_arm(tmp_path):
    arms = read_study(FOLDER / "stack.yaml").arms
    assert [arm.on for arm in arms] == [None, *(arm.name for arm in arms[:-1])]
    assert [len(arm.deployment.modes) for arm in arms] == [1, 1, 2, 3, 4]
