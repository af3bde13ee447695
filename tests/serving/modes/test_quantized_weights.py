"""Quantized weights: one flag."""

from __future__ import annotations

from serving.modes.mode import EngineContext
from serving.modes.quantized_weights import QuantizedWeights


def test_the_format_becomes_the_flag(on_cpu: EngineContext) -> None:
    mode = QuantizedWeights(format="fp8_per_block")
    assert (mode.asked(), mode.flags(on_cpu)) == ("fp8_per_block", (("--quantization", "fp8_per_block"),))
