from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from fakes.study_summaries import summary
from pydantic import TypeAdapter

from deploy.study.results import Missing, Summary


def test_a_summary_is_json_and_comes_back_as_it_was():
    one = summary()
    assert TypeAdapter(Summary).validate_json(json.dumps(asdict(one))) == one


def test_measures_and_ratios_are_found_by_what_they_are_of():
    one = summary()
    found = one.find("kv_cache_tokens", arm="fp8")
    assert found is not None
    assert found.figure.value == 186368
    ratio = one.ratio("output_tokens_per_s", arm="fp8", workload="chat")
    assert ratio is not None
    assert ratio.figure.value == 1.1
    assert one.find("kv_cache_tokens", arm="fp8", workload="chat") is None
    assert one.ratio("output_tokens_per_s", arm="plain", workload="chat") is None


def test_a_measure_of_all_arms_comes_in_their_order():
    assert [row.arm for row in summary().of("output_tokens_per_s", "chat")] == ["plain", "fp8"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"missing": (Missing(what="arm", id="a", arm="a", reason="ruled out"),)}, 0),
        ({"missing": (Missing(what="start", id="001-a", arm="a", reason="no memory"),)}, 3),
        ({"missing": (Missing(what="cell", id="001-a-x", arm="a", reason="not reached"),)}, 3),
        ({"doubts": ("001-a-x: too short",)}, 3),
        ({"complete": False}, 3),
    ],
)
def test_what_is_missing_not_valid_or_not_ended_is_inconclusive_and_what_was_ruled_out_is_not(changes, code):
    whole = {"missing": (), "doubts": (), "complete": True}
    assert replace(summary(), **{**whole, **changes}).exit_code == code
