"""What a deployment file adds, on a device of round rates."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.diagnosed import options

from deploy.diagnose.evidence import Evidence
from deploy.diagnose.question import Question, device, read_question
from serving.errors import UsageError
from serving.facts.load import gpus

FILE = """\
name: demo
model: smollm2-135m
engine: {device: cpu, max_model_len: 2048, max_num_seqs: 4, kv_cache_memory: 460MiB}
slo: {ttft: 200ms, tpot: 50ms}
"""
SEEN = Evidence(
    source="e", seconds=60, requests=120, busy_ratio=1.0, decode_s=2.0, tpot_s=0.1, prompt_tokens=12_000,
    output_tokens=12_000,
)  # fmt: skip


def asked(folder: Path, text: str = FILE, **given: object) -> Question:
    path = folder / "demo.yaml"
    path.write_text(text)
    return read_question(str(path), options(**({"bandwidth": 10.0, "flops": 1.0} | given)))


def test_the_file_adds_seats_objectives_rates_and_the_floor_of_a_step(tmp_path: Path) -> None:
    told = asked(tmp_path).evidence(SEEN)
    assert (told.max_num_seqs, told.ttft_slo_s, told.tpot_slo_s) == (4, 0.2, 0.05)
    assert told.device is not None
    assert (told.device.bandwidth_bytes_per_s, told.device.flops, told.device.assumed) == (10e9, 1e12, False)
    assert told.step_floor is not None
    assert told.bandwidth_ratio == pytest.approx(told.step_floor.memory_s / 0.1)


def test_seats_that_nobody_set_are_vllms_own(tmp_path: Path) -> None:
    told = asked(tmp_path, FILE.replace("max_num_seqs: 4, ", "")).evidence(SEEN)
    assert told.max_num_seqs == 128  # vllm 0.32.0 on CPU, one rank


def test_a_change_is_planned_as_a_whole(tmp_path: Path) -> None:
    question = asked(tmp_path)
    assert question.plan is not None
    smaller = question.replan({"modes": [{"kind": "quantized_kv", "format": "fp8"}]})
    # 460 MiB by 128 tokens of 23,040 bytes, and of half of that.
    assert (question.plan.capacity.blocks, smaller.capacity.blocks) == (163, 327)


@pytest.mark.parametrize(
    "spelling", ["enforce_eager: true", "--enforce-eager: true", "no-enforce-eager: true"]
)
def test_an_argument_is_changed_however_the_file_spells_it(tmp_path: Path, spelling: str) -> None:
    text = FILE.replace("460MiB}", f"460MiB, args: {{{spelling}}}}}")
    question = asked(tmp_path, text)
    assert question.replan({"engine": {"args": {"enforce-eager": False}}}).ask.graphs


def test_levers_see_the_arguments_and_the_gateway_of_the_file(tmp_path: Path) -> None:
    text = FILE.replace("460MiB}", "460MiB, args: {no_async_scheduling: true}}") + "gateway: {workers: 2}\n"
    seen = asked(tmp_path, text).seen(SEEN, None)
    assert (seen.flags, seen.gateway_workers) == (frozenset({"--no-async-scheduling"}), 2)


def test_a_change_that_cannot_be_is_refused_by_the_planner(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="heads"):
        asked(tmp_path).replan({"modes": [{"kind": "parallel", "tensor": 2, "pipeline": 1, "data": 1}]})


def test_a_change_that_the_table_of_modes_rules_out_is_refused_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        asked(tmp_path).replan({"modes": [{"kind": "quantized_weights", "format": "fp8"}]})
    assert caught.value.problems[0].what.startswith("weight format fp8 has no kernel on cpu")


def test_of_another_machines_device_only_the_planner_is_asked(tmp_path: Path) -> None:
    text = "name: demo\nmodel: smollm2-135m\nengine: {device: cuda}\n"
    question = asked(tmp_path, text, gpu="l40s", bandwidth=None, flops=None)
    assert question.replan({"modes": [{"kind": "quantized_kv", "format": "fp8"}]}).fits


def test_a_model_that_is_not_here_leaves_seats_and_objectives(tmp_path: Path) -> None:
    question = asked(tmp_path, FILE.replace("smollm2-135m", "someone/else"))
    assert question.planned({}) is None
    assert "'someone/else' is not a folder on this machine" in (question.no_plan or "")
    told = question.evidence(SEEN)
    assert (told.max_num_seqs, told.device) == (4, None)


def test_levers_see_the_mode_that_drafts(tmp_path: Path) -> None:
    mode = "{kind: speculative, method: ngram, tokens: 3, prompt_lookup_max: 4}"
    seen = asked(tmp_path, f"{FILE}modes: [{mode}]\n").seen(SEEN, None)
    assert seen.speculative == {"kind": "speculative", "method": "ngram", "tokens": 3, "prompt_lookup_max": 4}


def test_published_rates_are_not_assumed_ones() -> None:
    found = device(gpus()["h100-sxm"])
    assert (found.bandwidth_bytes_per_s, found.flops, found.assumed) == (3350e9, 989e12, False)
