"""Llama 4 Scout: chunks in three of four layers, one expert of sixteen and a shared one."""

from __future__ import annotations

from fakes.planning import config, record

from serving.planner.model import model_shape
from serving.planner.shape import AttentionKv

NAME = "meta-llama/Llama-4-Scout-17B-16E-Instruct"


def test_every_fourth_layer_is_full_and_the_others_are_chunked() -> None:
    layers = model_shape(config(NAME), NAME).layers
    assert [index for index, layer in enumerate(layers) if not layer.kv.chunked] == list(range(3, 48, 4))


def test_all_layers_together_keep_what_the_golden_record_says() -> None:
    kept = [layer.kv for layer in model_shape(config(NAME), NAME).layers]
    found = sum(kv.heads * kv.head_dim * 4 for kv in kept if isinstance(kv, AttentionKv))
    assert found == record(NAME)["kv_bytes_per_token_bf16_all"]


def test_seventeen_of_a_hundred_and_eight_billion_are_active() -> None:
    found = model_shape(config(NAME), NAME)
    assert round(found.parameters / 1e9) == 108
    assert round(found.active_parameters / 1e9) == 17


def test_no_rope_layers_say_which_layers_are_full() -> None:
    found = model_shape({**config(NAME), "no_rope_layers": [0] + [1] * 47}, NAME)
    assert [layer.kv.chunked for layer in found.layers[:2]] == [False, True]


def test_layers_between_mixtures_are_dense() -> None:
    found = model_shape(
        {**config(NAME), "interleave_moe_layer_step": 2, "intermediate_size_mlp": 16384}, NAME
    )
    dense = [not any(t.role == "expert" for t in layer.tensors) for layer in found.layers]
    assert dense == [True, False] * 24
