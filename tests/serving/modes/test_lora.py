"""LoRA adapters: fields, flags and evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from serving.modes.lora import Lora
from serving.modes.mode import EngineContext, Observation

TWO = Lora(adapters={"sql": "adapters/sql", "legal": "org/legal"}, max_rank=32, max_active=2)


def test_it_says_its_adapters() -> None:
    assert TWO.asked() == "sql, legal"


@pytest.mark.parametrize(
    ("adapters", "message"),
    [
        ({}, "at least 1"),
        ({"a=b": "x"}, "cannot be an adapter's name"),
        ({"a,b": "x"}, "cannot be an adapter's name"),
        ({"a": "x,y"}, "has a comma in its place"),
        ({"a": " "}, "has no place"),
    ],
)
def test_adapters_that_vllm_would_misread_are_refused(adapters: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Lora(adapters=adapters)


def test_all_adapters_follow_one_flag(on_cpu: EngineContext) -> None:
    found = replace(on_cpu, paths={"adapters/sql": "/srv/adapters/sql"})
    assert TWO.flags(found) == (
        ("--enable-lora", None),
        ("--max-lora-rank", "32"),
        ("--max-loras", "2"),
        ("--lora-modules", ("sql=/srv/adapters/sql", "legal=org/legal")),
    )


BASE = ("Paris.", "boil water")
OFFERED = ("smollm2-135m", "sql", "legal")


def test_adapters_that_are_offered_and_change_answers_show_it(on_cpu: EngineContext) -> None:
    other = {"sql": ("SELECT", "boil water"), "legal": ("whereas", "hereby")}
    found = TWO.verdict(Observation({}, {}, {}, answers=BASE, models=OFFERED, answers_by=other), on_cpu)
    assert (found.in_effect, found.evidence) == (
        True,
        "/v1/models offers sql, legal; each answers otherwise than the model itself",
    )


def test_an_adapter_that_changes_no_answer_cannot_tell(on_cpu: EngineContext) -> None:
    for other in ({"sql": ("SELECT", "x"), "legal": BASE}, {"sql": ("SELECT", "x")}):
        found = TWO.verdict(Observation({}, {}, {}, answers=BASE, models=OFFERED, answers_by=other), on_cpu)
        assert found.in_effect is None
        assert "nothing shows legal in 2 greedy answers" in found.evidence


def test_an_adapter_that_is_not_offered_is_not_in_effect(on_cpu: EngineContext) -> None:
    missing = TWO.verdict(Observation({}, {}, {}, models=("smollm2-135m", "sql")), on_cpu)
    assert (missing.in_effect, missing.evidence) == (
        False,
        "/v1/models lacks legal; it has smollm2-135m, sql",
    )
    assert TWO.verdict(Observation({}, {}, {}), on_cpu).in_effect is None
