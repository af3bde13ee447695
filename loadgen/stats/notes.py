"""What a reader of the numbers must know and what does not make them wrong.

Owns: the sentences of `notes` that records and metrics give rise to. Knows nothing about validity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loadgen.records import RequestRecord
from loadgen.stats import definitions
from loadgen.stats.plan import ServerView
from loadgen.stats.saturation import Saturation
from loadgen.stats.validity import tolerated_lag

CHUNK_IS_NOT_TOKEN = 1.2
"""Tokens per chunk above which an inter-chunk gap must not be read as ITL."""
_ALIKE = 0.5
"""Cached share of the prompts from which TTFT is that of a warm prefix cache."""


def notes(
    ok: Sequence[RequestRecord],
    measured: Sequence[RequestRecord],
    *,
    tokens_per_chunk: float | None,
    piled: Saturation | None,
    server: ServerView | None,
) -> list[str]:
    """Every note that holds."""
    found = [
        _saturation(piled),
        tolerated_lag(measured),
        "ITL equals the inter-chunk gap: the server did not tell tokens by event"
        if ok and not all(map(definitions.has_tokens_by_event, ok))
        else None,
        f"{tokens_per_chunk:.2f} tokens per chunk: inter-chunk gaps are not ITL"
        if tokens_per_chunk is not None and tokens_per_chunk > CHUNK_IS_NOT_TOKEN
        else None,
        *_counted(ok, measured),
        _cached(prefix_cache(ok), server),
        "the server's metrics were not read, so nothing is known of restarts and queues"
        if server is None
        else None,
    ]
    return [note for note in found if note is not None]


def prefix_cache(ok: Sequence[RequestRecord]) -> dict[str, Any] | None:
    """Prompt tokens that the server says came from its cache; None where no answer's usage tells."""
    told = [record for record in ok if record.cached_tokens is not None]
    if not told:
        return None
    cached = sum(record.cached_tokens or 0 for record in told)
    prompt = sum(record.prompt_tokens or 0 for record in told)
    return {
        "answers": len(told),
        "prompt_tokens": prompt,
        "cached_tokens": cached,
        "cached_ratio": cached / prompt if prompt else None,
    }


def _saturation(piled: Saturation | None) -> str | None:
    if piled is None or piled.verdict != "growing":
        return None
    return (
        f"requests piled up: {piled.in_flight_growth:.0f} more in flight at the end of the steady span"
        f" than at its start, {piled.arrived_per_s:.3g}/s arrived and {piled.ended_per_s:.3g}/s ended;"
        " the server is past its capacity, and these latencies grow with the length of the run"
    )


def _counted(ok: Sequence[RequestRecord], measured: Sequence[RequestRecord]) -> list[str | None]:
    silent = sum(definitions.ttft_s(record) is None for record in ok)
    cut = sum(record.outcome == "cut" for record in measured)
    retokenized = sum(record.output_tokens_source == "tokenizer" for record in ok)
    return [
        f"{silent} complete answers held no output event and are in no latency" if silent else None,
        f"{cut} requests were cut at the end: long answers are missing from the latencies" if cut else None,
        f"{retokenized} answers were counted by the tokenizer, not by the server's usage"
        if retokenized
        else None,
    ]


def _cached(cache: dict[str, Any] | None, server: ServerView | None) -> str | None:
    if cache is not None and cache["cached_tokens"]:
        told = (
            f"{cache['cached_tokens']} of {cache['prompt_tokens']} prompt tokens came from the prefix cache"
        )
        ratio = cache["cached_ratio"] or 0.0
        return f"{told}: TTFT is that of a warm cache" if ratio >= _ALIKE else told
    if cache is None and server is not None and server.prefix_cache_hit_ratio:
        return (
            f"{server.prefix_cache_hit_ratio:.1%} of the prompt tokens looked up hit the prefix cache, by the"
            " server's metrics; its answers do not tell which"
        )
    return None
