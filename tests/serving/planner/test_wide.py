"""Plans in 32 bits: twice the bytes of 16, by hand."""

from __future__ import annotations

import pytest
from fakes.planning import ask, cache_of, plan

from serving.errors import UsageError
from serving.facts.load import overheads, weight_storage
from serving.planner.headers import Checkpoint
from serving.planner.plan import make_plan
from serving.planner.wide import widened

FP32 = weight_storage()["fp32"]


def test_weights_and_cache_take_four_bytes_an_element() -> None:
    """Llama-3.1-8B: 8,030,261,248 parameters; 32 layers of 8 heads of 128, keys and values."""
    found = make_plan(widened(ask(), FP32), overheads())
    assert found.weights.total_bytes == 8_030_261_248 * 4
    assert found.cache.growing_per_token == 32 * 2 * 8 * 128 * 4


def test_files_hold_half_of_what_is_loaded() -> None:
    wide = widened(ask(checkpoint=Checkpoint(16_060_522_496, 291)), FP32)
    assert make_plan(wide, overheads()).weights.total_bytes == 32_121_044_992


def test_a_quantized_cache_stays_as_it_is() -> None:
    wide = make_plan(widened(ask(cache=cache_of("fp8")), FP32), overheads())
    assert wide.cache == plan(cache=cache_of("fp8")).cache


def test_quantized_weights_are_refused_as_vllm_refuses_them() -> None:
    with pytest.raises(UsageError, match="dtype: is float32, and weights in awq are served in 16 bits alone"):
        widened(ask(weights=weight_storage()["awq"]), FP32)
