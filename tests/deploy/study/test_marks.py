from __future__ import annotations

import pytest

from dashboards.marks import Kind
from deploy.study.marks import mark_of, marked_study
from serving.errors import UsageError


def test_studies_and_starts_are_of_one_kind_and_cells_of_another():
    assert mark_of("study", "begins", 1.0, None).kind is Kind.STUDY
    assert mark_of("start", "fp8 starts", 1.0, None).kind is Kind.STUDY
    assert mark_of("cell", "fp8 · chat", 1.0, None).tags[-1] == "kind:cell"


def test_without_a_grafana_nobody_hears_and_nothing_is_said():
    said: list[str] = []
    with marked_study(None, "two", said.append, {}) as mark:
        mark("cell", "fp8 · chat")
    assert said == []


def test_a_grafana_without_a_token_is_refused():
    with pytest.raises(UsageError), marked_study("http://127.0.0.1:1", "two", print, {}):
        pass
