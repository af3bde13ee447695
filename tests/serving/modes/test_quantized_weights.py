"""Quantized weights: flags and evidence, as vLLM 0.32.0 wrote it on a CPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from serving.facts.load_flags import engine_flags
from serving.modes.mode import EngineContext, ModelFacts, Observation
from serving.modes.quantized_weights import CHECKPOINT, FORMATS, QuantizedWeights

KERNEL = "INFO [__init__.py:758] Selected CPUFp8BlockScaledMMKernel for Fp8PerBlockOnlineLinearMethod"
LAYERS = "INFO [base_loader.py:151] Quantizing {} layers of types: {}"
CONFIG = (
    "INFO [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='m', quantization={}, x=1"
)


def seen(*log: str) -> Observation:
    return Observation({}, {}, {}, log)


@pytest.fixture
def fp8_checkpoint(on_cpu: EngineContext, smollm2: ModelFacts) -> EngineContext:
    return replace(on_cpu, device="cuda", model=replace(smollm2, quantization="fp8"))


def test_the_format_becomes_the_flag(on_cpu: EngineContext) -> None:
    mode = QuantizedWeights(format="fp8_per_block")
    assert (mode.asked(), mode.flags(on_cpu)) == ("fp8_per_block", (("--quantization", "fp8_per_block"),))


def test_a_checkpoint_that_is_quantized_already_needs_no_flag(fp8_checkpoint: EngineContext) -> None:
    assert QuantizedWeights(format="checkpoint").flags(fp8_checkpoint) == ()
    assert QuantizedWeights(format="fp8").flags(fp8_checkpoint) == ()


def test_a_misspelt_format_is_suggested() -> None:
    with pytest.raises(ValidationError, match="did you mean 'fp8_per_block'"):
        QuantizedWeights(format="fp8_per_blok")


@pytest.mark.parametrize("version", engine_flags())
def test_every_format_is_a_word_of_each_version(version: str) -> None:
    assert set(FORMATS) - {CHECKPOINT} <= engine_flags()[version].words["quantization"]


def test_layers_and_kernel_show_it(on_cpu: EngineContext) -> None:
    log = seen(KERNEL, LAYERS.format(120, "self_attn.qkv_proj: 120"))
    verdict = QuantizedWeights(format="fp8_per_block").verdict(log, on_cpu)
    assert verdict.in_effect is True
    assert verdict.evidence == "120 layers quantized by CPUFp8BlockScaledMMKernel (self_attn.qkv_proj: 120)"


def test_the_types_of_layers_are_told_shortly(on_cpu: EngineContext) -> None:
    # As vLLM 0.32.0 wrote it of SmolLM2.
    kinds = ("mlp.down_proj", "mlp.gate_up_proj", "self_attn.o_proj", "self_attn.qkv_proj")
    types = "; ".join(f"{kind}: 30 (from linear: fp8_per_block_static)" for kind in kinds)
    verdict = QuantizedWeights(format="fp8_per_block").verdict(seen(LAYERS.format(120, types)), on_cpu)
    assert verdict.evidence.endswith("(" + "; ".join(f"{kind}: 30" for kind in kinds) + ")")


def test_zero_layers_are_not_in_effect(on_cpu: EngineContext) -> None:
    mode = QuantizedWeights(format="int8_per_channel_weight_only")
    verdict = mode.verdict(seen(LAYERS.format(0, "")), on_cpu)
    assert (verdict.in_effect, verdict.evidence) == (False, "the engine quantized 0 layers")


def test_an_engine_that_names_no_method_is_not_quantized(on_cpu: EngineContext) -> None:
    mode = QuantizedWeights(format="fp8_per_block")
    assert mode.verdict(seen(CONFIG.format("None")), on_cpu).in_effect is False
    assert mode.verdict(seen(CONFIG.format("fp8_per_block")), on_cpu).in_effect is None
    assert mode.verdict(seen(), on_cpu).in_effect is None


def test_a_checkpoint_is_shown_by_the_method_that_was_recognised(fp8_checkpoint: EngineContext) -> None:
    mode = QuantizedWeights(format="checkpoint")
    shown = mode.verdict(seen(CONFIG.format("fp8")), fp8_checkpoint)
    assert (shown.in_effect, shown.evidence) == (
        True,
        "the engine says quantization=fp8; the checkpoint has fp8",
    )
    assert mode.verdict(seen(CONFIG.format("None")), fp8_checkpoint).in_effect is False
    assert mode.verdict(seen(), fp8_checkpoint).in_effect is None
