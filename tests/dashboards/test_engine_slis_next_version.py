"""vLLM's next version has every metric that boards and alerts ask of engines, as the same type."""

from __future__ import annotations

from pathlib import Path

import pytest

from serving.facts.load import engine_metrics

SOURCE = Path(__file__).parents[1] / "golden" / "metrics" / "vllm-0.33.0-source.txt"
SEEN = {
    name: kind
    for kind, name in (line.split() for line in SOURCE.read_text().splitlines() if not line.startswith("#"))
}


@pytest.mark.parametrize("key", sorted(engine_metrics()))
def test_a_metric_of_ours_is_in_its_source(key: str) -> None:
    row = engine_metrics()[key]
    name = row.name.removesuffix("_total") if row.type == "counter" else row.name
    assert SEEN.get(name) == ("gauge" if row.type == "info" else row.type)
