"""The words of a plan."""

from __future__ import annotations

from dataclasses import replace

from fakes.planning import ask, cache_of, facts, plan, shape

from serving.facts.load import gpus, overheads
from serving.planner.advise import advise
from serving.planner.compare import Variant, caches, compare
from serving.planner.figure import Figure
from serving.planner.speculation import Drafting
from serving.planner.text import caches_text, compare_text, plan_text, verdict
from serving.planner.weights import Ranks


def test_the_answer_comes_first() -> None:
    assert verdict(plan()) == "fits: 448,256 KV tokens, 54 users of 8,192 tokens"
    large = plan(shape("meta-llama/Meta-Llama-3.1-70B"))
    copies = plan(ranks=Ranks(data=2))
    assert verdict(copies) == "fits: 448,256 KV tokens in each of 2 copies, 108 users of 8,192 tokens"
    assert verdict(large).startswith("does not fit: ")
    assert verdict(large).endswith("GiB too much on each device")
    assert verdict(plan(users=60)).startswith("does not fit: the KV cache holds 54 users")


def test_floors_calibrated_and_measured_stand_side_by_side_and_are_labelled() -> None:
    seen = {"tpot_measured_s": Figure(0.009, "s", "measured", "runs/x: p50")}
    drafted = plan(drafting=Drafting(tokens=4, alpha=0.7), link_bytes_per_s=50e9)
    text = plan_text(drafted, overheads(), advise(drafted, facts().choices, overheads()), seen)
    for line in (
        "TPOT floor",
        "TPOT calibrated",
        "TPOT measured p50",
        "speculation by floors",
        "what would change it",
    ):
        assert line in text
    assert "measured" in text


def test_a_cpu_is_named_and_what_is_missing_is_said_with_the_way_to_it() -> None:
    rates = replace(gpus()["l4"], name="cpu", title="Xeon, 2 cores", rates_kind="default")
    on_cpu = {"device": "cpu", "version": "0.32.0", "kv_cache_bytes": 2**31, "cache": cache_of(device="cpu")}
    text = plan_text(plan(gpu=rates, engines=2, **on_cpu), overheads(), [])
    assert "CPU, 1 rank of Xeon, 2 cores" in text
    assert "one of 2 engines" in text
    assert "not calibrated: how much of a CPU's floor is reached" in text
    assert "TPOT calibrated" not in text
    assert "no floors: the device's rates are not known" in plan_text(
        plan(gpu=None, **on_cpu), overheads(), []
    )


def test_advice_is_flags_or_keys_and_tells_only_what_changes() -> None:
    found = plan(users=60)
    advice = advise(found, facts().choices, overheads())
    by_flags = plan_text(found, overheads(), advice)
    by_keys = plan_text(found, overheads(), advice, by_keys=True)
    assert "KV cache in fp8: --kv-cache-dtype fp8" in by_flags
    assert "KV cache in fp8: modes: [{kind: quantized_kv, format: fp8}]" in by_keys
    lines = by_flags.splitlines()
    shorter = next(at for at, line in enumerate(lines) if "--max-model-len 7424" in line)
    # 28,015 blocks of 16 tokens are 466 for each of 60; that its floor is of a shorter context is no gain.
    assert lines[shorter + 1].strip() == "users 54 of 8,192 tokens -> 60 of 7,424"


def test_where_no_change_helps_it_is_said() -> None:
    large = plan(shape("meta-llama/Meta-Llama-3.1-70B"))
    assert "no change that is tried makes it fit, nor do two" in plan_text(large, overheads(), [])


def test_a_comparison_is_a_table_with_reasons() -> None:
    rows = compare([Variant("one", ask()), Variant("three", ask(ranks=Ranks(3)))], overheads())
    text = compare_text(rows)
    assert "448,256" in text
    assert "three: --tensor: 32 attention heads cannot be shared by 3 ranks" in text


def test_caches_tell_where_they_overtake() -> None:
    v3 = shape("deepseek-ai/DeepSeek-V3")
    text = caches_text(
        caches([(shape(), 2 * 8_030_261_248), (v3, 2**40)], {"4 bit": cache_of("int4_per_token_head")})
    )
    assert "beyond its 131,072" in text
    assert "cannot hold" in text


def test_a_table_says_whose_users_of_what_length_it_counts() -> None:
    rows = compare(
        [Variant("one", ask(users=20)), Variant("two", ask(users=20, ranks=Ranks(2)))], overheads()
    )
    head = compare_text(rows).splitlines()[0]
    assert head == (
        "meta-llama/Meta-Llama-3.1-8B: users of 8,192 tokens, 20 asked for; TPOT at batch 20 and 8,192 tokens"
    )


def test_caches_are_told_against_context() -> None:
    text = caches_text(caches([(shape(), 2**34)], {"bf16": cache_of()}))
    head, row = text.splitlines()[-2:]
    assert head.split() == ["KV", "1,024", "4,096", "16,384", "65,536", "262,144", "1,048,576"]
    # 131,072 bytes a token: an eighth of a GiB for 1,024.
    assert row.split()[2:] == ["0.125", "0.500", "2.000", "8.000", "32.000", "128.000"]


def test_batches_that_the_cache_does_not_hold_are_marked() -> None:
    text = plan_text(plan(drafting=Drafting(tokens=4, alpha=0.7)), overheads(), [])
    lines = {line.split()[1]: line for line in text.splitlines() if line.startswith("  batch")}
    # 54 users of 8,192 tokens.
    assert "more than the cache holds" not in lines["32"]
    assert "more than the cache holds" in lines["128"]
