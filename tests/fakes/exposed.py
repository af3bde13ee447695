"""What a Prometheus beside a deployment can know: a real engine's capture, and the facts of exporters."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from dashboards.catalogue import Series, captured, declared, of_prometheus
from dashboards.lint_rules import with_recorded
from serving.facts.load import engine_metrics, load_metrics, own_metrics, rollout_metrics

CAPTURE = Path(__file__).parents[1] / "golden" / "metrics" / "vllm-0.32.0.txt"
GENERATED = Path(__file__).parents[2] / "dashboards" / "generated"


@cache
def catalogue() -> dict[str, Series]:
    """Everything: the capture, and rows of the facts for what is not in it."""
    capture = captured(CAPTURE.read_text(encoding="utf-8"), "engine")
    series = {
        **declared(engine_metrics().values(), "engine"),
        **capture,
        **declared(own_metrics().values(), "gateway"),
        **declared(rollout_metrics().values(), "gateway"),
        **declared(load_metrics().values(), "load"),
        **of_prometheus(),
    }
    return with_recorded(yaml.safe_load((GENERATED / "rules.yaml").read_text(encoding="utf-8")), series)
