"""Prefix caching: the KV cache of a prompt's beginning is kept and used again.

Owns: the fields and flags of the mode, and the hits that show it. Knows nothing about how the probe
was sent. vLLM has it on by default, so `enabled: false` is as much a choice as the mode itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from serving.facts.load import engine_metrics
from serving.modes.answers import first_difference
from serving.modes.mode import EngineContext, Mode, Observation, Verdict


class PrefixCache(Mode):
    """Reuse the KV cache of prompts that begin alike; `enabled: false` turns it off."""

    summary: ClassVar[str] = "reuse the KV cache of prompts that begin alike"
    owns: ClassVar[Sequence[str]] = ("--enable-prefix-caching", "--prefix-caching-hash-algo")
    evidence: ClassVar[str] = "the second identical prompt moved vllm:prefix_cache_hits_total, or did not"

    repeats: ClassVar[bool] = True

    kind: Literal["prefix_cache"] = "prefix_cache"
    enabled: bool = Field(True, description="false turns off what vLLM does by default")
    hash: Literal["sha256", "sha256_cbor", "xxhash", "xxhash_cbor"] | None = Field(
        None, description="hash of a block; vLLM's own default is sha256"
    )

    def asked(self) -> str:
        """On or off, with the hash where one was chosen."""
        state = "on" if self.enabled else "off"
        return f"{state}, hash={self.hash}" if self.hash else state

    def flags(self, context: EngineContext) -> Sequence[tuple[str, str | None]]:
        """Say it in both directions, never relying on vLLM's default."""
        flag = "--enable-prefix-caching" if self.enabled else "--no-enable-prefix-caching"
        hashing = (("--prefix-caching-hash-algo", self.hash),) if self.hash else ()
        return ((flag, None), *hashing)

    def verdict(self, seen: Observation, context: EngineContext) -> Verdict:
        """On: the second identical prompt hit the cache. Off: it did not, and the engine's label says so."""
        parted = first_difference(seen.repeated[1:2], seen.repeated[:1])
        warnings = (f"the warm answer is not the cold one: {parted}",) if parted else ()
        in_effect, evidence = self._hit(seen)
        return Verdict(self.kind, self.asked(), in_effect, evidence, warnings)

    def _hit(self, seen: Observation) -> tuple[bool | None, str]:
        metric = engine_metrics()["prefix_cache_hits"].name
        hits = seen.moved(metric)
        label = seen.cache_config.get("enable_prefix_caching")
        said = f"the engine says enable_prefix_caching={label}"
        if hits is None:
            return None, f"{metric} is not exposed; {said}"
        block = seen.cache_config.get("block_size", "?")
        if hits > 0:
            evidence = (
                f"{hits:,.0f} prompt tokens of the repeated prompt came from the cache (blocks of {block})"
            )
        else:
            evidence = f"no token of the repeated prompt came from the cache; {said}"
        if self.enabled:
            return hits > 0, evidence
        if hits > 0 or label == "True":
            return False, evidence
        return True if label == "False" else None, evidence
