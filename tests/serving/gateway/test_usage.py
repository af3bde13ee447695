"""Tokens by size."""

from __future__ import annotations

from serving.gateway.usage import estimate_output, estimate_prompt


def test_a_token_is_four_bytes_of_a_document_rounded_up() -> None:
    assert [estimate_prompt(size) for size in (0, 1, 4, 5, 4000)] == [0, 1, 1, 2, 1000]
    assert estimate_output(400, streamed=False) == 100


def test_a_streamed_token_is_an_event() -> None:
    assert estimate_output(2560, streamed=True) == 10
