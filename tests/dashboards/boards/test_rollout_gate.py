"""What a rollout says of itself, from what the gateway exposes of it, by Prometheus' own engine."""

from __future__ import annotations

import pytest
from fakes.promtool import needs_promtool, queries_give

from dashboards.boards.rollout_gate import GATE
from dashboards.promql import substitute

VALUES = {"deployment": "d", "__rate_interval": "4m"}
QUERIES = {panel.key: [substitute(q.expr, VALUES) for q in panel.queries] for panel in GATE.panels}


@pytest.mark.slow
@needs_promtool
def test_the_state_the_checks_and_the_silence_are_told() -> None:
    where = 'deployment="d", revision="v2"'
    samples = {
        f'teapot_rollout_state{{{where}, state="baking"}}': "1x10",
        f'teapot_rollout_state{{{where}, state="holding"}}': "0x10",
        f'teapot_rollout_check{{{where}, check="errors", answer="fail"}}': "1x10",
        f'teapot_rollout_check{{{where}, check="errors", answer="pass"}}': "0x10",
        f"teapot_rollout_told_timestamp_seconds{{{where}}}": "480x10",
        f"teapot_rollout_requests{{{where}}}": "250x10",
        f"teapot_rollout_min_requests{{{where}}}": "600x10",
        f'teapot_rollout_looks_total{{{where}, verdict="fail"}}': "0+2x10",
    }
    (state,), (checks,), (silence,) = (QUERIES[f"rollout_{key}"] for key in ("state", "checks", "silence"))
    requests, needed = QUERIES["rollout_requests"]
    (looks,) = QUERIES["rollout_looks"]
    told = {
        state: [('{revision="v2", state="baking"}', 1.0)],
        checks: [('{revision="v2", check="errors", answer="fail"}', 1.0)],
        silence: [("{}", 120.0)],
        requests: [('{revision="v2"}', 250.0)],
        needed: [("{}", 600.0)],
        looks: [('{verdict="fail"}', 8.0)],
    }
    queries_give(samples, "10m", told)
