"""A deployment before it starts: whether this machine holds it, and the nearest that would."""

from __future__ import annotations

from typing import Any

import pytest
from fakes.planning import facts, shape

from serving.config.schema import Deployment
from serving.errors import UsageError
from serving.facts.load import gpus, model_configs
from serving.modes.mode import Accelerator, KvBlock, MachineFacts
from serving.planner.fit import Model, Place, deployment_ask, fit
from serving.planner.model import model_shape

GIB = 1024**3
SMOLLM = Model(model_shape(model_configs()["smollm2-135m"], "smollm2"))


def deployment(**keys: Any) -> Deployment:
    import json

    return Deployment.model_validate_json(json.dumps({"name": "d", **keys}))


def cpu(gib: float) -> Place:
    return Place("cpu", "0.32.0", MachineFacts((0, 1), 1, int(gib * GIB), GIB))


def h100(count: int = 1) -> Place:
    devices = tuple(Accelerator("NVIDIA H100 80GB HBM3", 85_029_615_042, 80 * GIB) for _ in range(count))
    return Place("cuda", "0.33.0", MachineFacts((0, 1), 1, 100 * GIB, GIB, devices))


def test_a_cpu_deployment_is_planned_to_the_token() -> None:
    found = fit(
        deployment(engine={"max_model_len": 2048, "kv_cache_memory": "2GiB"}), SMOLLM, cpu(16), facts()
    )
    assert found.fits
    assert found.plan.capacity.tokens == 93184


@pytest.mark.parametrize("dtype", ["float32", "float"])
def test_32_bits_that_are_forced_are_planned(dtype: str) -> None:
    """2 GiB of blocks of 128 tokens, each of 30 layers * 3 heads * 64 * 2 * 4 bytes: 364 blocks."""
    engine = {"max_model_len": 2048, "kv_cache_memory": "2GiB", "args": {"dtype": dtype}}
    found = fit(deployment(engine=engine), SMOLLM, cpu(16), facts())
    assert found.plan.weights.total_bytes == 134_515_008 * 4
    assert found.plan.capacity.tokens == 364 * 128


def test_modes_are_part_of_the_question() -> None:
    modes = [{"kind": "quantized_kv", "format": "fp8"}, {"kind": "parallel", "tensor": 4, "expert": False}]
    modes.append({"kind": "quantized_weights", "format": "fp8_per_block"})
    modes.append({"kind": "chunked_prefill", "max_batched_tokens": 4096})
    asked, engines = deployment_ask(
        deployment(modes=modes, replicas=2),
        Model(shape()),
        h100(8),
        facts(),
    )
    assert (asked.cache.name, asked.ranks.tensor, asked.weights.name) == ("fp8", 4, "fp8_per_block")
    assert (asked.max_num_batched_tokens, engines) == (4096, 2)
    assert asked.gpu is not None
    assert asked.gpu.memory_kind == "device"


def test_cached_prefixes_are_part_of_the_question() -> None:
    for modes, cached in (([], True), ([{"kind": "prefix_cache", "enabled": False}], False)):
        asked, _ = deployment_ask(deployment(modes=modes), SMOLLM, cpu(16), facts())
        assert asked.prefix_cache is cached


def test_no_more_gpus_are_named_as_the_nearest_than_the_machine_has() -> None:
    short, large = {"max_model_len": 4096}, Model(shape("meta-llama/Meta-Llama-3.1-70B"))
    two = fit(deployment(engine=short), large, h100(2), facts())
    assert max(advice.devices for advice in two.advice) == 2
    each = fit(deployment(engine=short, replicas=2), large, h100(2), facts())
    assert max(advice.devices for advice in each.advice) == 1


GEMMA = {
    "architectures": ["Gemma3ForCausalLM"], "head_dim": 256, "hidden_size": 640, "intermediate_size": 2048,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 3, "max_position_embeddings": 32768,
    "num_attention_heads": 4, "num_hidden_layers": 18, "num_key_value_heads": 1, "sliding_window": 512,
    "tie_word_embeddings": True, "vocab_size": 262144,
}  # fmt: skip
"""Gemma 3 270M."""


@pytest.mark.parametrize(("name", "head"), [("fp8", 512), ("int4_per_token_head", 128 + 128 + 8)])
def test_a_block_of_layers_that_are_not_alike_is_told_by_the_formats_own_bytes(name: str, head: int) -> None:
    """Six groups of 3 layers share a block: 3 * 128 tokens. vLLM 0.32.0 on CPU made 5,461 blocks of bf16 and
    10,922 of fp8 in 2 GiB of it; it stores int4 in 8 bits and so does not have these bytes."""
    asked = deployment(
        modes=[{"kind": "quantized_kv", "format": name}],
        engine={"kv_cache_memory": "2GiB", "max_model_len": 2048},
    )
    found = fit(asked, Model(model_shape(GEMMA, "gemma")), cpu(16), facts())
    assert found.kv_block == KvBlock(128, 3 * 128 * head, 393_216)
    assert (2 * GIB // 393_216, 2 * GIB // (3 * 128 * 512)) == (5_461, 10_922)


def test_blocks_are_told_for_a_quantized_cache_without_states_only() -> None:
    fp8 = deployment(modes=[{"kind": "quantized_kv", "format": "fp8"}], engine={"max_model_len": 2048})
    assert fit(deployment(), SMOLLM, cpu(64), facts()).kv_block is None
    assert fit(fp8, Model(shape("Qwen/Qwen3.5-27B")), h100(2), facts()).kv_block is None
    drafting = Model(SMOLLM.shape, draft=SMOLLM.shape)
    alone, both = (fit(fp8, model, cpu(64), facts()).kv_block for model in (SMOLLM, drafting))
    assert alone is not None
    assert both is not None
    assert (alone.asked_bytes, both.asked_bytes) == (128 * 11_520, 2 * 128 * 11_520)


def test_arguments_that_change_memory_and_are_not_planned_for_are_told() -> None:
    def notes(**args: Any) -> tuple[str, ...]:
        return deployment_ask(deployment(engine={"args": args}), SMOLLM, cpu(16), facts())[0].shape.notes

    [told] = set(notes(block_size=64)) - set(notes())
    assert (
        told == "--block-size is not part of this plan: blocks are planned as the device's default has them"
    )
    assert len(notes(block_size=64, cpu_offload_gb=2)) == len(notes()) + 2
    assert notes(dtype="bfloat16", cpu_offload_gb=0) == notes()


def test_engines_share_a_machines_memory() -> None:
    two, _ = deployment_ask(deployment(replicas=2), SMOLLM, cpu(16), facts())
    assert two.memory_bytes == 8 * GIB
    pair = [{"kind": "disaggregated", "connector": {"kind": "nixl"}}]
    assert deployment_ask(deployment(modes=pair), SMOLLM, cpu(16), facts())[1] == 2


def test_what_cannot_fit_is_refused_with_numbers_and_the_nearest_that_would() -> None:
    found = fit(
        deployment(engine={"max_model_len": 8192, "kv_cache_memory": "64MiB"}), SMOLLM, cpu(16), facts()
    )
    assert not found.fits
    assert "one request of 8,192 tokens needs" in found.refusal()
    assert "engine: {kv_cache_memory: 192MiB}" in found.nearest()
    assert "--no-plan" in found.nearest()


def test_the_nearest_really_fits() -> None:
    asked = {"max_model_len": 8192, "kv_cache_memory": "192MiB"}
    assert fit(deployment(engine=asked), SMOLLM, cpu(16), facts()).fits


def test_a_cache_larger_than_the_machine_is_refused() -> None:
    found = fit(deployment(engine={"kv_cache_memory": "20GiB"}, replicas=2), SMOLLM, cpu(8), facts())
    assert not found.fits
    assert "(each of 2 engines)" in found.refusal()
    assert "kv_cache_memory" in found.nearest()


def test_a_model_too_large_for_a_gpu_is_told_what_would_fit() -> None:
    found = fit(deployment(), Model(shape("meta-llama/Meta-Llama-3.1-70B")), h100(), facts())
    assert "weights and overhead exceed the memory" in found.refusal()
    assert found.nearest()


def test_without_a_gpu_there_is_nothing_to_plan_for() -> None:
    place = Place("cuda", "0.33.0", MachineFacts((0,), 1, GIB, GIB))
    with pytest.raises(UsageError, match="there is no GPU to plan for"):
        fit(deployment(), Model(shape()), place, facts())
    named = Place("cuda", "0.33.0", MachineFacts((0,), 1, GIB, GIB), gpus()["h100-sxm"])
    assert fit(deployment(engine={"max_model_len": 8192}), Model(shape()), named, facts()).fits


def test_no_machine_starts_a_thousand_million_engines() -> None:
    with pytest.raises(ValueError, match=r"replicas\n.*less than or equal to 1000"):
        deployment(replicas=10**9)
