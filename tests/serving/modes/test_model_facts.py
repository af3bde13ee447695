"""What is read out of a config.json."""

from __future__ import annotations

from typing import Any

import pytest

from serving.errors import UsageError
from serving.modes.model_facts import model_facts

LLAMA_8B: dict[str, Any] = {
    # Fields of the public config.json of Llama-3.1-8B.
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in LLAMA_8B.items() if name != key}


def test_the_facts_of_a_plain_llama_are_read() -> None:
    facts = model_facts("llama", LLAMA_8B)
    assert (facts.layers, facts.attention_heads, facts.kv_heads, facts.head_dim) == (32, 32, 8, 128)
    assert (facts.vocab_size, facts.max_position, facts.weight_bytes_per_param) == (128256, 131072, 2.0)
    assert (facts.architecture, facts.quantization, facts.uniform_layers) == ("LlamaForCausalLM", None, True)


@pytest.mark.parametrize(
    ("rope", "positions"),
    [
        ({"rope_type": "linear", "factor": 4.0}, 524288),
        ({"rope_type": "llama3", "factor": 8.0}, 131072),
        ({"rope_type": "linear", "factor": "four"}, 131072),
    ],
)
def test_positions_are_lengthened_by_a_rope_that_is_not_in_them_already(
    rope: dict[str, Any], positions: int
) -> None:
    assert model_facts("llama", {**LLAMA_8B, "rope_scaling": rope}).max_position == positions
    inner = {**LLAMA_8B, "rope_scaling": rope}
    outer = {"architectures": ["LlamaForCausalLM"], "text_config": inner}
    assert model_facts("llama", outer).max_position == positions


def test_a_length_of_the_models_own_comes_before_its_positions() -> None:
    assert model_facts("old", {**LLAMA_8B, "model_max_length": 2048}).max_position == 2048


def test_head_dim_is_read_where_it_is_given() -> None:
    # Qwen3-0.6B: hidden 1024, 16 heads, and yet head_dim 128.
    assert (
        model_facts(
            "qwen", {**LLAMA_8B, "hidden_size": 1024, "num_attention_heads": 16, "head_dim": 128}
        ).head_dim
        == 128
    )


def test_without_kv_heads_every_head_has_its_own() -> None:
    assert model_facts("old", without("num_key_value_heads")).kv_heads == 32


@pytest.mark.parametrize(
    "key",
    ["num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size", "max_position_embeddings"],
)
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(UsageError, match=f"config.json of 'llama' has no '{key}'"):
        model_facts("llama", without(key))


def test_a_value_that_is_no_count_is_named() -> None:
    with pytest.raises(UsageError, match="num_hidden_layers: '32', not a count"):
        model_facts("llama", {**LLAMA_8B, "num_hidden_layers": "32"})


def test_heads_that_do_not_divide_the_hidden_size_are_named() -> None:
    with pytest.raises(UsageError, match="no head_dim, and 4096 is no multiple of 7 heads"):
        model_facts("llama", {**LLAMA_8B, "num_attention_heads": 7})


def test_a_quantized_checkpoint_is_recognised() -> None:
    assert (
        model_facts("q", {**LLAMA_8B, "quantization_config": {"quant_method": "fp8"}}).quantization == "fp8"
    )


def test_the_text_part_of_a_multimodal_model_is_read() -> None:
    facts = model_facts("vl", {"architectures": ["VL"], "text_config": LLAMA_8B, "vision_config": {}})
    assert (facts.architecture, facts.layers) == ("VL", 32)


@pytest.mark.parametrize(
    "extra",
    [
        {"sliding_window": 1024},
        {"kv_lora_rank": 512},
        {"layer_types": ["full_attention", "sliding_attention"]},
    ],
)
def test_layers_of_several_kinds_are_recognised(extra: dict[str, Any]) -> None:
    assert not model_facts("x", {**LLAMA_8B, **extra}).uniform_layers


def test_a_window_that_is_not_used_changes_nothing() -> None:
    assert model_facts(
        "qwen", {**LLAMA_8B, "sliding_window": 4096, "use_sliding_window": False}
    ).uniform_layers


@pytest.mark.parametrize(
    "key", ["num_local_experts", "num_experts", "n_routed_experts"]
)  # Mixtral, Qwen-MoE, DeepSeek
def test_the_experts_of_a_mixture_are_counted(key: str) -> None:
    assert model_facts("moe", {**LLAMA_8B, key: 8}).experts == 8
    assert model_facts("dense", LLAMA_8B).experts == 0


def test_a_checkpoint_that_promises_kv_scales_is_known() -> None:
    quantized = {"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8}}
    assert model_facts("q", {**LLAMA_8B, "quantization_config": quantized}).kv_scales is True
    silent = {"quant_method": "compressed-tensors", "kv_cache_scheme": None}
    assert model_facts("q", {**LLAMA_8B, "quantization_config": silent}).kv_scales is None
    assert model_facts("q", LLAMA_8B).kv_scales is None
