"""Which formats a kind of GPU runs.

Expected values are read from vllm 0.32.0: online/nvfp4.py (10.x), platforms/cuda.py supports_fp8 (8.9),
v1/attention/backends/{triton_attn,flashinfer,mla/triton_mla}.py, platforms/rocm.py; capabilities are
NVIDIA's.
"""

from __future__ import annotations

from typing import Any

import pytest
from fakes.planning import LLAMA_8B, cache_of, config, facts, plan, shape

from serving.facts.load import gpus, overheads, weight_storage
from serving.planner.advise import advise
from serving.planner.compare import Variant, compare
from serving.planner.model import model_shape
from serving.planner.plan import Plan


def on(gpu: str, *, kv: str = "bf16", weights: str = "bf16", model: str | None = None, **asked: Any) -> Plan:
    row = gpus()[gpu]
    changes = {"cache": cache_of(kv), "weights": weight_storage()[weights], "device": row.device, **asked}
    return plan(shape(model) if model else None, gpu=row, memory_bytes=row.memory_bytes, **changes)


def formats(found: Plan) -> list[tuple[str, bool]]:
    return [(limit.name, limit.blocks) for limit in found.limits if "format" in limit.name]


@pytest.mark.parametrize("gpu", ["a100-sxm", "l40s", "h100-sxm", "b200"])
@pytest.mark.parametrize("weights", ["bf16", "awq", "gptq", "int8"])
def test_old_formats_run_everywhere(gpu: str, weights: str) -> None:
    assert formats(on(gpu, weights=weights)) == []


@pytest.mark.parametrize(
    ("gpu", "weights", "said"),
    [
        ("a10", "fp8", "takes compute capability 8.9 (a10 has 8.6)"),
        ("a100-sxm", "fp8_per_block", "takes compute capability 8.9 (a100-sxm has 8.0)"),
        ("h100-sxm", "nvfp4", "takes compute capability 10.0 (h100-sxm has 9.0)"),
        ("h200", "mxfp8", "takes compute capability 10.0 (h200 has 9.0)"),
    ],
)
def test_what_marlin_widens_is_said_and_starts(gpu: str, weights: str, said: str) -> None:
    found = on(gpu, weights=weights)
    assert formats(found) == [("weight_format", False)]
    assert said in found.limits[0].what


@pytest.mark.parametrize(
    ("gpu", "weights"), [("l4", "fp8"), ("h100-sxm", "fp8_per_block"), ("b200", "nvfp4")]
)
def test_what_a_gpu_multiplies_in_is_no_limit(gpu: str, weights: str) -> None:
    assert formats(on(gpu, weights=weights)) == []


def test_what_needs_blackwell_does_not_fit_elsewhere() -> None:
    assert formats(on("h100-sxm", weights="nvfp4_per_token")) == [("weight_format", True)]
    assert formats(on("b200", weights="nvfp4_per_token")) == []
    assert formats(on("mi300x", weights="nvfp4_per_token")) == [("weight_format", True)]


@pytest.mark.parametrize(
    ("gpu", "kv", "limits"),
    [
        ("a100-sxm", "fp8", [("kv_format", False)]),
        ("a100-sxm", "int8_per_token_head", []),
        ("a100-sxm", "fp8_per_token_head", [("kv_format", True)]),
        ("a100-sxm", "nvfp4", []),
        ("l40s", "fp8", []),
        ("h100-sxm", "fp8_per_token_head", []),
        ("mi300x", "fp8", []),
        ("mi300x", "nvfp4", [("kv_format", True)]),
        ("mi300x", "fp8_e5m2", [("kv_format", True)]),
    ],
)
def test_a_cache_needs_a_backend_that_stores_it(gpu: str, kv: str, limits: list[tuple[str, bool]]) -> None:
    assert formats(on(gpu, kv=kv)) == limits


def test_latents_in_8_bits_have_tritons_backend_alone_on_ampere_which_refuses_them() -> None:
    assert formats(on("a100-sxm", kv="fp8", model="deepseek-ai/DeepSeek-V3")) == [("kv_format", True)]
    assert formats(on("h100-sxm", kv="fp8", model="deepseek-ai/DeepSeek-V3")) == []


@pytest.mark.parametrize(("gpu", "advised"), [("h100-sxm", True), ("a100-sxm", False)])
def test_advice_names_nothing_that_the_gpu_cannot_run(gpu: str, advised: bool) -> None:
    """Heads of 96 are none of FlashInfer's, so on Ampere a cache in FP8 has no backend."""
    narrow = model_shape({**config(LLAMA_8B), "head_dim": 96}, "config.json")
    row = gpus()[gpu]
    found = plan(narrow, gpu=row, memory_bytes=row.memory_bytes)
    assert found.fits
    told = advise(found, facts().choices, overheads(), most=99)
    assert any("--kv-cache-dtype fp8" in advice.flags for advice in told) == advised


def test_a_table_marks_what_the_gpu_cannot_run() -> None:
    asked = on("mi300x", kv="nvfp4").ask
    (row,) = compare([Variant("nvfp4", asked)], overheads())
    assert (row.document()["fits"], row.blocked_by) == (False, "kv_format")


def test_a_gpu_whose_generation_is_not_known_is_not_judged() -> None:
    assert formats(plan(gpu=None, weights=weight_storage()["nvfp4_per_token"])) == []
