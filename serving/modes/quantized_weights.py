"""Quantized weights: linear layers are quantized when the model is loaded, or were in the checkpoint.

Owns: the fields and flags of the mode, and the evidence: how many layers were quantized and by which kernel.
Knows nothing about kernels themselves, nor where a format works: the facts and the table of problems do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from serving.facts.load import weight_formats
from serving.modes.log_lines import engine_config, kernels, quantized_layers
from serving.modes.mode import EngineContext, Mode, Observation, Verdict
from serving.modes.spelling import suggest

CHECKPOINT = "checkpoint"
FORMATS = (CHECKPOINT, *weight_formats())


class QuantizedWeights(Mode):
    """Quantize the linear layers while the model is loaded, or keep them as the checkpoint has them."""

    summary: ClassVar[str] = "quantize the linear layers while the model is loaded"
    owns: ClassVar[Sequence[str]] = ("--quantization",)
    works_on: ClassVar[str] = (
        "fp8_per_block: cpu, cuda, rocm; fp8, fp8_per_tensor, fp8_per_channel, mxfp8: cuda, rocm; "
        "int8_per_channel_weight_only, nvfp4_per_token: cuda, experts only"
    )
    keeps_answers: ClassVar[bool] = False
    evidence: ClassVar[str] = "the number of layers quantized and the kernel selected, from the log"

    kind: Literal["quantized_weights"] = "quantized_weights"
    format: str = Field(
        description=f"one of {', '.join(FORMATS)}; `{CHECKPOINT}`: as a quantized checkpoint has them"
    )

    @field_validator("format")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in FORMATS:
            raise ValueError(f"unknown weight format '{value}'; {suggest(value, FORMATS, 'formats')}")
        return value

    def asked(self) -> str:
        """The format's name."""
        return self.format

    def flags(self, context: EngineContext) -> Sequence[tuple[str, str | None]]:
        """One flag; none for a checkpoint that is quantized already, which vLLM recognises by itself."""
        return () if self.from_checkpoint(context) else (("--quantization", self.format),)

    def from_checkpoint(self, context: EngineContext) -> bool:
        """Whether the weights are to stay as the checkpoint has them."""
        stored = context.model.quantization if context.model else None
        return self.format == CHECKPOINT or self.format == stored

    def verdict(self, seen: Observation, context: EngineContext) -> Verdict:
        """Layers that were quantized, or the method that the engine recognised in the checkpoint."""
        used = ", ".join(name for name in kernels(seen.log))
        by = f" by {used}" if used else ""
        if self.from_checkpoint(context):
            return self._as_stored(seen, context, by)
        told = quantized_layers(seen.log)
        if told is None:
            method = engine_config(seen.log, "quantization")
            evidence = f"the log tells of no quantized layers; the engine says quantization={method}{by}"
            return Verdict(self.kind, self.asked(), False if method == "None" else None, evidence)
        layers, types = told
        if not layers:
            return Verdict(self.kind, self.asked(), False, "the engine quantized 0 layers")
        return Verdict(self.kind, self.asked(), True, f"{layers} layers quantized{by} ({types})")

    def _as_stored(self, seen: Observation, context: EngineContext, by: str) -> Verdict:
        method = engine_config(seen.log, "quantization")
        stored = context.model.quantization if context.model else None
        evidence = f"the engine says quantization={method}{by}; the checkpoint has {stored or 'none'}"
        if method is None:
            return Verdict(self.kind, self.asked(), None, evidence)
        return Verdict(self.kind, self.asked(), method != "None", evidence)
