"""What each latency of one request means, once and for all.

Owns: TTFT, TTFO, E2E, TPOT, ITL, inter-chunk gaps, tokens per chunk and schedule lag of a
`RequestRecord`. Knows nothing about distributions, SLOs or how the stamps were taken.

All results are seconds. None means "undefined for this request", which is never 0. The formulas are
those of docs/measurement.md, where they are mapped to the names of other tools.
"""

from __future__ import annotations

from itertools import pairwise

from loadgen.records import RequestRecord

_NS_PER_S = 1e9


def _seconds(later_ns: int, earlier_ns: int) -> float:
    return (later_ns - earlier_ns) / _NS_PER_S


def ttft_s(record: RequestRecord) -> float | None:
    """Time to first token: first output event (content, reasoning or tool call) minus `t_sent`.

    A role-only or empty event is no output (vllm #3759), and reasoning is (guidellm #835). None
    without an output event.
    """
    return _seconds(record.output_ns[0], record.t_sent_ns) if record.output_ns else None


def ttft_from_intended_s(record: RequestRecord) -> float | None:
    """First output event minus `t_intended`: what a user of an open loop felt.

    It includes waiting in the client, which hid 3,330 ms behind 507 ms in vllm #54101. None in a
    closed loop, where nothing was intended at a certain time.
    """
    if not record.output_ns or record.t_intended_ns is None:
        return None
    return _seconds(record.output_ns[0], record.t_intended_ns)


def ttfo_s(record: RequestRecord) -> float | None:
    """Time to first visible output: first content event, after any reasoning, minus `t_sent`."""
    if record.t_first_visible_ns is None:
        return None
    return _seconds(record.t_first_visible_ns, record.t_sent_ns)


def e2e_s(record: RequestRecord) -> float | None:
    """End to end: last output event minus `t_sent`; the usage event and `[DONE]` are none (vllm #55508)."""
    return _seconds(record.output_ns[-1], record.t_sent_ns) if record.output_ns else None


def has_tokens_by_event(record: RequestRecord) -> bool:
    """Whether the server told the number of tokens of every output event."""
    return bool(record.output_ns) and len(record.output_tokens_by_event) == len(record.output_ns)


def tpot_s(record: RequestRecord) -> float | None:
    """Time per output token after the first event: (t_last - t_first) / (n - k_first).

    n is the answer's token count and k_first the tokens of its first output event, 1 where the server
    does not tell. None when n - k_first <= 0, and also when all output came in one read: then the first
    read held all n tokens, and no time between tokens was seen. vLLM's bench has 0 there and passes it.
    Also None when n is unknown; `tpot_is_undefined` tells the two apart.
    """
    if record.output_tokens is None or not record.output_ns:
        return None
    elapsed = _seconds(record.output_ns[-1], record.output_ns[0])
    k_first = record.output_tokens_by_event[0] if has_tokens_by_event(record) else 1
    timed_tokens = record.output_tokens - k_first
    return elapsed / timed_tokens if timed_tokens > 0 and elapsed > 0 else None


def tpot_is_undefined(record: RequestRecord) -> bool:
    """True where the token count is known and yet there is no TPOT, as in a one-token answer."""
    return record.output_tokens is not None and tpot_s(record) is None


def inter_chunk_gaps_s(record: RequestRecord) -> tuple[float, ...]:
    """Gaps between neighbouring output events: what a reader sees. vLLM's bench calls this ITL."""
    return tuple(_seconds(later, earlier) for earlier, later in pairwise(record.output_ns))


def itl_gaps_s(record: RequestRecord) -> tuple[float, ...]:
    """Inter-token latency: each gap / the tokens of the event that ends it, once per token.

    The gap before an event without tokens is added to the next one, so that no time is lost. Equal to
    the inter-chunk gaps where the server does not tell tokens by event; see `has_tokens_by_event`.
    """
    gaps = inter_chunk_gaps_s(record)
    if not has_tokens_by_event(record):
        return gaps
    by_token: list[float] = []
    waited = 0.0
    for gap, tokens in zip(gaps, record.output_tokens_by_event[1:], strict=True):
        waited += gap
        if tokens > 0:
            by_token.extend([waited / tokens] * tokens)
            waited = 0.0
    return tuple(by_token)


def tokens_per_chunk(record: RequestRecord) -> float | None:
    """Output tokens / output events. Tokens are not chunks (vllm #37666), least of all under speculation."""
    if record.output_tokens is None or not record.output_ns:
        return None
    return record.output_tokens / len(record.output_ns)


def schedule_lag_s(record: RequestRecord) -> float | None:
    """`t_sent` minus `t_intended`: how late the generator itself was; undefined in a closed loop."""
    return None if record.t_intended_ns is None else _seconds(record.t_sent_ns, record.t_intended_ns)
