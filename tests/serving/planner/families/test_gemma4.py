"""Gemma 4 against the golden record: many small heads in windows, few wide ones without."""

from __future__ import annotations

from fakes.planning import config, record

from serving.planner.model import model_shape
from serving.planner.shape import AttentionKv

NAME = "google/gemma-4-26B-A4B"


def test_windows_and_full_layers_have_heads_of_their_own() -> None:
    layers = model_shape(config(NAME), NAME).layers
    kinds = [layer.kv for layer in layers]
    assert kinds.count(AttentionKv(8, 256, 1024)) == record(NAME)["layers_sliding"]
    assert kinds.count(AttentionKv(2, 512)) == record(NAME)["layers_full"]


def test_full_layers_whose_values_are_their_keys_lack_a_matrix_and_keep_both() -> None:
    equal = model_shape(config(NAME), NAME)
    apart = model_shape({**config(NAME), "attention_k_eq_v": False}, NAME)
    assert apart.parameters - equal.parameters == 5 * 2 * 512 * 2816
    assert apart.layers[5].kv == equal.layers[5].kv


def test_keys_that_are_values_too_are_held_twice() -> None:
    tensors = model_shape(config(NAME), NAME).layers[5].tensors
    assert {tensor.name: tensor.held for tensor in tensors if tensor.name.endswith("_proj")}["k_proj"] == 2


def test_layers_that_share_a_cache_keep_none() -> None:
    found = model_shape({**config(NAME), "num_kv_shared_layers": 10}, NAME)
    assert [layer.kv is None for layer in found.layers] == [False] * 20 + [True] * 10
    # Full layers read the last full one that keeps its own, windows the last window.
    assert [layer.shares for layer in found.layers[20:24]] == [19, 19, 19, 17]
    assert found.notes[-1] == "the last 10 layers read the cache of earlier ones"


def test_a_vector_for_every_layer_is_a_second_embedding() -> None:
    plain, more = (model_shape({**config(NAME), "hidden_size_per_layer_input": n}, NAME) for n in (0, 256))
    each = 2 * 256 * 2816 + 2816
    active = more.active_parameters - plain.active_parameters
    assert active == 30 * 256 * 2816 + 256 + 30 * each
    assert more.parameters - plain.parameters == 262144 * 30 * 256 + 30 * 256 * 2816 + 256 + 30 * each
