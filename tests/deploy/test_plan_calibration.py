"""The share of a floor that a run reached, against figures worked out by hand."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from fakes.planning import ask

from deploy.plan_calibration import calibrate, decoding_at_once
from loadgen.run_folder import Manifest
from serving.errors import UsageError
from serving.planner.ask import Lengths

# 8 requests a second that decode for 4 s each: 32 at once.
SUMMARY: dict[str, Any] = {
    "requests_per_s": 8.0,
    "e2e_s": {"mean": 4.5},
    "ttft_s": {"mean": 0.5},
    "tpot_s": {"p50": 0.01409},
}
# At 2,048 tokens of context: prompt and half of the answer.
ASK = ask(lengths=Lengths(1792, 512, 2304, 2304))


def run(folder: Path, **changed: Any) -> str:
    (folder / "summary.json").write_text(json.dumps(SUMMARY | changed))
    return str(folder)


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"tpot_s": {"p50": "x"}}, "tpot_s.p50"),
        ({"tpot_s": {"p50": -1}}, "tpot_s.p50"),
        ({"tpot_s": {"p50": float("nan")}}, "tpot_s.p50"),
        ({"e2e_s": [1]}, "e2e_s.mean"),
        ({"requests_per_s": True}, "rate.mean"),
    ],
)
def test_what_is_no_time_is_an_error_with_file_and_key(
    tmp_path: Path, changed: dict[str, Any], key: str
) -> None:
    with pytest.raises(UsageError, match=rf"summary\.json: {key}: is .*, not a number from 0"):
        calibrate(ASK, run(tmp_path, **changed))


def test_a_run_of_another_model_or_kind_of_device_is_noted(tmp_path: Path) -> None:
    manifest = Manifest(
        name="r",
        started="",
        workload={},
        fingerprint="f",
        seed=1,
        salt="s",
        target="t",
        model=ASK.shape.name,
        metrics_urls=(),
        exact_prompts=True,
        continuous_usage=True,
        clock={},
        versions={},
        machine={},
        cache_config={"block_size": "16"},
    )

    def notes(**changed: Any) -> list[str]:
        (tmp_path / "manifest.json").write_text(json.dumps(asdict(replace(manifest, **changed))))
        found = calibrate(ASK, run(tmp_path)).shape.notes
        return [note.removeprefix(str(tmp_path)) for note in found if note not in ASK.shape.notes]

    assert notes() == []
    assert notes(model="other") == [" was of 'other': what is calibrated by it holds for that"]
    [told] = notes(cache_config={"block_size": "128"})
    assert told.startswith(" was on a CPU, by its blocks of 128 tokens")


def test_requests_past_their_first_token_are_counted_by_littles_law() -> None:
    assert decoding_at_once(SUMMARY) == 32.0
    assert decoding_at_once({"requests_per_s": 8.0, "e2e_s": None, "ttft_s": {"mean": 1.0}}) is None


def test_twice_the_floor_at_the_runs_own_batch_is_half_of_it(tmp_path: Path) -> None:
    # Llama-3.1-8B in bf16 on H100 SXM, batch 32 at 2,048 tokens: 7.045 ms (facts of the project).
    found = calibrate(ASK, run(tmp_path))
    assert found.efficiency == pytest.approx(0.5, rel=1e-3)
    assert "TPOT p50 14.1 ms at batch 32 is 2.0 times its floor" in found.efficiency_source


def test_what_is_given_stays_and_what_cannot_be_told_is_not_made_up(tmp_path: Path) -> None:
    given = ask(lengths=ASK.lengths, efficiency=0.3)
    assert calibrate(given, run(tmp_path)) is given
    assert calibrate(ASK, run(tmp_path, tpot_s={"p50": None})) is ASK
    assert calibrate(ASK, run(tmp_path, requests_per_s=None)) is ASK
    no_rates = ask(lengths=ASK.lengths, gpu=None)
    assert calibrate(no_rates, run(tmp_path)) is no_rates
