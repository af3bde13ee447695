"""Which rule speaks, on evidence where the answer is known by how it was made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy.diagnose.evidence import Device, Evidence, StepFloor
from deploy.diagnose.rules import RULES, Bound, look, too_little

# An engine with enough to say something, in which nothing is wrong: 4 of 32 seats, all means seen.
CALM = Evidence(
    source="engine", seconds=60, requests=200, running_mean=4, running_max=6, waiting_mean=0,
    waiting_max=0, kv_usage_max_ratio=0.2, preemptions=0, queue_s=0.001, prefill_s=0.1, decode_s=0.9,
    ttft_s=0.11, tpot_s=0.02, e2e_s=1.0, max_num_seqs=32, computed_prompt_tokens=1000, output_tokens=1000,
    step_tokens=8.0,
)  # fmt: skip
DEVICE = Device(bandwidth_bytes_per_s=1e12, flops=1e14, source="a device by hand")


def first(evidence: Evidence) -> tuple[str, Bound]:
    findings, _ = look(evidence)
    return findings[0].rule, findings[0].bound


KNOWN: dict[str, tuple[Evidence, str, Bound]] = {
    "preempted": (replace(CALM, preemptions=5), "preemptions", Bound.KV_CAPACITY),
    "kv full": (
        replace(CALM, kv_usage_max_ratio=0.99, waiting_max=3, running_max=32, waiting_mean=2),
        "kv-full", Bound.KV_CAPACITY,
    ),
    "all seats taken": (
        replace(CALM, running_max=32, waiting_mean=8, queue_s=2.0, kv_usage_max_ratio=0.3),
        "seats", Bound.SEATS,
    ),
    "all seats taken by prompts that are computed": (
        replace(CALM, running_max=32, waiting_mean=8, queue_s=2.0, step_tokens=2000.0),
        "prompts", Bound.PREFILL,
    ),
    "answers among long prompts": (replace(CALM, step_tokens=700.0), "prompts", Bound.PREFILL),
    "clients wait where the engine does not": (
        replace(CALM, running_mean=0.5, client_ttft_s=0.9), "front", Bound.FRONT,
    ),
    "queueing without full seats": (
        replace(CALM, queue_s=2.0, prefill_s=0.5, decode_s=1.0), "queue", Bound.QUEUE,
    ),
    "long prompts": (replace(CALM, prefill_s=0.9, decode_s=0.5), "prefill", Bound.PREFILL),
    "late first tokens by prefill, decode larger": (
        replace(CALM, prefill_s=0.3, ttft_s=0.31, ttft_slo_s=0.2), "prefill", Bound.PREFILL,
    ),
    "long answers": (CALM, "decode", Bound.DECODE),
    "little to do": (replace(CALM, running_mean=0.2), "low-traffic", Bound.TRAFFIC),
    "little to do on average, but some waited": (
        replace(CALM, running_mean=0.2, waiting_max=4), "decode", Bound.DECODE,
    ),
    "little to do, but too slow": (
        replace(CALM, running_mean=0.2, tpot_slo_s=0.01), "decode", Bound.DECODE,
    ),
    "neither bytes nor operations": (
        replace(CALM, read_bytes_per_s=5e10, flops_per_s=1e12, device=DEVICE), "host", Bound.HOST,
    ),
    "neither, of rates that are assumed": (
        replace(CALM, read_bytes_per_s=5e10, flops_per_s=1e12, device=replace(DEVICE, assumed=True)),
        "decode", Bound.DECODE,
    ),
    "neither, by the planner's floors": (
        replace(CALM, step_floor=StepFloor(memory_s=0.002, compute_s=0.0001), device=DEVICE),
        "host", Bound.HOST,
    ),
    "operations": (
        replace(CALM, read_bytes_per_s=3e11, flops_per_s=6e13, device=DEVICE), "compute", Bound.COMPUTE,
    ),
    "bytes": (replace(CALM, read_bytes_per_s=7e11, flops_per_s=1e13, device=DEVICE), "decode", Bound.DECODE),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_case_is_named(name: str) -> None:
    evidence, rule, bound = KNOWN[name]
    assert first(evidence) == (rule, bound)


def test_every_rule_has_a_known_case() -> None:
    assert {rule for _, rule, _ in KNOWN.values()} == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_without_its_inputs_is_silent_and_named(rule: object) -> None:
    bare = Evidence(source="engine", seconds=60, requests=200)
    findings, silent = look(bare)
    assert findings == []
    assert rule in silent


def test_queueing_without_known_seats_says_what_is_not_known() -> None:
    found, _ = look(replace(CALM, queue_s=2.0, max_num_seqs=None))
    assert found[0].rule == "queue"
    assert "whether for seats is not known without max_num_seqs" in found[0].evidence


def test_assumed_rates_are_told_as_assumed() -> None:
    told = replace(CALM, read_bytes_per_s=5e10, flops_per_s=1e12, device=replace(DEVICE, assumed=True))
    assert "5% of the bandwidth of a device by hand, at most as assumed" in look(told)[0][0].evidence


def test_what_is_seen_beside_it_is_told_too() -> None:
    findings, _ = look(replace(CALM, preemptions=2, prefill_s=2.0))
    assert [found.rule for found in findings] == ["preemptions", "prefill"]


def test_the_numbers_are_in_the_words() -> None:
    findings, _ = look(replace(CALM, preemptions=7))
    assert "7 preemptions within 60 s" in findings[0].evidence


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (replace(CALM, requests=19), "19 requests finished within 60 s and 20 are needed"),
        (replace(CALM, requests=None), "no vLLM request metrics"),
        (replace(CALM, seconds=5), "the window is 5 s"),
        (replace(CALM, restarted=True), "started anew"),
    ],
)
def test_too_little_is_refused_with_the_reason(evidence: Evidence, words: str) -> None:
    assert words in (too_little(evidence) or "")


def test_enough_is_not_refused() -> None:
    assert too_little(CALM) is None
