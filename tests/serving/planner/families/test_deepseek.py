"""DeepSeek V2 Lite, V3 and Kimi K2 against the parameter counts of the published checkpoints."""

from __future__ import annotations

from fakes.planning import config, record

from serving.planner.model import model_shape
from serving.planner.shape import LatentKv

V3 = "deepseek-ai/DeepSeek-V3"


def test_v3_has_as_many_as_its_files_without_the_layer_for_multi_token_prediction() -> None:
    found = model_shape(config(V3), V3)
    assert found.parameters == record(V3)["params_total"]
    assert found.active_parameters == record(V3)["params_active"]
    assert found.layers[0].kv == LatentKv(512, 64)


def test_kimi_k2_has_more_experts_and_fewer_heads() -> None:
    kimi = {**config(V3), "num_attention_heads": 64, "vocab_size": 163840, "n_routed_experts": 384}
    assert model_shape({**kimi, "first_k_dense_replace": 1}, "kimi").parameters == 1_026_408_232_448


def test_v2_lite_projects_queries_in_one_step_and_its_routers_have_no_bias() -> None:
    lite = {
        **config(V3),
        "architectures": ["DeepseekV2ForCausalLM"],
        "hidden_size": 2048,
        "num_attention_heads": 16,
        "num_hidden_layers": 27,
        "intermediate_size": 10944,
        "vocab_size": 102400,
        "n_routed_experts": 64,
        "n_shared_experts": 2,
        "num_experts_per_tok": 6,
        "moe_intermediate_size": 1408,
        "first_k_dense_replace": 1,
        "q_lora_rank": None,
    }
    assert model_shape(lite, "lite").parameters == 15_706_484_224


def test_absorbed_attention_costs_three_and_a_half_times_the_operations() -> None:
    layer = model_shape(config(V3), V3).layers[0]
    assert round(layer.cached_query_dim / layer.query_dim, 2) == 3.4
