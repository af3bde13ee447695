"""Verdicts on what real engines showed: vLLM 0.32.0 on a CPU, captured by running the modes together.

tests/golden/modes/NAME.log holds the lines of an engine's log that tell of modes, NAME.metrics its samples
after the probes. `together` is SmolLM2; the others are a random Llama: 4 layers, 8 heads, 4 KV heads of 64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from serving.modes.chunked_prefill import ChunkedPrefill
from serving.modes.mode import EngineContext, Mode, ModelFacts, Observation
from serving.modes.parallel import Parallel
from serving.modes.prefix_cache import PrefixCache
from serving.modes.quantized_kv import QuantizedKv
from serving.modes.quantized_weights import QuantizedWeights
from serving.modes.speculative import Speculative

CAPTURES = Path(__file__).parents[2] / "golden" / "modes"
NGRAM = Speculative(method="ngram", tokens=4, prompt_lookup_max=4, prompt_lookup_min=2)
DRAFT = Speculative(method="draft_model", model="draft", tokens=3)


def capture(name: str) -> Observation:
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families((CAPTURES / f"{name}.metrics").read_text())
        for sample in family.samples
    }
    config = next(dict(labels) for key, labels in samples if key == "vllm:cache_config_info")
    log = (CAPTURES / f"{name}.log").read_text().splitlines()
    return Observation({}, samples, config, log, answers=("a", "b", "c"), repeated=("d", "d"))


def context(model: ModelFacts, *modes: Mode, gib: float = 1) -> EngineContext:
    kinds = frozenset(mode.kind for mode in modes)
    return EngineContext(
        device="cpu", version="0.32.0", model=model, kv_cache_bytes=int(gib * 2**30), kinds=kinds
    )


@pytest.fixture
def tiny(smollm2: ModelFacts) -> ModelFacts:
    return replace(smollm2, name="tiny-llama", layers=4, attention_heads=8, kv_heads=4, head_dim=64)


def test_five_modes_that_ran_together_are_each_in_effect(smollm2: ModelFacts) -> None:
    chunks, weights = ChunkedPrefill(max_batched_tokens=256), QuantizedWeights(format="fp8_per_block")
    modes: Sequence[Mode] = (PrefixCache(), chunks, weights, QuantizedKv(format="fp8"), NGRAM)
    seen = replace(capture("together"), longest_prompt_tokens=544)
    verdicts = {mode.kind: mode.verdict(seen, context(smollm2, *modes)) for mode in modes}
    assert {kind: verdict.in_effect for kind, verdict in verdicts.items()} == dict.fromkeys(verdicts, True)
    assert "512 prompt tokens" in verdicts["prefix_cache"].evidence
    assert verdicts["quantized_weights"].evidence.startswith("120 layers quantized by CPUFp8BlockScaledMM")
    assert "93,184 tokens in 1.00 GiB, 1.00 bytes an element" in verdicts["quantized_kv"].evidence
    assert "20 tokens drafted in 5 drafts, 19 accepted (95%)" in verdicts["speculative"].evidence


def test_what_was_not_asked_of_them_is_not_in_effect(smollm2: ModelFacts) -> None:
    seen, here = capture("together"), context(smollm2)
    assert PrefixCache(enabled=False).verdict(seen, here).in_effect is False
    assert QuantizedKv(format="fp8_e5m2").verdict(seen, here).in_effect is False
    assert ChunkedPrefill(enabled=False).verdict(seen, here).in_effect is False
    assert Parallel(tensor=2).verdict(seen, here).in_effect is False


def test_a_draft_keeps_its_own_e5m2_cache(tiny: ModelFacts) -> None:
    kv = QuantizedKv(format="fp8_e5m2")
    here = replace(context(tiny, kv, DRAFT), draft=tiny)
    seen = capture("draft-e5m2")
    assert DRAFT.verdict(seen, here).evidence.startswith("27 tokens drafted in 9 drafts, 27 accepted (100%)")
    verdict = kv.verdict(seen, here)
    assert verdict.in_effect is True
    assert "262,144 tokens in 1.00 GiB, 1.00 bytes an element" in verdict.evidence


def test_both_tensor_ranks_are_seen(tiny: ModelFacts) -> None:
    two = Parallel(tensor=2)
    verdict = two.verdict(replace(capture("tensor-2"), ranks=2), context(tiny, two))
    assert verdict.in_effect is True
    assert verdict.evidence.startswith("ranks 0, 1 of a world of 2, 2 of 2 workers alive")
    dead = two.verdict(replace(capture("tensor-2"), ranks=1), context(tiny, two))
    assert dead.in_effect is False
