"""The base of all modes and what they are told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import TypeAdapter, ValidationError

from serving.modes import MODES, AnyMode
from serving.modes.mode import EngineContext, Mode, Observation
from serving.modes.quantized_weights import QuantizedWeights

HITS = "vllm:prefix_cache_hits_total"


class Plain(Mode):
    """A mode that fills nothing in."""

    tokens: int | None = None


def seen(before: float | None, after: float | None) -> Observation:
    def sample(value: float | None) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        return {} if value is None else {(HITS, (("engine", "0"),)): value}

    return Observation(sample(before), sample(after), {})


def test_a_counter_moves_by_what_it_grew() -> None:
    assert seen(128, 384).moved(HITS) == 256
    assert seen(None, 384).moved(HITS) == 384


def test_a_metric_that_is_absent_did_not_move_by_zero() -> None:
    assert seen(None, None).moved(HITS) is None
    assert seen(1, 2).moved(HITS, engine="1") is None


def test_series_are_summed_by_the_labels_asked_for() -> None:
    rows = {
        (HITS, (("engine", "0"), ("model_name", "m"))): 5.0,
        (HITS, (("engine", "1"), ("model_name", "m"))): 7.0,
    }
    assert Observation({}, rows, {}).moved(HITS) == 12
    assert Observation({}, rows, {}).moved(HITS, engine="1") == 7


def test_a_mode_says_what_was_asked_by_its_fields() -> None:
    assert Plain(kind="plain", tokens=512).asked() == "tokens=512"


def test_a_mode_without_evidence_is_not_said_to_be_in_effect(on_cpu: EngineContext) -> None:
    assert Plain(kind="plain").verdict(seen(1, 2), on_cpu).in_effect is None


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_listed_by_its_kind_summary_and_flags(mode: type[Mode]) -> None:
    assert mode.model_fields["kind"].default
    assert mode.summary
    assert all(flag.startswith("--") for flag in mode.owns)


def test_every_kind_runs_and_says_what_shows_it() -> None:
    assert all(mode.runs and mode.evidence for mode in MODES)


def test_types_are_not_coerced_and_unknown_keys_not_dropped() -> None:
    any_mode: TypeAdapter[object] = TypeAdapter(AnyMode)
    with pytest.raises(ValidationError, match="bool"):
        any_mode.validate_python({"kind": "prefix_cache", "enabled": "yes"})
    with pytest.raises(ValidationError, match="extra"):
        any_mode.validate_python({"kind": "prefix_cache", "enable": True})


def answers(*texts: str, reference: tuple[str, ...] | None) -> Observation:
    return Observation({}, {}, {}, answers=texts, reference=reference)


def test_equal_answers_are_told_beside_the_evidence(on_cpu: EngineContext) -> None:
    verdict = Plain(kind="plain").judge(answers("a", "b", reference=("a", "b")), on_cpu)
    assert verdict.evidence.endswith("; all 2 greedy answers are the reference's")
    assert verdict.warnings == ()


def test_other_answers_are_a_warning_that_turns_no_verdict(on_cpu: EngineContext) -> None:
    verdict = Plain(kind="plain").judge(answers("a", "b c", reference=("a", "b d")), on_cpu)
    assert verdict.in_effect is None
    assert verdict.warnings == (
        "greedy answers changed: answer 2 parts from the reference at word 2 (character 3): "
        "'c' where it had 'd'",
    )


def test_without_a_reference_it_is_said_how_to_have_one(on_cpu: EngineContext) -> None:
    verdict = Plain(kind="plain").judge(answers("a", reference=None), on_cpu)
    assert verdict.not_compared == "no reference answers yet: serve once without modes to have them"
    beside = replace(on_cpu, kinds=frozenset({"plain", "quantized_kv"}))
    verdict = Plain(kind="plain").judge(answers("a", reference=None), beside)
    assert verdict.not_compared is not None
    assert "serve once with no other mode than quantized_kv" in verdict.not_compared


def test_a_mode_that_changes_answers_by_nature_is_not_compared(on_cpu: EngineContext) -> None:
    verdict = QuantizedWeights(format="fp8_per_block").judge(answers("a", reference=("b",)), on_cpu)
    assert verdict.warnings == ()
