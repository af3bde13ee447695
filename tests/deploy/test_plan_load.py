"""Reading lengths, acceptances and measured times for a plan."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
from fakes.planning import ask

from deploy.plan_load import drafting, lengths, measured
from serving.errors import UsageError


def options(**given: Any) -> argparse.Namespace:
    names = "run workload input_tokens output_tokens p50_tokens p95_tokens speculate acceptance"
    names += " acceptance_by_position draft"
    return argparse.Namespace(**{**dict.fromkeys(names.split()), **given})


def test_lengths_come_from_options() -> None:
    found = lengths(options(input_tokens=100, output_tokens=20, p95_tokens=500))
    assert found is not None
    assert (found.p50_tokens, found.p95_tokens) == (120, 500)
    assert lengths(options()) is None
    with pytest.raises(UsageError, match="--input-tokens"):
        lengths(options(output_tokens=20))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"p50_tokens": 100}, "--p50-tokens: the tokens of a prompt are missing"),
        ({"input_tokens": 90, "p50_tokens": 900, "p95_tokens": 100}, "--p95-tokens: is 100, below"),
        ({"input_tokens": 900, "output_tokens": 1, "p50_tokens": 100}, "--p50-tokens: is 100, less than the"),
        ({"workload": "w.yaml", "output_tokens": 0}, "--output-tokens: --workload tells"),
        ({"workload": "w.yaml", "run": "r"}, "--workload: --run tells the lengths itself"),
        ({"run": "r", "input_tokens": 90}, "--input-tokens: --run tells the lengths itself"),
        ({"workload": "w.yaml", "p95_tokens": 90}, "--p95-tokens: --workload tells the lengths itself"),
    ],
)
def test_lengths_that_would_be_dropped_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        lengths(options(**given))


def test_lengths_come_from_a_workload(tmp_path: Path) -> None:
    workload = tmp_path / "w.yaml"
    workload.write_text(
        "name: w\narrival: {process: constant, rate: 1/s, duration: 1s}\n"
        "prompts:\n  kind: random_tokens\n  output_tokens: 50\n"
        "  input_tokens: {distribution: uniform, min: 100, max: 200}\n"
    )
    found = lengths(options(workload=str(workload)))
    assert found is not None
    assert 140 < found.input_tokens < 160
    assert 190 < found.p50_tokens < 210
    assert 240 < found.p95_tokens <= 250


def test_lengths_and_times_come_from_a_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        lengths(options(run=str(tmp_path / "none")))
    (tmp_path / "summary.json").write_text(json.dumps({"tpot_s": {"p50": 0.05}, "ttft_s": {}}))
    found = measured(str(tmp_path))
    assert (found["tpot_measured_s"].value, found["ttft_measured_s"].value) == (0.05, None)


def test_speculation_needs_an_acceptance() -> None:
    assert drafting(options(), ask()) is None
    with pytest.raises(UsageError, match="give --speculate K too"):
        drafting(options(acceptance=0.7), ask())
    with pytest.raises(UsageError, match="needs an acceptance"):
        drafting(options(speculate=4), ask())
    with pytest.raises(UsageError, match="--acceptance: is 2"):
        drafting(options(speculate=4, acceptance=2), ask())
    with pytest.raises(UsageError, match="no list of shares"):
        drafting(options(speculate=4, acceptance_by_position="0.8,x"), ask())
    found = drafting(options(speculate=2, acceptance_by_position="0.8,0.6,0.4"), ask())
    assert found is not None
    assert found.positions == (0.8, 0.6)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"acceptance_by_position": "0.8,0.6"}, "tells 2 positions and 4 tokens are drafted"),
        ({"acceptance_by_position": "0.4,0.8,0.3,0.2"}, "rises"),
        ({"acceptance_by_position": ""}, "no list of shares"),
        ({"acceptance_by_position": "0.9,nan,0.1,0"}, "no list of shares"),
        ({"acceptance_by_position": "0.8,0.6,0.5,0.4", "acceptance": 0.7}, "both tell the acceptance"),
        ({"acceptance": float("nan")}, "--acceptance: is nan"),
    ],
)
def test_an_acceptance_that_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        drafting(options(speculate=4, **given), ask())
