"""Phi 2, 3 and 3.5-MoE against the parameter counts of the published checkpoints."""

from __future__ import annotations

from serving.planner.model import model_shape

PHI_3 = {
    "architectures": ["Phi3ForCausalLM"],
    "hidden_size": 3072,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "num_hidden_layers": 32,
    "intermediate_size": 8192,
    "vocab_size": 32064,
    "max_position_embeddings": 4096,
    "sliding_window": 2047,
}


def test_phi_3_is_laid_out_like_llama_with_a_window() -> None:
    found = model_shape(PHI_3, "config.json")
    assert found.parameters == 3_821_079_552
    assert found.layers[0].kv.window == 2047


def test_phi_2_has_biases_everywhere_and_one_norm_a_layer() -> None:
    phi_2 = {**PHI_3, "architectures": ["PhiForCausalLM"], "hidden_size": 2560, "intermediate_size": 10240}
    assert model_shape({**phi_2, "vocab_size": 51200}, "config.json").parameters == 2_779_683_840


def test_phi_3_5_moe_has_sixteen_experts() -> None:
    moe = {**PHI_3, "architectures": ["PhiMoEForCausalLM"], "hidden_size": 4096, "num_key_value_heads": 8}
    moe |= {"intermediate_size": 6400, "num_local_experts": 16, "num_experts_per_tok": 2}
    found = model_shape({**moe, "attention_bias": True, "lm_head_bias": True}, "config.json")
    assert found.parameters == 41_873_153_344
