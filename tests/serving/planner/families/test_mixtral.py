"""Mixtral against the golden record."""

from __future__ import annotations

import pytest
from fakes.planning import config, record

from serving.errors import UsageError
from serving.planner.model import model_shape

NAME = "mistralai/Mixtral-8x7B-v0.1"


def test_all_experts_count_and_two_of_eight_are_active() -> None:
    found = model_shape(config(NAME), NAME)
    assert found.parameters == record(NAME)["params_total"]
    assert found.active_parameters == record(NAME)["params_active"]


def test_more_active_experts_than_there_are_is_an_error() -> None:
    with pytest.raises(UsageError, match="num_experts_per_tok: is 9, more than the 8 experts"):
        model_shape({**config(NAME), "num_experts_per_tok": 9}, NAME)
