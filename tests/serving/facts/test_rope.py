"""Ropes where configs have them, and which of their factors lengthen.

Expected values are read by eye from vllm 0.32.0 config/model.py _get_and_verify_max_len.
"""

from __future__ import annotations

from typing import Any

import pytest

from serving.facts.rope import factors, kind, lengthened, positions_key, rope_key, ropes

LINEAR = {"rope_type": "linear", "factor": 8.0}


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({}, []),
        ({"rope_scaling": None}, []),
        ({"rope_scaling": "linear"}, []),
        ({"rope_scaling": LINEAR}, [("rope_scaling.factor", 8.0)]),
        ({"rope_scaling": LINEAR, "rope_parameters": {"rope_type": "default"}}, []),
        ({"rope_parameters": {"full": LINEAR, "sliding": None}}, [("rope_parameters.full.factor", 8.0)]),
        ({"rope_scaling": {"type": "yarn", "factor": 4}}, []),
        ({"rope_scaling": {"factor": "x"}}, [("rope_scaling.factor", "x")]),
        ({"rope_scaling": LINEAR, "model_type": "gemma3_text"}, []),
    ],
)
def test_factors_that_lengthen_are_found_with_their_keys(config: dict[str, Any], found: list[Any]) -> None:
    assert list(factors(config.get)) == found


def test_a_length_of_the_models_own_comes_before_its_positions() -> None:
    assert (
        positions_key({"model_max_length": 2048, "max_position_embeddings": 4096}.get) == "model_max_length"
    )
    assert positions_key({"model_max_length": None}.get) == "max_position_embeddings"


def test_positions_are_whole_and_never_none() -> None:
    assert (lengthened(4096, 2.5), lengthened(3, 1.5), lengthened(1, 0.25)) == (10240, 4, 1)


def test_the_newer_key_comes_first() -> None:
    both = {"rope_scaling": LINEAR, "rope_parameters": {"type": "su"}}
    assert rope_key(both.get) == "rope_parameters"
    assert [kind(rope) for _, rope in ropes(both.get)] == ["su"]
    assert kind({"rope_type": "llama3", "type": "su"}) == "llama3"
