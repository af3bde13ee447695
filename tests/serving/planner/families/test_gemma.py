"""Gemma 2 and 3 against the parameter counts of the published checkpoints."""

from __future__ import annotations

from fakes.planning import config, record

from serving.planner.model import model_shape

GEMMA_2 = {
    "architectures": ["Gemma2ForCausalLM"],
    "hidden_size": 2304,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "num_hidden_layers": 26,
    "intermediate_size": 9216,
    "vocab_size": 256000,
    "sliding_window": 4096,
    "max_position_embeddings": 8192,
}
NAME = "google/gemma-3-27b-it"


def test_gemma_2_has_a_window_in_every_other_layer_from_the_first() -> None:
    found = model_shape(GEMMA_2, "config.json")
    assert found.parameters == 2_614_341_888
    assert [layer.kv.window for layer in found.layers[:4]] == [4096, None, 4096, None]


def test_gemma_3_has_norms_on_query_and_key() -> None:
    small = {**GEMMA_2, "architectures": ["Gemma3ForCausalLM"], "hidden_size": 1152, "num_attention_heads": 4}
    small |= {
        "num_key_value_heads": 1,
        "intermediate_size": 6912,
        "vocab_size": 262144,
        "sliding_window": 512,
    }
    assert model_shape(small, "config.json").parameters == 999_885_952


def test_every_sixth_layer_of_gemma_3_is_full() -> None:
    layers = model_shape(config(NAME), NAME).layers
    full = [layer for layer in layers if layer.kv.window is None]
    assert (len(full), len(layers) - len(full)) == (
        record(NAME)["layers_full"],
        record(NAME)["layers_sliding"],
    )


def test_heads_that_a_config_leaves_out_are_told() -> None:
    without = {key: value for key, value in config(NAME).items() if key != "num_attention_heads"}
    notes = model_shape({**without, "num_key_value_heads": 4}, NAME).notes
    assert "num_attention_heads is not given: 8, the family's default" in notes
