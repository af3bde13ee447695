"""What no plan is made of: numbers that nothing has, and parts that contradict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fakes.planning import ask, cache_of, plan, shape

from serving.errors import UsageError
from serving.facts.load import gpus
from serving.planner.ask import Lengths
from serving.planner.refusals import refuse
from serving.planner.speculation import Drafting
from serving.planner.weights import Ranks

HUGE = 10**400
H100 = gpus()["h100-sxm"]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"max_model_len": HUGE}, "max_model_len"),
        ({"max_num_seqs": HUGE}, "max_num_seqs"),
        ({"max_num_batched_tokens": HUGE}, "max_num_batched_tokens"),
        ({"users": HUGE}, "users"),
        ({"ranks": Ranks(data=HUGE)}, "data"),
        ({"ranks": Ranks(HUGE)}, "tensor"),
        ({"ranks": Ranks(1, HUGE)}, "pipeline"),
        ({"memory_bytes": 0}, "device memory in bytes"),
        ({"memory_bytes": 2**60}, "device memory in bytes"),
        ({"kv_cache_bytes": 0}, "KV cache memory in bytes"),
        ({"kv_cache_bytes": HUGE}, "KV cache memory in bytes"),
        ({"lengths": Lengths(HUGE, 1, HUGE, HUGE)}, "input tokens"),
        ({"gpu": replace(H100, bandwidth_bytes_per_s=1e-300)}, "bandwidth in bytes/s"),
        ({"gpu": replace(H100, bandwidth_bytes_per_s=float("inf"))}, "bandwidth in bytes/s"),
        ({"gpu": replace(H100, bf16_flops=float("nan"))}, "dense bf16 FLOP/s"),
        ({"gpu": replace(H100, fp8_flops=1.0)}, "dense FP8 FLOP/s"),
        ({"link_bytes_per_s": 1e-300}, "link in bytes/s"),
        ({"efficiency": 1e-300}, "efficiency"),
        ({"drafting": Drafting(tokens=100_000, alpha=0.9)}, "drafted tokens"),
    ],
)
def test_a_number_that_nothing_has_is_refused_by_its_name(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(UsageError) as refused:
        plan(**changes)
    assert where in [problem.where for problem in refused.value.problems]
    assert all(problem.fix and problem.fix.startswith("give") for problem in refused.value.problems)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(UsageError) as refused:
        refuse(ask(users=0, max_model_len=0))
    assert [problem.where for problem in refused.value.problems] == ["max_model_len", "users"]


def test_fewer_tokens_a_step_than_sequences_are_refused_as_vllm_refuses_them() -> None:
    with pytest.raises(UsageError, match="max_num_batched_tokens: is 16, less than max_num_seqs 64"):
        plan(max_num_batched_tokens=16, max_num_seqs=64)
    # Where one of them is vLLM's own to choose, it chooses one that works.
    assert plan(max_num_batched_tokens=16).ask.batch.max_num_seqs == 16


def test_a_format_of_latents_is_refused_where_there_are_none() -> None:
    with pytest.raises(UsageError, match="this model has none"):
        plan(cache=cache_of("fp8_ds_mla"))
    refuse(ask(shape("deepseek-ai/DeepSeek-V3"), cache=cache_of("fp8_ds_mla")))
