"""Chunked prefill: flags and evidence."""

from __future__ import annotations

import pytest

from serving.modes.chunked_prefill import ChunkedPrefill
from serving.modes.mode import EngineContext, Observation

# As vLLM 0.32.0 wrote them on a CPU, the config shortened.
STEP = (
    "(APIServer pid=8118) INFO [scheduler.py:307] Chunked prefill is enabled with max_num_batched_tokens={}."
)
CONFIG = (
    "INFO [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='/m', "
    "enable_prefix_caching=True, enable_chunked_prefill={}, pooler_config=None"
)


def seen(chunked: str | None, *, longest: int | None = None, step: int | None = None) -> Observation:
    log = [CONFIG.format(chunked)] if chunked else []
    log += [STEP.format(step)] if step else []
    return Observation({}, {}, {}, log, longest_prompt_tokens=longest)


def test_both_directions_are_said_to_the_engine(on_cpu: EngineContext) -> None:
    assert ChunkedPrefill(enabled=False).flags(on_cpu) == (("--no-enable-chunked-prefill", None),)
    assert ChunkedPrefill(max_batched_tokens=512).flags(on_cpu) == (
        ("--enable-chunked-prefill", None),
        ("--max-num-batched-tokens", "512"),
    )


def test_a_prompt_longer_than_a_step_that_was_answered_shows_it(on_cpu: EngineContext) -> None:
    verdict = ChunkedPrefill(max_batched_tokens=256).verdict(seen("True", longest=538, step=256), on_cpu)
    assert (verdict.in_effect, verdict.asked) == (True, "on, max_batched_tokens=256")
    assert verdict.evidence == "a prompt of 538 tokens was answered in steps of at most 256"


@pytest.mark.parametrize(("said", "in_effect"), [("True", True), ("False", False), (None, None)])
def test_without_such_a_prompt_the_engines_word_counts(
    said: str | None, in_effect: bool | None, on_cpu: EngineContext
) -> None:
    assert ChunkedPrefill().verdict(seen(said, longest=538), on_cpu).in_effect is in_effect
    off = ChunkedPrefill(enabled=False).verdict(seen(said), on_cpu).in_effect
    assert off is (None if in_effect is None else not in_effect)


def test_steps_of_another_size_are_not_what_was_asked_for(on_cpu: EngineContext) -> None:
    verdict = ChunkedPrefill(max_batched_tokens=256).verdict(seen("True", longest=538, step=4096), on_cpu)
    assert verdict.in_effect is False
    assert verdict.evidence == "the engine says enable_chunked_prefill=True, 4,096 tokens a step"
