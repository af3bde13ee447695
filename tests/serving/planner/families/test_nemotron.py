"""Nemotron and Nemotron-H: each block is one thing, by its pattern."""

from __future__ import annotations

import pytest
from fakes.planning import config, record

from serving.errors import UsageError
from serving.planner.model import model_shape
from serving.planner.shape import AttentionKv, StateKv

NAME = "nvidia/Nemotron-H-56B-Base-8K"


def test_only_ten_of_its_layers_keep_a_cache() -> None:
    kinds = [type(layer.kv) for layer in model_shape(config(NAME), NAME).layers]
    assert kinds.count(AttentionKv) == record(NAME)["layers_full"]
    assert kinds.count(StateKv) == record(NAME)["layers_mamba"]


def test_nemotron_h_8b_has_eight_billion_parameters() -> None:
    small = {**config(NAME), "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 52}
    small |= {"intermediate_size": 21504, "mamba_num_heads": 128, "ssm_state_size": 128, "head_dim": 128}
    small |= {"hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"}
    assert round(model_shape(small, "8b").parameters / 1e9, 1) == 8.1


def test_without_its_pattern_it_is_refused() -> None:
    without = {key: value for key, value in config(NAME).items() if key != "hybrid_override_pattern"}
    with pytest.raises(UsageError, match="hybrid_override_pattern: is missing"):
        model_shape(without, "config.json")


@pytest.mark.parametrize(("pattern", "said"), [("M-", "2 letters for 118 layers"), ("MX" * 59, "has 'X'")])
def test_a_pattern_that_cannot_be_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        model_shape({**config(NAME), "hybrid_override_pattern": pattern}, "config.json")


def test_words_for_the_blocks_say_the_same_as_letters() -> None:
    words = {"M": "mamba", "-": "mlp", "*": "attention"}
    listed = [words[letter] for letter in config(NAME)["hybrid_override_pattern"]]
    without = {key: value for key, value in config(NAME).items() if key != "hybrid_override_pattern"}
    found = model_shape({**without, "layers_block_type": listed}, NAME)
    assert found.layers == model_shape(config(NAME), NAME).layers


def test_experts_may_work_on_a_latent_of_the_hidden_size() -> None:
    moe = {
        **config(NAME),
        "hybrid_override_pattern": "ME" * 59,
        "n_routed_experts": 8,
        "num_experts_per_tok": 2,
    }
    moe |= {"moe_intermediate_size": 1024, "moe_shared_expert_intermediate_size": 2048, "n_shared_experts": 1}
    wide, narrow = model_shape(moe, "x"), model_shape({**moe, "moe_latent_size": 512}, "x")
    experts = 59 * 8 * 2 * 1024
    assert wide.parameters - narrow.parameters == experts * (8192 - 512) - 59 * 2 * 512 * 8192


def test_nemotron_4_has_a_plain_feed_forward_and_norms_with_a_bias() -> None:
    mini = {**config(NAME), "architectures": ["NemotronForCausalLM"], "hidden_size": 3072, "head_dim": 128}
    mini |= {
        "num_attention_heads": 24,
        "num_hidden_layers": 32,
        "intermediate_size": 9216,
        "vocab_size": 256000,
    }
    assert round(model_shape(mini, "x").parameters / 1e9, 2) == 4.19
