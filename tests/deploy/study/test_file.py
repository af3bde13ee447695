from __future__ import annotations

from typing import Any

import pytest
from fakes.studies import STUDY

from deploy.study.file import StudyFile, combinations
from serving.config.document import Document
from serving.config.load import validate
from serving.errors import UsageError


def checked(**changes: Any) -> StudyFile:
    data = {key: value for key, value in {**STUDY, **changes}.items() if value is not None}
    return validate(Document("two.yaml", data, {}), StudyFile)


def test_what_nobody_says_has_a_default() -> None:
    file = checked(repeats=None)
    assert (file.repeats, file.hold, file.seed, file.quality, file.budget) == (3, False, 1, False, None)


def test_a_budget_is_a_time_with_its_unit() -> None:
    assert checked(budget="20min").budget == 1200.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base": "a.yaml"}, "has not one base"),
        ({"deployment": None}, "has not one base"),
        ({"arms": None}, "has not one list of arms"),
        ({"factors": {"kv": {"a": {}}}}, "has not one list of arms"),
        ({"arms": None, "factors": {"kv": {}}}, "the factor kv has no values"),
        ({"workloads": {}}, "sends nothing"),
        ({"arms": {"Bad Name": {}}}, "is no name; write lower-case"),
        ({"repeats": 0}, "repeats"),
        ({"budgets": "1h"}, "did you mean 'budget'"),
    ],
)
def test_what_does_not_make_a_study_is_told(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        checked(**changes)


def test_factors_make_every_combination_in_the_order_of_the_file() -> None:
    found = combinations({"kv": {"bf16": {}, "fp8": {}}, "users": {"1": {}, "8": {}}})
    assert list(found) == ["bf16+1", "bf16+8", "fp8+1", "fp8+8"]
    assert found["fp8+1"] == {"kv": "fp8", "users": "1"}
