"""Llama, Mistral and SmolLM against the parameter counts of the published checkpoints."""

from __future__ import annotations

import pytest

from serving.errors import UsageError
from serving.planner.model import model_shape
from serving.planner.shape import AttentionKv

LLAMA_2 = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "intermediate_size": 11008,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
}
MISTRAL = {
    **LLAMA_2,
    "architectures": ["MistralForCausalLM"],
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "sliding_window": 4096,
}


def test_llama_2_has_as_many_parameters_as_its_files_and_all_its_heads_keep_keys() -> None:
    found = model_shape(LLAMA_2, "config.json")
    assert found.parameters == 6_738_415_616
    assert found.layers[0].kv == AttentionKv(heads=32, head_dim=128)


def test_mistral_has_one_window_in_all_layers() -> None:
    found = model_shape(MISTRAL, "config.json")
    assert found.parameters == 7_241_732_096
    assert {layer.kv for layer in found.layers} == {AttentionKv(8, 128, window=4096)}


@pytest.mark.parametrize("off", [{"use_sliding_window": False}, {"sliding_window": 0}])
def test_a_window_that_is_switched_off_is_none(off: dict[str, object]) -> None:
    found = model_shape({**MISTRAL, **off}, "config.json")
    assert found.layers[0].kv == AttentionKv(8, 128)


def test_smollm_3_is_tied_by_default() -> None:
    config = {
        **LLAMA_2,
        "architectures": ["SmolLM3ForCausalLM"],
        "model_type": "smollm3",
        "hidden_size": 2048,
    }
    config |= {
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "num_hidden_layers": 36,
        "vocab_size": 128256,
    }
    assert model_shape(config, "config.json").parameters == 3_075_098_624


def test_sliding_layers_without_a_window_are_an_error_with_file_and_key() -> None:
    config = {**LLAMA_2, "layer_types": ["sliding_attention"] * 32}
    with pytest.raises(UsageError, match=r"x/config.json: sliding_window: is missing"):
        model_shape(config, "x/config.json")
