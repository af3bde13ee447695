"""Floors against values worked out by hand for Llama-3.1-8B on H100 SXM."""

from __future__ import annotations

import pytest
from fakes.planning import cache_of, shape

from serving.facts.load import gpus, weight_storage
from serving.planner.roofline import Speed, decode_floor, prefill_floor, prefill_operations
from serving.planner.weights import Ranks

LLAMA = Speed(shape(), weight_storage()["bf16"], cache_of(), gpus()["h100-sxm"])


@pytest.mark.parametrize(("batch", "context", "ms"), [(1, 0, 4.481), (1, 2048, 4.561), (32, 2048, 7.045)])
def test_a_decode_step_reads_weights_and_caches(batch: int, context: int, ms: float) -> None:
    found = decode_floor(LLAMA, batch=batch, context=context)
    assert round(found.seconds * 1e3, 3) == ms
    assert found.bound == "memory"


def test_a_prompt_of_8192_tokens_takes_133_ms() -> None:
    found = prefill_floor(LLAMA, 8192)
    assert round(found.seconds * 1e3) == 133
    assert found.bound == "compute"


def test_ranks_share_the_step_and_stages_do_not() -> None:
    def step(ranks: Ranks) -> float:
        return decode_floor(
            Speed(LLAMA.shape, LLAMA.weights, LLAMA.cache, LLAMA.gpu, ranks), batch=1, context=2048
        ).seconds

    assert step(Ranks(4)) == pytest.approx(step(Ranks()) / 4, rel=0.001)
    assert step(Ranks(pipeline=4)) == step(Ranks())


def test_a_window_bounds_what_is_read_and_computed() -> None:
    oss = Speed(shape("openai/gpt-oss-20b"), LLAMA.weights, LLAMA.cache, LLAMA.gpu)
    near, far = (decode_floor(oss, batch=1, context=n).memory_s for n in (100_000, 200_000))
    assert (far - near) * 3350e9 == pytest.approx(100_000 * 24576)
    assert prefill_operations(oss.shape, 4096) < prefill_operations(oss.shape, 8192) / 2


def test_eight_bit_weights_are_multiplied_at_the_eight_bit_rate_where_there_is_one() -> None:
    eight = weight_storage()["fp8"]
    assert Speed(LLAMA.shape, eight, LLAMA.cache, gpus()["h100-sxm"]).peak_flops == 1979e12
    assert Speed(LLAMA.shape, eight, LLAMA.cache, gpus()["a100-sxm"]).peak_flops == 312e12
    four = weight_storage()["nvfp4"]
    assert Speed(LLAMA.shape, four, LLAMA.cache, gpus()["h100-sxm"]).peak_flops == 989e12
    assert Speed(LLAMA.shape, four, LLAMA.cache, gpus()["b200"]).peak_flops == 4500e12


def test_every_step_of_a_prompt_reads_the_weights_again() -> None:
    # 4.481 ms: the weights alone, as a decode step without a context reads them.
    at_once, in_four = (prefill_floor(LLAMA, 8192, step_tokens=most) for most in (8192, 2048))
    assert at_once == prefill_floor(LLAMA, 8192)
    assert in_four.memory_s == pytest.approx(4 * 4.481e-3, rel=1e-3)
    assert in_four.compute_s == at_once.compute_s
    assert prefill_floor(LLAMA, 2049, step_tokens=2048).memory_s == pytest.approx(2 * 4.481e-3, rel=1e-3)
    assert prefill_floor(LLAMA, 16, step_tokens=2048).seconds == pytest.approx(4.481e-3, rel=1e-3)
