"""The base of all modes and what they are told."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from serving.modes import MODES, AnyMode
from serving.modes.chunked_prefill import ChunkedPrefill
from serving.modes.mode import EngineContext, Mode, Observation

HITS = "vllm:prefix_cache_hits_total"


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
    assert ChunkedPrefill(max_batched_tokens=512).asked() == "enabled=True, max_batched_tokens=512"


def test_a_mode_without_evidence_is_not_said_to_be_in_effect(on_cpu: EngineContext) -> None:
    assert ChunkedPrefill().verdict(seen(1, 2), on_cpu).in_effect is None


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_listed_by_its_kind_summary_and_flags(mode: type[Mode]) -> None:
    assert mode.model_fields["kind"].default
    assert mode.summary
    assert all(flag.startswith("--") for flag in mode.owns)


def test_exactly_two_kinds_run_in_this_version() -> None:
    assert {mode.model_fields["kind"].default for mode in MODES if mode.runs} == {
        "prefix_cache",
        "quantized_kv",
    }


def test_types_are_not_coerced_and_unknown_keys_not_dropped() -> None:
    any_mode: TypeAdapter[object] = TypeAdapter(AnyMode)
    with pytest.raises(ValidationError, match="bool"):
        any_mode.validate_python({"kind": "prefix_cache", "enabled": "yes"})
    with pytest.raises(ValidationError, match="extra"):
        any_mode.validate_python({"kind": "prefix_cache", "enable": True})
