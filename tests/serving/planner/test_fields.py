"""Reading fields: what is wrong is told with file and key, what is assumed is noted."""

from __future__ import annotations

import pytest

from serving.errors import UsageError
from serving.planner.fields import Fields


def test_the_text_part_comes_first_and_the_outer_part_stands_in() -> None:
    fields = Fields({"text_config": {"a": 1}, "a": 2, "b": 3}, "c.json")
    assert (fields.count("a"), fields.count("b")) == (1, 3)


def test_what_is_assumed_is_noted_once() -> None:
    fields = Fields({}, "c.json")
    assert fields.assumed("window", default=7) == fields.assumed("window", default=7) == 7
    assert fields.notes == ["window is not given: 7, the family's default"]


def test_a_flag_is_true_or_false() -> None:
    with pytest.raises(UsageError, match=r"c.json: tied: is 'yes', not true or false"):
        Fields({"tied": "yes"}, "c.json").flag("tied", False)


def test_a_list_has_one_known_word_for_each_layer() -> None:
    with pytest.raises(UsageError, match="kinds: has 1 entries for 2 layers"):
        Fields({"kinds": ["a"]}, "c.json").words("kinds", ("a",), 2)
    with pytest.raises(UsageError, match="kinds: has 'b', and only a are known"):
        Fields({"kinds": ["b"]}, "c.json").words("kinds", ("a",), 1)


def test_no_model_has_so_many_layers() -> None:
    with pytest.raises(UsageError, match="more than any model has"):
        Fields({"num_hidden_layers": 20_000}, "c.json").layers()


@pytest.mark.parametrize(
    "key",
    ["num_attention_heads", "num_key_value_heads", "vocab_size", "hidden_size", "num_experts", "head_dim"],
)
def test_no_model_has_ten_million_of_anything_but_positions(key: str) -> None:
    with pytest.raises(UsageError, match=rf"c.json: {key}: is 10000000, not a whole number from 1 to"):
        Fields({key: 10_000_000}, "c.json").count(key)
    long = Fields({"max_position_embeddings": 10_485_760}, "c.json")
    assert long.count("max_position_embeddings") == 10_485_760
