"""How many positions a model has, as vLLM derives them.

Expected values are worked out by hand from vllm 0.32.0 config/model.py _get_and_verify_max_len.
"""

from __future__ import annotations

from typing import Any

import pytest

from serving.errors import UsageError
from serving.planner.fields import Fields
from serving.planner.positions import Positions, read_positions


def positions(**config: Any) -> Positions:
    return read_positions(Fields({"max_position_embeddings": 4096, **config}, "config.json"))


def test_without_rope_scaling_the_positions_are_the_configs() -> None:
    assert positions() == Positions(4096, 4096)


@pytest.mark.parametrize(
    ("rope", "most"),
    [
        ({"type": "linear", "factor": 2.5}, 10240),
        ({"rope_type": "dynamic", "factor": 4.0}, 16384),
        ({"factor": 2}, 8192),
        ({"rope_type": "default"}, 4096),
        ({"rope_type": "linear", "factor": None}, 4096),
        ({"rope_type": "llama3", "factor": 8.0}, 4096),
        ({"type": "yarn", "factor": 40, "original_max_position_embeddings": 1024}, 4096),
        ({"rope_type": "deepseek_yarn", "factor": 40}, 4096),
    ],
)
@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_the_factor_raises_the_positions_but_for_kinds_that_have_it_in_them(
    key: str, rope: dict[str, Any], most: int
) -> None:
    assert positions(**{key: rope}) == Positions(most, most)


def test_a_model_of_longrope_is_served_at_its_original_length_and_takes_more() -> None:
    """Phi 3 with 128k: vLLM takes 4,096 where nobody says."""
    found = positions(
        max_position_embeddings=131072,
        original_max_position_embeddings=4096,
        rope_scaling={"type": "longrope"},
    )
    assert found == Positions(131072, 4096)


def test_kinds_of_layers_have_ropes_of_their_own() -> None:
    ropes = {
        "full_attention": {"rope_type": "linear", "factor": 8.0},
        "sliding_attention": {"rope_type": "default"},
    }
    assert positions(rope_parameters=ropes).most == 32768


def test_gemma_3_has_the_factor_in_its_positions() -> None:
    rope = {"rope_type": "linear", "factor": 8.0}
    assert positions(model_type="gemma3_text", rope_scaling=rope).most == 4096


def test_model_max_length_takes_the_place_of_the_positions() -> None:
    assert positions(model_max_length=2048).most == 2048


def test_where_nothing_is_said_a_note_tells_what_is_taken() -> None:
    fields = Fields({}, "config.json")
    assert read_positions(fields).most == 131072
    assert fields.notes == ["max_position_embeddings is not given: 131072 is taken"]


@pytest.mark.parametrize("factor", ["4", 0, -1.0, True, float("nan"), float("inf"), 10**400])
def test_an_absurd_factor_is_refused_with_its_key(factor: object) -> None:
    with pytest.raises(UsageError, match=r"config.json: rope_scaling.factor: is .*, not a number above 0"):
        positions(rope_scaling={"type": "linear", "factor": factor})


def test_a_factor_that_makes_absurdly_many_positions_is_refused() -> None:
    with pytest.raises(UsageError, match=r"rope_scaling.factor: makes 4096 positions"):
        positions(rope_scaling={"type": "linear", "factor": 1e6})


def test_a_rope_that_is_no_object_is_refused() -> None:
    with pytest.raises(UsageError, match="rope_scaling: is 'linear', not an object"):
        positions(rope_scaling="linear")
