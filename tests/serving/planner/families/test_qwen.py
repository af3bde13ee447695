"""Qwen 2, 2.5 and 3 against the parameter counts of the published checkpoints."""

from __future__ import annotations

import pytest
from fakes.planning import config, record

from serving.planner.model import model_shape

SMALL = {
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 896,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "num_hidden_layers": 24,
    "intermediate_size": 4864,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
    "max_position_embeddings": 32768,
}


def test_qwen_2_has_biases_on_query_key_and_value() -> None:
    assert model_shape(SMALL, "config.json").parameters == 494_032_768


@pytest.mark.parametrize("name", ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-30B-A3B", "Qwen/Qwen2.5-7B"])
def test_the_golden_ones_have_as_many_as_their_files(name: str) -> None:
    assert model_shape(config(name), name).parameters == record(name)["params_total"]


def test_a_qwen_2_mixture_has_a_shared_expert_behind_a_gate() -> None:
    mixture = {
        **SMALL,
        "architectures": ["Qwen2MoeForCausalLM"],
        "hidden_size": 2048,
        "num_attention_heads": 16,
    }
    mixture |= {"num_key_value_heads": 16, "num_experts": 60, "num_experts_per_tok": 4}
    mixture |= {"moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632}
    assert model_shape({**mixture, "tie_word_embeddings": False}, "x").parameters == 14_315_784_192


def test_a_window_holds_from_max_window_layers_on_and_only_where_it_is_switched_on() -> None:
    asked = {**SMALL, "use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 20}
    windows = [layer.kv.window for layer in model_shape(asked, "x").layers]
    assert windows == [None] * 20 + [4096] * 4
    assert {layer.kv.window for layer in model_shape({**asked, "use_sliding_window": False}, "x").layers} == {
        None
    }
