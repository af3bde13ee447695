"""Qwen 3.5 against the golden record: three layers with a state to one with a cache."""

from __future__ import annotations

import pytest
from fakes.planning import config, record

from serving.errors import UsageError
from serving.planner.model import model_shape
from serving.planner.shape import AttentionKv, StateKv

NAME = "Qwen/Qwen3.5-27B"


def test_every_fourth_layer_keeps_a_cache_and_the_others_a_state() -> None:
    found = model_shape(config(NAME), NAME)
    cached = [index for index, layer in enumerate(found.layers) if isinstance(layer.kv, AttentionKv)]
    assert cached == list(range(3, 64, 4))
    assert len(cached) == record(NAME)["layers_full"]


def test_the_state_is_the_convolution_and_the_recurrent_matrix() -> None:
    # By hand: 48 heads of 128 x 128; (2 * 16 * 128 + 48 * 128) channels of 3 tokens.
    assert model_shape(config(NAME), NAME).layers[0].kv == StateKv(30720, 786432, 4, heads=16)


def test_a_missing_type_of_the_state_is_told() -> None:
    assert any("mamba_ssm_dtype" in note for note in model_shape(config(NAME), NAME).notes)
    told = model_shape({**config(NAME), "mamba_ssm_dtype": "bfloat16"}, NAME)
    assert told.layers[0].kv == StateKv(30720, 786432, 2, heads=16)


def test_an_unknown_type_of_the_state_is_an_error() -> None:
    with pytest.raises(UsageError, match="mamba_ssm_dtype: is 'int8'"):
        model_shape({**config(NAME), "mamba_ssm_dtype": "int8"}, NAME)


def test_a_mixture_adds_experts_with_a_shared_one() -> None:
    mixture = {**config(NAME), "architectures": ["Qwen3_5MoeForConditionalGeneration"], "num_experts": 256}
    mixture |= {
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
    }
    found = model_shape(mixture, NAME)
    assert (found.experts, found.experts_per_token) == (256, 8)
    assert found.active_parameters < found.parameters
