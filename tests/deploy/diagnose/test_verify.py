"""The A/B of a lever as a study, and its outcome beside the prediction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.diagnosed import ratio, study_of_ratios

from deploy.diagnose.advice import Ranked
from deploy.diagnose.evidence import Evidence
from deploy.diagnose.levers import LEVERS
from deploy.diagnose.predict import KV_TOKENS, OUTPUT, TPOT, TTFT, Gain
from deploy.diagnose.verify import CONTROL, LOAD, MEASURES, load_as_seen, study_document, trials_of
from deploy.study.measures import BY_NAME
from deploy.study.reading import study_of
from deploy.study.results import Ratio, Summary
from serving.config.document import Document

FP8 = {"modes": [{"kind": "quantized_kv", "format": "fp8"}]}
ROW = next(lever for lever in LEVERS if lever.id == "kv-dtype")
LEVER = Ranked(ROW, FP8, (Gain(KV_TOKENS, 2.0, 2.0, ""), Gain(TPOT, 1.02, 1.3, "")), None)
SEEN = Evidence(
    source="e", seconds=60, requests=100, running_mean=6.4, waiting_mean=1.1, prompt_tokens=12_840,
    output_tokens=3_210,
)  # fmt: skip


def told(*ratios: Ratio) -> Summary:
    return study_of_ratios(CONTROL, *ratios)


def over_control(measure: str, workload: str | None, value: float, spread: float | None) -> Ratio:
    return ratio("kv-dtype", CONTROL, measure, workload, value, spread)


def test_the_study_is_the_deployment_with_and_without_the_lever(tmp_path: Path) -> None:
    base = tmp_path / "demo.yaml"
    base.write_text(
        "name: demo\nengine: {device: cpu, kv_cache_memory: 64MiB}\nmodes: [{kind: prefix_cache}]\n"
    )
    data = study_document(str(base), "kv-dtype", FP8, load_as_seen(SEEN), repeats=2)
    study = study_of(Document("verify", data, {}), tmp_path / "elsewhere")
    assert [arm.name for arm in study.arms] == [CONTROL, "kv-dtype"]
    assert study.control == CONTROL
    assert [[mode.kind for mode in arm.deployment.modes] for arm in study.arms] == [
        ["prefix_cache"],
        ["prefix_cache", "quantized_kv"],
    ]
    assert list(study.workloads) == [LOAD]
    assert study.file.repeats == 2


def test_a_load_as_it_was_seen_has_its_users_and_lengths() -> None:
    load = load_as_seen(SEEN, 30)
    assert load["arrival"] == {"process": "closed", "concurrency": 8, "duration": "30s"}
    assert (load["prompts"]["input_tokens"], load["prompts"]["output_tokens"]) == (128, 32)
    with pytest.raises(ValueError, match="not seen"):
        load_as_seen(replace(SEEN, requests=None))


def test_every_predicted_measure_is_one_that_a_study_tells() -> None:
    for where in MEASURES.values():
        assert BY_NAME[where.measure].better == ("lower" if where.fewer_is_better else "higher")


def test_measured_ratios_stand_beside_what_was_predicted() -> None:
    found = told(
        over_control("kv_cache_tokens", None, 2.0, 0.0),
        over_control("tpot_mean_s", LOAD, 0.8, 0.1),
        over_control("output_tokens_per_s", LOAD, 1.25, None),
    )
    trials = {
        t.measure: t for t in trials_of(LEVER, found, model="m", at="2026-11-29T23:00:00Z", study="runs/x")
    }
    assert set(trials) == {KV_TOKENS, TPOT, OUTPUT}
    tokens, tpot, output = trials[KV_TOKENS], trials[TPOT], trials[OUTPUT]
    assert (tokens.predicted_low, tokens.measured, tokens.held) == (2.0, 2.0, True)
    # A TPOT of 0.8 [0.72, 0.88] of the control's is a gain of 1.25 [1.136, 1.389].
    assert tpot.measured == pytest.approx(1.25)
    assert tpot.measured_low == pytest.approx(1.136, abs=0.001)
    assert tpot.measured_high == pytest.approx(1.389, abs=0.001)
    assert (output.predicted_low, output.measured_low, output.held) == (None, None, None)
    assert (output.lever, output.model, output.study, output.fragment) == ("kv-dtype", "m", "runs/x", FP8)


def test_what_a_study_does_not_tell_is_no_trial() -> None:
    assert list(trials_of(LEVER, told(), model="m", at="", study="")) == []
    assert TTFT in MEASURES
