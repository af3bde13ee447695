from __future__ import annotations

import pytest
from fakes.studies import made

from serving.errors import UsageError

TENSOR = {"modes": [{"kind": "parallel", "tensor": 2}]}


def test_what_cannot_run_is_in_the_design_and_in_no_start(tmp_path):
    design = made(tmp_path, arms={"plain": {}, "tensor": TENSOR})[1].design
    assert [arm.name for arm in design.arms] == ["plain", "tensor"]
    assert {start.arm for start in design.starts} == {"plain"}


def test_a_control_that_cannot_run_refuses_the_study(tmp_path):
    with pytest.raises(UsageError, match=r"the control arm 'tensor' cannot run: .*9 attention heads"):
        made(tmp_path, arms={"tensor": TENSOR, "plain": {}})


def test_a_study_that_cannot_fit_its_budget_is_refused_with_what_would(tmp_path):
    with pytest.raises(UsageError) as caught:
        made(tmp_path, budget="2min")
    said = str(caught.value)
    assert said.startswith("two.yaml:1: budget: the study takes about")
    assert "its budget is 2 min; " in said
    assert caught.value.exit_code == 2


def test_a_budget_that_holds_is_kept_in_the_design(tmp_path):
    assert made(tmp_path, budget="1h")[1].design.budget_s == 3600.0


def test_a_design_says_of_what_and_where_it_is(tmp_path):
    design = made(tmp_path)[1].design
    assert set(design.versions) == {"teapot", "locust", "vllm", "python"}
    assert (design.machine["cores"], design.machine["device"]) == (2, "cpu")
    assert design.workloads["chat"]["arrival"]["requests"] == 8
