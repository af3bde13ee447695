"""Diagnoses of real engines, recorded under loads whose bottleneck is known by how they are made."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fakes.recorded import GOLDEN, recorded

from deploy.diagnose.diagnosis import Diagnosis, diagnose, document
from deploy.diagnose.evidence import Device, Evidence
from deploy.diagnose.levers import Seen
from deploy.diagnose.readings import evidence_of
from deploy.diagnose.rules import Bound

# What each load is, is in the case's own .json; what binds follows from that, not from what is computed here.
KNOWN = {
    "low-traffic": (Bound.TRAFFIC, "low-traffic"),
    "decode": (Bound.DECODE, "decode"),
    "prefill": (Bound.PREFILL, "prompts"),
    "prefill-among-answers": (Bound.PREFILL, "prompts"),
    "seats": (Bound.SEATS, "seats"),
    "kv-full": (Bound.KV_CAPACITY, "kv-full"),
    "kv-preemptions": (Bound.KV_CAPACITY, "preemptions"),
}


def seen(name: str) -> Evidence:
    """With the seats that both recorded deployments have; rates of the device are not told."""
    return replace(evidence_of(name, recorded(name)), max_num_seqs=8)


def of(name: str) -> Diagnosis:
    return diagnose(Seen(seen(name)))


@pytest.mark.parametrize("name", KNOWN)
def test_the_right_bottleneck_is_named_in_every_recorded_case(name: str) -> None:
    bound, rule = KNOWN[name]
    found = of(name)
    assert (found.bound, found.findings[0].rule) == (bound, rule)


def test_every_recorded_case_is_judged() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*KNOWN, "no-data"}


def test_an_engine_that_was_asked_nothing_gets_no_diagnosis() -> None:
    found = of("no-data")
    assert found.refused == "0 requests finished within 30 s and 20 are needed"
    assert (found.bound, found.levers, found.findings) == (None, (), ())


def test_without_known_seats_a_queue_is_told_as_what_it_is() -> None:
    found = diagnose(Seen(replace(seen("seats"), max_num_seqs=None)))
    assert found.bound is Bound.QUEUE
    assert "whether for seats is not known" in found.findings[0].evidence


def test_answers_among_prompts_would_look_like_slow_decoding() -> None:
    # Most of a request's time is decoding there: the split alone would name the wrong lever.
    shares = seen("prefill-among-answers").shares
    assert shares is not None
    assert shares[2] > 0.5


@pytest.mark.parametrize("name", ["decode", "seats", "prefill"])
def test_real_engines_estimate_what_they_read_and_compute(name: str) -> None:
    evidence = seen(name)
    assert evidence.read_bytes_per_s is not None
    assert evidence.flops_per_s is not None
    # SmolLM2 in bfloat16 has 269 MB: a step reads them once, so that bytes by steps are near them.
    if name == "decode":
        assert evidence.tpot_s is not None
        assert 0.8 < evidence.read_bytes_per_s * evidence.tpot_s / 269_030_016 < 1.5


def test_the_same_engine_on_a_device_that_is_much_faster_waits_for_its_host() -> None:
    fast = Device(bandwidth_bytes_per_s=3350e9, flops=989e12, source="H100 SXM")
    assert diagnose(Seen(replace(seen("decode"), device=fast))).bound is Bound.HOST


def test_the_same_engine_on_a_device_that_computes_slowly_is_bound_by_that() -> None:
    slow = Device(bandwidth_bytes_per_s=100e9, flops=0.06e12, source="by hand")
    assert diagnose(Seen(replace(seen("decode"), device=slow, step_tokens=None))).bound is Bound.COMPUTE


def test_the_document_says_all_of_it_as_json() -> None:
    [engine] = json.loads(json.dumps(document([of("seats")])))["engines"]
    assert (engine["bound"], engine["refused"]) == ("max_num_seqs", None)
    assert [finding["rule"] for finding in engine["findings"]] == ["seats", "queue"]
    first = engine["levers"][0]
    assert (first["id"], first["fragment"]) == ("seats", {"engine": {"max_num_seqs": 16}})
    assert (first["change"], first["diff"], first["why_not_first"]) == (
        "engine: {max_num_seqs: 16}",
        None,
        None,
    )
    assert engine["evidence"]["max_num_seqs"] == 8
    assert {row["rule"] for row in engine["not_told"]} == {"front", "host", "compute"}
    assert {row["id"] for row in engine["elsewhere"]} > {"kv-dtype", "speculation"}


# The guide's own table (facts of the study), row by row: symptom, what binds, the levers that it names.
# Its fourth row, a model that does not load, is the planner's.
CALM = Evidence(
    source="e", seconds=60, requests=200, running_mean=4, running_max=6, waiting_mean=0, waiting_max=0,
    kv_usage_max_ratio=0.5, preemptions=0, queue_s=0.001, prefill_s=0.1, decode_s=0.9, ttft_s=0.11,
    tpot_s=0.02, max_num_seqs=32, computed_prompt_tokens=1000, output_tokens=1000, step_tokens=8.0,
)  # fmt: skip
GUIDE = [
    (replace(CALM, prefill_s=0.9), "slow first token", Bound.PREFILL,
     {"chunked-prefill", "prefix-cache", "replicas", "disaggregated"}),
    (replace(CALM, queue_s=0.9), "slow first token", Bound.QUEUE,
     {"seats", "chunked-prefill", "prefix-cache", "replicas", "disaggregated"}),
    (CALM, "slow tokens per user", Bound.DECODE, {"kv-dtype", "weights", "speculation", "tensor"}),
    (replace(CALM, preemptions=3), "batch will not grow", Bound.KV_CAPACITY,
     {"kv-dtype", "weights", "max-model-len", "tensor"}),
]  # fmt: skip


@pytest.mark.parametrize(("evidence", "symptom", "bound", "levers"), GUIDE)
def test_the_guides_table_holds_row_by_row(
    evidence: Evidence, symptom: str, bound: Bound, levers: set[str]
) -> None:
    found = diagnose(Seen(evidence))
    assert (found.findings[0].symptom, found.bound) == (symptom, bound)
    assert levers <= {ranked.lever.id for ranked in found.levers}


def test_where_no_rule_sees_anything_nothing_binds() -> None:
    calm = diagnose(Seen(Evidence(source="e", seconds=60, requests=100)))
    assert (calm.bound, calm.next) == (None, None)
