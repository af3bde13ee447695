"""The words that the facts say labels may have are those that the code may say."""

from __future__ import annotations

from typing import get_args

import pytest

from serving.facts.load import own_metrics
from serving.gateway.backends import Role
from serving.gateway.objectives import Objectives
from serving.gateway.outcome import Fallback, OutcomeKind, Traffic

WORDS = {
    "outcome": set(get_args(OutcomeKind)),
    "traffic": set(get_args(Traffic)),
    "reason": set(get_args(Fallback)),
    "slo": set(Objectives(ttft_s=1, tpot_s=1, e2e_s=1).targets()),
    "met": {"true", "false"},
    "streamed": {"true", "false"},
    "connection": {"new", "reused"},
}
ROWS = [(key, label) for key, row in own_metrics().items() for label in row.values]


@pytest.mark.parametrize(("key", "label"), ROWS)
def test_a_label_has_the_words_of_its_type(key: str, label: str) -> None:
    told = set(own_metrics()[key].values[label])
    if key == "slo_threshold":
        assert told == {"ttft", "tpot", "e2e"}
    elif label == "role":
        assert told - {"none"} == set(get_args(Role))
    else:
        assert told == WORDS[label]
