"""Rows and findings."""

from __future__ import annotations

import pytest

from serving.modes.lora import Lora
from serving.modes.mode import EngineContext
from serving.modes.prefix_cache import PrefixCache
from serving.modes.problems.row import Asked, Hit, Row, before


@pytest.mark.parametrize(
    ("one", "other", "earlier"),
    [
        ("0.32.0", "0.33", True),
        ("0.33.0", "0.33", False),
        ("0.9.2", "0.33", True),
        ("0.33.0+cpu", "0.33", False),
        ("0.33.0rc1", "0.33.1", True),
    ],
)
def test_versions_are_compared_by_their_numbers(one: str, other: str, earlier: bool) -> None:
    assert before(one, other) is earlier


def test_a_mode_is_found_with_its_place_in_the_file(on_cpu: EngineContext) -> None:
    asked = Asked([PrefixCache(), Lora(adapters={"a": "b"})], on_cpu)
    found = asked.find(Lora)
    assert found is not None
    assert (found[0], found[1].asked()) == (1, "a")
    assert Asked([], on_cpu).find(Lora) is None


def test_a_finding_has_the_rows_reason_and_the_hits_words(on_cpu: EngineContext) -> None:
    row = Row("x", "a title", "warning", "because", "vLLM #1", lambda asked: iter([Hit(what="w", fix="f")]))
    [finding] = row.findings(Asked([], on_cpu))
    assert (finding.severity, finding.what, finding.reason, finding.source, finding.fix) == (
        "warning",
        "w",
        "because",
        "vLLM #1",
        "f",
    )
