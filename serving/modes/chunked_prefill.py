"""Chunked prefill: long prompts are computed in pieces between decode steps.

Owns: the fields and flags of the mode. Knows nothing about scheduling itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from serving.modes.mode import EngineContext, Mode


class ChunkedPrefill(Mode):
    """Compute long prompts in pieces, so that running answers do not stall."""

    summary: ClassVar[str] = "compute long prompts in pieces, so that running answers do not stall"
    runs: ClassVar[bool] = False
    owns: ClassVar[Sequence[str]] = ("--enable-chunked-prefill", "--max-num-batched-tokens")

    kind: Literal["chunked_prefill"] = "chunked_prefill"
    enabled: bool = Field(True, description="false turns off what vLLM does by default")
    max_batched_tokens: Annotated[int, Field(gt=0)] | None = Field(
        None, description="tokens of one step, prompts and answers together"
    )

    def flags(self, context: EngineContext) -> Sequence[tuple[str, str | None]]:
        """Say it in both directions, never relying on vLLM's default."""
        flag = "--enable-chunked-prefill" if self.enabled else "--no-enable-chunked-prefill"
        limit = self.max_batched_tokens
        return ((flag, None), *((("--max-num-batched-tokens", str(limit)),) if limit else ()))
