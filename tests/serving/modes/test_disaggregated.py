"""Disaggregated prefill: its fields."""

from __future__ import annotations

from serving.modes.disaggregated import Disaggregated


def test_it_says_how_many_of_each_and_by_which_connector() -> None:
    mode = Disaggregated.model_validate({"prefill": 2, "connector": {"kind": "nixl"}})
    assert mode.asked() == "2 prefill + 1 decode by nixl"
