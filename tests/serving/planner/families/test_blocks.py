"""The parts of models: their sizes by hand."""

from __future__ import annotations

import pytest

from serving.errors import UsageError
from serving.planner.families.blocks import (
    Experts,
    Heads,
    attention,
    experts,
    gated_mlp,
    plain_mlp,
    read_heads,
)
from serving.planner.fields import Fields

HEADS = Heads(hidden=10, query=4, kv=2, dim=3)


def test_attention_has_four_matrices_and_what_is_asked_besides() -> None:
    plain = sum(t.parameters for t in attention(HEADS))
    assert plain == 10 * 12 + 10 * 6 + 10 * 6 + 12 * 10
    more = sum(t.parameters for t in attention(HEADS, qkv_bias=True, out_bias=True, qk_norm=True))
    assert more - plain == (12 + 6 + 6) + 10 + (3 + 3)


def test_feed_forwards_have_three_matrices_or_two() -> None:
    assert sum(t.parameters for t in gated_mlp(10, 7)) == 3 * 70
    assert sum(t.parameters for t in plain_mlp(10, 7, bias=True)) == 2 * 70 + 7 + 10


def test_experts_count_all_and_use_few() -> None:
    found = experts(10, Experts(8, 2, 7))
    assert sum(t.parameters for t in found) == 8 * 10 + 8 * 3 * 70
    assert sum(t.active_parameters for t in found) == 8 * 10 + 2 * 3 * 70


def test_heads_that_do_not_divide_are_an_error() -> None:
    config = {"hidden_size": 10, "num_attention_heads": 4, "num_key_value_heads": 4}
    with pytest.raises(UsageError, match=r"c.json: head_dim: is missing, and 10 is no multiple of 4 heads"):
        read_heads(Fields(config, "c.json"))
    with pytest.raises(UsageError, match="num_key_value_heads: is 3, which does not divide 4 heads"):
        read_heads(Fields({**config, "head_dim": 3, "num_key_value_heads": 3}, "c.json"))


ALL_HEADS = {"hidden_size": 12, "num_attention_heads": 4}


@pytest.mark.parametrize("kind", ["llama", "phi", "phi3"])
def test_a_type_that_may_leave_kv_heads_out_has_as_many_as_heads_and_that_is_noted(kind: str) -> None:
    """transformers: LlamaConfig, PhiConfig and Phi3Config have None there, and take the attention heads."""
    fields = Fields({**ALL_HEADS, "model_type": kind}, "c.json")
    assert read_heads(fields).kv == 4
    assert fields.notes == ["num_key_value_heads is not given: 4, as many as attention heads"]


@pytest.mark.parametrize("kind", ["mistral", "qwen2", "qwen3_moe", "mixtral", "gpt_oss", "phimoe"])
def test_a_type_that_always_says_its_kv_heads_is_refused_without(kind: str) -> None:
    """transformers would take 8, 32, 4, 8, 8 and 8, whatever the model has."""
    with pytest.raises(UsageError, match=r"c.json: num_key_value_heads: is missing"):
        read_heads(Fields({**ALL_HEADS, "model_type": kind}, "c.json"))
