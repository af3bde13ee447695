"""The levers' rows: their changes, and why one may not come."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.diagnosed import ask_of

from deploy.diagnose.evidence import Evidence, Speculated
from deploy.diagnose.levers import LEVERS, Lever, Seen
from deploy.diagnose.rules import Bound

ENGINE = Evidence(
    source="engine", seconds=60, requests=100, prompt_tokens=10_000, output_tokens=10_000, max_num_seqs=8,
    ttft_s=0.5, tpot_s=0.05, running_mean=4.0, cache_config={"cache_dtype": "auto"},
)  # fmt: skip
BARE = Seen(ENGINE)
ASKED = Seen(ENGINE, ask=ask_of("engine: {device: cpu, max_model_len: 2048, kv_cache_memory: 512MiB}"))
ROWS = {lever.id: lever for lever in LEVERS}
# The guide's own table (facts of the study), row by row: the levers that it names for what binds.
GUIDE = {
    Bound.PREFILL: {"chunked-prefill", "prefix-cache", "replicas", "disaggregated"},
    Bound.QUEUE: {"seats", "chunked-prefill", "prefix-cache", "replicas", "disaggregated"},
    Bound.DECODE: {"kv-dtype", "weights", "speculation", "tensor"},
    Bound.KV_CAPACITY: {"kv-dtype", "weights", "max-model-len", "tensor"},
}


def row(name: str) -> Lever:
    return ROWS[name]


@pytest.mark.parametrize("bound", GUIDE)
def test_the_levers_of_the_guides_table_act_on_what_it_says(bound: Bound) -> None:
    assert GUIDE[bound] <= {lever.id for lever in LEVERS if bound in lever.helps}


def test_ids_are_unique_and_each_acts_on_something() -> None:
    assert len(ROWS) == len(LEVERS)
    assert all(lever.helps and lever.risk for lever in LEVERS)


@pytest.mark.parametrize(
    ("name", "fragment"),
    [
        ("seats", {"engine": {"max_num_seqs": 16}}),
        ("kv-memory", {"engine": {"kv_cache_memory": "1024MiB"}}),
        ("kv-dtype", {"modes": [{"kind": "quantized_kv", "format": "fp8"}]}),
        ("max-model-len", {"engine": {"max_model_len": 1024}}),
        ("weights", {"modes": [{"kind": "quantized_weights", "format": "fp8_per_block"}]}),
        ("compiled", {"engine": {"args": {"enforce-eager": False}}}),
        ("chunked-prefill", {"modes": [{"kind": "chunked_prefill", "max_batched_tokens": 4096}]}),
        ("tensor", {"modes": [{"kind": "parallel", "tensor": 2, "pipeline": 1, "data": 1}]}),
        ("replicas", {"replicas": 2}),
    ],
)
def test_the_change_is_exact(name: str, fragment: dict[str, object]) -> None:
    assert row(name).fragment(ASKED) == fragment


@pytest.mark.parametrize("name", ["kv-memory", "max-model-len", "chunked-prefill"])
def test_a_change_of_what_is_not_known_is_not_made_up(name: str) -> None:
    assert row(name).fragment(BARE) is None


def test_a_lever_that_is_pulled_already_says_so() -> None:
    small = replace(ENGINE, cache_config={"cache_dtype": "fp8"})
    assert row("kv-dtype").not_yet(Seen(small)) == "the KV cache is fp8 already"
    assert row("kv-dtype").not_yet(BARE) is None
    hits = replace(ENGINE, prefix_hit_ratio=0.25)
    assert row("prefix-cache").not_yet(Seen(hits)) == "prefix caching is on already, with 25% hits"
    idle = Seen(replace(ENGINE, kv_usage_max_ratio=0.03), bound=Bound.DECODE)
    assert "3% full at most" in (row("kv-dtype").not_yet(idle) or "")
    off = replace(ENGINE, cache_config={"enable_prefix_caching": "False"})
    assert row("prefix-cache").not_yet(Seen(off)) is None
    assert row("compiled").not_yet(ASKED) == "steps are compiled already"
    eager = Seen(ENGINE, ask=ask_of("engine: {device: cpu, args: {enforce-eager: true}}"))
    assert row("compiled").not_yet(eager) is None


def test_steps_are_scheduled_ahead_where_the_file_had_forbidden_it_alone() -> None:
    """vLLM 0.32.0 and 0.33.0 do so by default where they can, and refuse it beside look-ups."""
    forbidden = replace(BARE, flags=frozenset({"--no-async-scheduling"}))
    assert row("async").not_yet(forbidden) is None
    assert "not known without the deployment file" in (row("async").not_yet(BARE) or "")
    assert "already wherever it can" in (row("async").not_yet(replace(BARE, flags=frozenset())) or "")
    looking = replace(forbidden, speculative={"kind": "speculative", "method": "ngram"})
    assert row("async").not_yet(looking) == "vLLM refuses it beside drafts by ngram"
    drafting = replace(forbidden, speculative={"kind": "speculative", "method": "draft_model"})
    assert row("async").not_yet(drafting) is None


def test_a_gateway_gets_twice_the_processes_that_it_has() -> None:
    assert row("gateway").fragment(BARE) == {"gateway": {"workers": 2}}
    assert row("gateway").fragment(replace(BARE, gateway_workers=3)) == {"gateway": {"workers": 6}}


def test_a_device_that_is_given_whole_has_no_more_memory() -> None:
    def given(share: float) -> Seen:
        ask = ask_of(f"engine: {{device: cuda, gpu_memory_utilization: {share}}}", gpu="h100-sxm")
        return Seen(ENGINE, ask=ask)

    assert row("kv-memory").not_yet(given(0.95)) == "gpu_memory_utilization is 0.95 already"
    assert row("kv-memory").not_yet(given(0.9)) is None


def test_speculation_waits_for_its_acceptance_and_for_a_small_batch() -> None:
    assert "its acceptance is not measured" in (row("speculation").not_yet(BARE) or "")
    assert row("speculation").not_yet(replace(BARE, acceptance=0.7)) is None
    crowded = Seen(replace(ENGINE, running_mean=40.0), acceptance=0.7)
    assert "40 requests ran at once" in (row("speculation").not_yet(crowded) or "")


def test_fewer_drafts_are_told_where_fewer_are_best() -> None:
    drafting = replace(
        ENGINE, speculated=Speculated(acceptance_ratio=0.3, acceptance_length=1.6, positions=(0.4, 0.2))
    )
    mode = {"kind": "speculative", "method": "ngram", "tokens": 2}
    fewer = Seen(drafting, speculative=mode, best_drafts=1)
    assert row("drafts").fragment(fewer) == {"modes": [{**mode, "tokens": 1}]}
    assert row("drafts").not_yet(fewer) is None
    assert "take the mode out" in (row("drafts").not_yet(replace(fewer, best_drafts=0)) or "")
    assert "no smaller number" in (row("drafts").not_yet(replace(fewer, best_drafts=2)) or "")


def test_chunks_trade_one_objective_for_the_other() -> None:
    late = replace(ASKED, evidence=replace(ENGINE, tpot_slo_s=0.04, ttft_slo_s=1.0))
    assert row("chunked-prefill").fragment(late) == {
        "modes": [{"kind": "chunked_prefill", "max_batched_tokens": 1024}]
    }
    assert row("chunked-prefill").not_yet(late) is None
    assert "trades TTFT against TPOT" in (row("chunked-prefill").not_yet(ASKED) or "")


def test_a_shorter_context_is_not_told_where_requests_are_long() -> None:
    assert row("max-model-len").not_yet(ASKED) is None  # 200 tokens on average
    long = replace(ENGINE, prompt_tokens=90_000)
    assert "some would be refused" in (row("max-model-len").not_yet(replace(ASKED, evidence=long)) or "")


def test_on_a_cpu_nothing_comes_of_sharing_its_cores() -> None:
    for name in ("tensor", "replicas", "disaggregated"):
        assert row(name).not_yet(ASKED) == "on CPU it shares the same cores"
        assert row(name).not_yet(BARE) is None
