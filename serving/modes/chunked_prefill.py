"""Chunked prefill: long prompts are computed in pieces between decode steps.

Owns: the fields and flags of the mode, and the evidence: a prompt longer than one step, or the engine's
own word. Knows nothing about scheduling itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from serving.modes.log_lines import batched_tokens, engine_config
from serving.modes.mode import EngineContext, Mode, Observation, Verdict


class ChunkedPrefill(Mode):
    """Compute long prompts in pieces, so that running answers do not stall."""

    summary: ClassVar[str] = "compute long prompts in pieces, so that running answers do not stall"
    owns: ClassVar[Sequence[str]] = ("--enable-chunked-prefill", "--max-num-batched-tokens")
    evidence: ClassVar[str] = (
        "a prompt longer than max_batched_tokens was answered; else the engine's enable_chunked_prefill"
    )

    repeats: ClassVar[bool] = True

    kind: Literal["chunked_prefill"] = "chunked_prefill"
    enabled: bool = Field(True, description="false turns off what vLLM does by default")
    max_batched_tokens: Annotated[int, Field(gt=0)] | None = Field(
        None, description="tokens of one step, prompts and answers together"
    )

    def asked(self) -> str:
        """On or off, with the tokens of a step where they were chosen."""
        state = "on" if self.enabled else "off"
        return f"{state}, max_batched_tokens={self.max_batched_tokens}" if self.max_batched_tokens else state

    def flags(self, context: EngineContext) -> Sequence[tuple[str, str | None]]:
        """Say it in both directions, never relying on vLLM's default."""
        flag = "--enable-chunked-prefill" if self.enabled else "--no-enable-chunked-prefill"
        limit = self.max_batched_tokens
        return ((flag, None), *((("--max-num-batched-tokens", str(limit)),) if limit else ()))

    def verdict(self, seen: Observation, context: EngineContext) -> Verdict:
        """Judge by a prompt that did not fit one step where there was one, else by what the engine says."""
        said = engine_config(seen.log, "enable_chunked_prefill")
        longest = seen.longest_prompt_tokens
        limit = self.max_batched_tokens
        step = batched_tokens(seen.log)
        words = f"the engine says enable_chunked_prefill={said}" + (
            f", {step:,} tokens a step" if step else ""
        )
        if self.enabled and limit and step and step != limit:
            return Verdict(self.kind, self.asked(), False, words)
        if self.enabled and limit and longest and longest > limit and said != "False":
            evidence = f"a prompt of {longest:,} tokens was answered in steps of at most {limit:,}"
            return Verdict(self.kind, self.asked(), True, evidence)
        if said is None:
            return Verdict(self.kind, self.asked(), None, "the engine's log does not tell")
        return Verdict(self.kind, self.asked(), (said == "True") == self.enabled, words)
