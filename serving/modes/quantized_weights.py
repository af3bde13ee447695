"""Quantized weights: linear layers are quantized when the model is loaded.

Owns: the fields and flags of the mode. Knows nothing about kernels. A checkpoint that is already
quantized needs no mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from serving.modes.mode import EngineContext, Mode


class QuantizedWeights(Mode):
    """Quantize the linear layers while the model is loaded."""

    summary: ClassVar[str] = "quantize the linear layers while the model is loaded"
    runs: ClassVar[bool] = False
    owns: ClassVar[Sequence[str]] = ("--quantization",)
    works_on: ClassVar[str] = "fp8_per_block: cpu, cuda; others: see the engine's version"

    kind: Literal["quantized_weights"] = "quantized_weights"
    format: Literal[
        "fp8",
        "fp8_per_tensor",
        "fp8_per_block",
        "fp8_per_channel",
        "mxfp8",
        "int8_per_channel_weight_only",
        "nvfp4_per_token",
    ] = Field(description="how weights are stored")

    def asked(self) -> str:
        """The format's name."""
        return self.format

    def flags(self, context: EngineContext) -> Sequence[tuple[str, str | None]]:
        """One flag."""
        return (("--quantization", self.format),)
