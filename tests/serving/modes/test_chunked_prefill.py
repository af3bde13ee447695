"""Chunked prefill: flags."""

from __future__ import annotations

from serving.modes.chunked_prefill import ChunkedPrefill
from serving.modes.mode import EngineContext


def test_both_directions_are_said_to_the_engine(on_cpu: EngineContext) -> None:
    assert ChunkedPrefill(enabled=False).flags(on_cpu) == (("--no-enable-chunked-prefill", None),)
    assert ChunkedPrefill(max_batched_tokens=512).flags(on_cpu) == (
        ("--enable-chunked-prefill", None),
        ("--max-num-batched-tokens", "512"),
    )
