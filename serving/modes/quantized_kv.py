"""A quantized KV cache: more tokens in the same memory.

Owns: the fields and flags of the mode, and the comparison of the tokens an engine made room for with
the tokens the format's own arithmetic gives. Knows nothing about how labels were scraped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from serving.facts.formats import KvFormat, kv_bytes_per_token
from serving.facts.load import kv_formats
from serving.modes.log_lines import engine_config, speculation
from serving.modes.mode import EngineContext, KvBlock, Mode, ModelFacts, Observation, Verdict
from serving.modes.spelling import suggest

_SCALE_ONE = "KV cache scaling factor 1.0"
_AVAILABLE = re.compile(r"Available KV cache memory: (?P<gib>[\d.]+) GiB")
_BLOCKS_GIVEN = "--num-gpu-blocks-override"
_GIB = 1024**3
LOOK_UPS = frozenset({"ngram", "ngram_gpu", "suffix"})
"""Methods of speculation that keep no keys and values of their own."""
FORMATS = tuple(row.name for row in kv_formats().values() if row.quantized)


class QuantizedKv(Mode):
    """Store keys and values in a format of fewer bits."""

    summary: ClassVar[str] = "store keys and values in fewer bits: more tokens in the same memory"
    owns: ClassVar[Sequence[str]] = ("--kv-cache-dtype",)
    keeps_answers: ClassVar[bool] = False
    evidence: ClassVar[str] = (
        "KV blocks and bytes of vllm:cache_config_info against the format's own arithmetic"
    )
    works_on: ClassVar[str] = "fp8, fp8_e4m3, fp8_e5m2: cpu, cuda (and rocm but e5m2); all others: GPU only"

    kind: Literal["quantized_kv"] = "quantized_kv"
    format: str = Field(description=f"one of {', '.join(FORMATS)}")

    @field_validator("format")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in FORMATS:
            raise ValueError(f"unknown KV cache format '{value}'; {suggest(value, FORMATS, 'formats')}")
        return value

    def asked(self) -> str:
        """The format's name."""
        return self.format

    def flags(self, context: EngineContext) -> Sequence[tuple[str, str | None]]:
        """One flag."""
        return (("--kv-cache-dtype", self.format),)

    def verdict(self, seen: Observation, context: EngineContext) -> Verdict:
        """Compare the engine's label, then its number of blocks with what the format's bytes give."""
        warnings = self._warnings(seen, context.model)
        label = seen.cache_config.get("cache_dtype")
        if label is not None and label != self.format:
            evidence = f"the engine says cache_dtype={label}"
            return Verdict(self.kind, self.asked(), False, evidence, warnings)
        in_effect, evidence = self._stored(seen, context)
        return Verdict(self.kind, self.asked(), in_effect, evidence, warnings)

    def _stored(self, seen: Observation, context: EngineContext) -> tuple[bool | None, str]:
        label = f"cache_dtype={seen.cache_config.get('cache_dtype', 'absent')}"
        if _BLOCKS_GIVEN in context.args:
            return None, f"{label}, but {_BLOCKS_GIVEN} says how many blocks there are, whatever they hold"
        blocks = _integer(seen, "num_gpu_blocks")
        block_tokens = _integer(seen, "block_size")
        memory = _kv_memory(seen, context)
        if not blocks or not block_tokens or memory is None:
            return None, f"{label}, but the engine does not tell its KV blocks and bytes"
        wanted = _token_bytes(kv_formats()[self.format], seen, context)
        native = _token_bytes(kv_formats()["bfloat16"], seen, context)
        if wanted is None or native is None:
            planned = context.kv_block
            if planned and planned.tokens == block_tokens and _is_known(seen, context):
                return self._planned(label, blocks, memory, planned)
            return None, f"{label}; bytes a token cannot be worked out for this model or these modes"
        if wanted >= native:
            return False, f"{label}, but {self.format} leaves all layers of this model at 16 bits"
        kv_bytes, _ = memory
        asked_tokens = kv_bytes // (wanted * block_tokens) * block_tokens
        element = 2 * kv_bytes / (blocks * block_tokens * native)
        evidence = (
            f"{blocks * block_tokens:,} tokens in {kv_bytes / _GIB:.2f} GiB, {element:.2f} bytes an element; "
            f"{self.format} gives {asked_tokens:,} ({wanted:,} bytes a token)"
        )
        return _holds(blocks, memory, wanted * block_tokens), evidence

    def _planned(
        self, label: str, blocks: int, memory: tuple[int, int], planned: KvBlock
    ) -> tuple[bool | None, str]:
        """By blocks as the planner lays them out for layers that are not alike: groups of these share one.

        That layout is an engine's own choice, so numbers that are neither the format's nor those of 16 bits
        prove nothing.
        """
        if planned.asked_bytes >= planned.native_bytes:
            return None, f"{label}; a block takes as many bytes in {self.format} as in 16 bits"
        kv_bytes, _ = memory
        evidence = (
            f"{blocks:,} blocks in {kv_bytes / _GIB:.2f} GiB; {self.format} gives "
            f"{kv_bytes // planned.asked_bytes:,} ({planned.asked_bytes:,} bytes a block), "
            f"16 bits {kv_bytes // planned.native_bytes:,}"
        )
        if _holds(blocks, memory, planned.asked_bytes):
            return True, evidence
        stored = _holds(blocks, memory, planned.native_bytes)
        return (False, evidence) if stored else (None, f"{label}; {evidence}: it is neither")

    def lacks_scales(self, model: ModelFacts | None) -> bool:
        """Whether the format wants scales of the checkpoint and this one has none, as its files tell."""
        if model is None or kv_formats()[self.format].scales != "checkpoint":
            return False
        return model.kv_scales is False or (model.kv_scales is None and model.quantization is None)

    def _warnings(self, seen: Observation, model: ModelFacts | None) -> Sequence[str]:
        """What only the engine's log tells: scales that the files lack were warned of before the start."""
        if kv_formats()[self.format].scales != "checkpoint" or self.lacks_scales(model):
            return ()
        if any(_SCALE_ONE in line for line in seen.log):
            return ("the checkpoint has no KV scales, so FP8 uses scale 1.0: check the answers' quality",)
        return ()


def _holds(blocks: int, memory: tuple[int, int], block_bytes: int) -> bool:
    """Whether so many blocks of so many bytes are what the memory holds, within its error and a block."""
    kv_bytes, error_bytes = memory
    fewest, most = (kv_bytes - error_bytes) // block_bytes - 1, (kv_bytes + error_bytes) // block_bytes + 1
    return fewest <= blocks <= most


def _token_bytes(kv_format: KvFormat, seen: Observation, context: EngineContext) -> int | None:
    """Bytes that one rank keeps of a token, with a draft model's share; None where it cannot be worked out.

    The memory of a KV cache is each rank's own: vLLM 0.32.0 with 1 GiB and two ranks made 4,096 blocks of 128
    tokens for 4 layers and 4 KV heads, 2,048 bytes a token and rank.
    """
    tensor = engine_config(seen.log, "tensor_parallel_size") if "parallel" in context.kinds else "1"
    stages = engine_config(seen.log, "pipeline_parallel_size") if "parallel" in context.kinds else "1"
    held = [context.model]
    if _drafts(seen, context):
        held.append(context.draft if speculation(seen.log) == "draft_model" else None)
    if stages != "1" or tensor is None or not tensor.isdecimal():
        return None
    shares = [_share(kv_format, shape, int(tensor)) for shape in held]
    return None if None in shares else sum(share for share in shares if share is not None)


def _drafts(seen: Observation, context: EngineContext) -> bool:
    """Whether something keeps keys and values beside the model."""
    return "speculative" in context.kinds and speculation(seen.log) not in LOOK_UPS


def _is_known(seen: Observation, context: EngineContext) -> bool:
    """Whether a plan has all layers: of what drafts, only those of a model with a config.json at hand."""
    return not _drafts(seen, context) or (
        speculation(seen.log) == "draft_model" and context.draft is not None
    )


def _share(kv_format: KvFormat, shape: ModelFacts | None, ranks: int) -> int | None:
    if shape is None or not shape.uniform_layers:
        return None
    heads = max(1, shape.kv_heads // ranks)
    return kv_bytes_per_token(kv_format, layers=shape.layers, kv_heads=heads, head_dim=shape.head_dim)


def _integer(seen: Observation, label: str) -> int | None:
    value = seen.cache_config.get(label, "")
    return int(value) if value.isdecimal() else None


def _kv_memory(seen: Observation, context: EngineContext) -> tuple[int, int] | None:
    """Bytes of the KV cache and by how much they may be off: exact from the label, rounded from the log."""
    exact = _integer(seen, "kv_cache_memory_bytes") or context.kv_cache_bytes
    if exact:
        return exact, 0
    for line in seen.log:
        found = _AVAILABLE.search(line)
        if found:
            return int(float(found["gib"]) * _GIB), _GIB // 100
    return None
