"""What an answer used, read from its end."""

from __future__ import annotations

import pytest

from serving.gateway.answer_usage import read_usage


@pytest.mark.parametrize(
    ("tail", "used"),
    [
        (b'"usage":{"prompt_tokens":10,"completion_tokens":5}}\n\ndata: [DONE]\n\n', (10, 5)),
        (b'"usage": {"input_tokens": 7, "output_tokens": 3}}', (7, 3)),
        (b'"usage":{"prompt_tokens":4,"total_tokens":4}}', (4, 0)),  # Embeddings have no output.
        (b'{"prompt_tokens":1,"completion_tokens":1}..{"prompt_tokens":1,"completion_tokens":2}', (1, 2)),
        (b'data: {"choices":[{"text":"a"}],"usage":null}\n\n', None),
        (b"", None),
    ],
)  # fmt: skip
def test_the_last_usage_counts(tail: bytes, used: tuple[int, int] | None) -> None:
    assert read_usage(tail) == used
