from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.studies import CHAT, FP8, GIB, machine, study

from deploy.study.rows import Arm

NGRAM = {"kind": "speculative", "method": "ngram", "tokens": 4, "prompt_lookup_max": 4}
DRAFT = {"kind": "speculative", "method": "draft_model", "model": "smollm2-135m", "tokens": 3}


def judged(folder: Path, fragment: dict[str, Any], **changes: Any) -> Arm:
    one = study(folder, arms={"it": fragment}, **changes)
    return machine(folder).arm(one.arms[0], one.workloads)


@pytest.mark.parametrize(
    ("fragment", "reason"),
    [
        ({"modes": [{"kind": "parallel", "tensor": 2}]}, "9 attention heads cannot be shared by 2"),
        (
            {"modes": [{"kind": "quantized_kv", "format": "int4_per_token_head"}]},
            "not really supported on cpu",
        ),
        ({"modes": [{"kind": "quantized_weights", "format": "fp8"}]}, "no kernel on cpu"),
        ({"engine": {"kv_cache_memory": "64GiB"}}, "do not fit"),
        ({"engine": {"version": "0.1.0"}}, "0.1.0"),
        ({"replicas": 3}, "there are 2"),
    ],
)
def test_what_cannot_run_here_is_ruled_out_with_the_reason(tmp_path, fragment, reason):
    assert reason in (judged(tmp_path, fragment).ruled_out or "")


def test_what_the_planner_cannot_place_is_ruled_out_with_what_would_fit(tmp_path):
    found = judged(tmp_path, {"engine": {"kv_cache_memory": "16MiB"}})
    assert "the model does not fit" in (found.ruled_out or "")
    assert "what would fit" in (found.ruled_out or "")


def test_an_arm_that_can_run_has_the_planners_figures(tmp_path):
    """SmolLM2 (30 layers, 3 KV heads of 64): 23,040 bytes a token in 16 bits, so 93,184 tokens in 2 GiB and
    186,368 in 8 bits, as engines told (facts of vLLM 0.32.0 on CPU)."""
    plain, fp8 = judged(tmp_path, {}), judged(tmp_path, FP8)
    assert plain.ruled_out is None
    assert plain.planned.kv_cache_tokens == 93_184
    assert plain.planned.kv_bytes_per_token == 23_040
    assert fp8.planned.kv_cache_tokens == 186_368
    assert plain.planned.weight_bytes == pytest.approx(269_060_552, rel=0.001)


def test_floors_are_of_closed_loops_whose_lengths_are_told(tmp_path):
    open_loop = {**CHAT, "arrival": {"process": "poisson", "rate": "1/s", "duration": "9s"}}
    found = judged(tmp_path, {}, workloads={"closed": CHAT, "open": open_loop})
    assert set(found.planned.floors) <= {"closed"}


def test_speculation_has_the_floor_of_a_step_that_checks_and_that_of_its_draft(tmp_path):
    ngram, draft = judged(tmp_path, {"modes": [NGRAM]}), judged(tmp_path, {"modes": [DRAFT]})
    assert (ngram.drafted_tokens, draft.drafted_tokens) == (4, 3)
    for arm, drafts in ((ngram, False), (draft, True)):
        for floors in arm.planned.floors.values():
            assert floors.checked_s is not None
            assert floors.checked_s >= floors.decode_s
            assert bool(floors.draft_s) == drafts


def test_a_draft_as_large_as_the_model_takes_half_of_the_cache_and_as_many_weights_again(tmp_path):
    planned = judged(tmp_path, {"modes": [DRAFT]}).planned
    assert planned.kv_cache_tokens == 46_592
    assert planned.kv_bytes_per_token == 2 * 23_040
    assert planned.weight_bytes == pytest.approx(2 * 269_060_552, rel=0.001)


def test_a_draft_that_is_looked_up_has_no_weights_and_no_cache(tmp_path):
    planned = judged(tmp_path, {"modes": [NGRAM]}).planned
    assert planned.kv_bytes_per_token == 23_040
    assert planned.weight_bytes == pytest.approx(269_060_552, rel=0.001)


@pytest.mark.parametrize(
    "copies", [{"replicas": 2}, {"modes": [{"kind": "disaggregated", "connector": {"kind": "nixl"}}]}]
)
def test_two_engines_are_planned_together(tmp_path, copies):
    """Each has 2 GiB for its cache, weights of its own, and its share of the users in a step."""
    both = judged(tmp_path, copies)
    assert both.ruled_out is None
    assert both.planned.kv_cache_tokens == 2 * 93_184
    assert both.planned.weight_bytes == pytest.approx(2 * 269_060_552, rel=0.001)
    assert both.planned.kv_bytes_per_token == 23_040


def test_engines_share_the_users_and_one_that_only_prefills_has_none(tmp_path):
    two, four = ({**CHAT, "arrival": {**CHAT["arrival"], "concurrency": users}} for users in (2, 4))
    loads = {"two": two, "four": four}
    copies = judged(tmp_path, {"replicas": 2}, workloads=loads).planned.floors
    pair = {"modes": [{"kind": "disaggregated", "connector": {"kind": "nixl"}}]}
    apart = judged(tmp_path, pair, workloads=loads).planned.floors
    assert [copies[name].batch for name in loads] == [apart[name].batch for name in loads] == [2, 4]
    assert copies["four"].decode_s == apart["two"].decode_s < apart["four"].decode_s


def test_a_model_that_is_not_here_is_not_planned_and_not_ruled_out(tmp_path):
    found = judged(tmp_path, {"model": "some-organisation/some-model"})
    assert found.ruled_out is None
    assert found.planned.notes
    assert found.planned.kv_cache_tokens is None


def test_nothing_is_installed_or_made_by_judging(tmp_path):
    judged(tmp_path, {})
    assert not (tmp_path / "home").exists()
    assert GIB
