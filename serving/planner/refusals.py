"""What is refused before any arithmetic: numbers that nothing has, and parts of a question that contradict.

Owns: the bounds and the words. Knows nothing about how an answer is worked out, nor who asked: the names are
those of vLLM's options, which deployment files and `teapot plan` share.
"""

from __future__ import annotations

from collections.abc import Iterator

from serving.errors import Problem, UsageError
from serving.planner.ask import Ask
from serving.planner.fields import MOST_TOKENS
from serving.planner.shape import LatentKv

MOST_SEQUENCES = 1_000_000
MOST_RANKS = 100_000
MOST_DRAFTED = 1000
LEAST_MEMORY, MOST_MEMORY = 2**20, 2**50
"""1 MiB to 1 PiB: far below and far above any device."""
RATES = (1e6, 1e21)
"""Bytes or operations a second, with the same margin."""
SHARES = (1e-6, 1e3)
"""Of a floor that is reached; above 1 where speculation gives several tokens a step."""

Checked = tuple[str, int | float | None, int | float, int | float]
"""A name, its value (None: not said), and the least and the most that it may be."""


class Refused(UsageError):
    """No engine starts so, whatever the model; other wrong questions are ones that cannot be planned."""


def refuse(ask: Ask) -> None:
    """Raises: Refused with everything about this question that cannot be."""
    problems = [*_numbers(ask), *_contradictions(ask)]
    if problems:
        raise Refused.of(problems)


def _numbers(ask: Ask) -> Iterator[Problem]:
    for name, value, least, most in (*_counts(ask), *_sizes(ask), *_rates(ask)):
        if value is not None and not least <= value <= most:
            yield Problem(f"is {_shown(value)}", name, f"give {_shown(least)} to {_shown(most)}")


def _counts(ask: Ask) -> Iterator[Checked]:
    yield "max_model_len", ask.max_model_len, 1, MOST_TOKENS
    yield "max_num_seqs", ask.max_num_seqs, 1, MOST_SEQUENCES
    yield "max_num_batched_tokens", ask.max_num_batched_tokens, 1, MOST_TOKENS
    yield "users", ask.users, 1, MOST_TOKENS
    yield "tensor", ask.ranks.tensor, 1, MOST_RANKS
    yield "pipeline", ask.ranks.pipeline, 1, MOST_RANKS
    yield "data", ask.ranks.data, 1, MOST_RANKS
    if ask.lengths:
        yield "input tokens", ask.lengths.input_tokens, 0, MOST_TOKENS
        yield "output tokens", ask.lengths.output_tokens, 0, MOST_TOKENS
        yield "p95 tokens", ask.lengths.p95_tokens, 0, MOST_TOKENS
    if ask.drafting:
        yield "drafted tokens", ask.drafting.tokens, 1, MOST_DRAFTED


def _sizes(ask: Ask) -> Iterator[Checked]:
    yield "device memory in bytes", ask.memory_bytes, LEAST_MEMORY, MOST_MEMORY
    yield "KV cache memory in bytes", ask.kv_cache_bytes, 1, MOST_MEMORY


def _rates(ask: Ask) -> Iterator[Checked]:
    if ask.gpu:
        yield "bandwidth in bytes/s", ask.gpu.bandwidth_bytes_per_s, *RATES
        yield "dense bf16 FLOP/s", ask.gpu.bf16_flops, *RATES
        yield "dense FP8 FLOP/s", ask.gpu.fp8_flops, *RATES
    yield "link in bytes/s", ask.link_bytes_per_s, *RATES
    yield "efficiency", ask.efficiency, *SHARES


def _contradictions(ask: Ask) -> Iterator[Problem]:
    tokens, sequences = ask.max_num_batched_tokens, ask.max_num_seqs
    if tokens is not None and sequences is not None and tokens < sequences:
        # vllm 0.33.0 config/scheduler.py verify_max_model_len
        what = f"is {tokens}, less than max_num_seqs {sequences}: vLLM does not start so"
        yield Problem(what, "max_num_batched_tokens", f"give {sequences} or more, or fewer sequences")
    if ask.cache.latents and not any(isinstance(layer.kv, LatentKv) for layer in ask.shape.layers):
        what = f"'{ask.cache.name}' stores latents, and this model has none (it is not of MLA)"
        yield Problem(what, "KV format", "use bf16 or fp8")


def _shown(value: float) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if abs(value) < 10**18 else f"a number of {len(str(value))} digits"
