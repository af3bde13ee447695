"""What speculative decoding may gain: tokens of a step, the step's cost, and the batch where it turns into a
loss.

Owns: expected tokens from an acceptance, or from acceptances measured by position. Knows nothing about how a
step's time is found: floors come from `roofline`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from serving.planner.roofline import Speed, decode_floor

MOST_BATCH = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting:
    """How tokens are drafted."""

    tokens: int
    """Drafted in a step."""
    alpha: float | None = None
    """Probability that the next drafted token is accepted, 0..1, the same at every position."""
    positions: Sequence[float] = ()
    """Measured: share of drafts of which at least so many tokens were accepted, position by position."""
    draft: Speed | None = None
    """The drafting model; None: look-ups, whose time is not counted."""


class Gain(NamedTuple):
    """What speculation does at one batch."""

    batch: int
    tokens_per_step: float
    speedup: float
    """Below 1: a loss."""


def expected_tokens(alpha: float, tokens: int) -> float:
    """Tokens of one step, the model's own among them: (1 - alpha^(k+1)) / (1 - alpha).

    Source: Leviathan et al., Fast Inference from Transformers via Speculative Decoding (2023), equation 1.
    """
    if alpha >= 1:
        return float(tokens + 1)
    return float((1 - alpha ** (tokens + 1)) / (1 - alpha))


def measured_tokens(positions: Sequence[float]) -> float:
    """Tokens of one step from the share of drafts that reached each position: 1 + their sum."""
    return 1.0 + sum(positions)


def acceptance_ratio(tokens_per_step: float, tokens: int) -> float:
    """Accepted over drafted tokens, (E - 1) / k: what is called acceptance rate, and is not alpha."""
    return (tokens_per_step - 1) / tokens


def speedup(
    tokens_per_step: float, tokens: int, *, alone_s: float, checked_s: float, draft_s: float
) -> float:
    """The speed-up of steps with `tokens` drafts: E * t(B, 1) / (k * t_draft(B) + t(B, k + 1))."""
    return tokens_per_step * alone_s / (tokens * draft_s + checked_s)


def gain(speed: Speed, drafting: Drafting, *, batch: int, context: int) -> Gain:
    """The speed-up of one step, by floors.

    The step with drafts reads the experts of B * (k + 1) tokens, and may meet the compute roof.
    """
    made = _tokens(drafting)
    alone = decode_floor(speed, batch=batch, context=context).seconds
    checked = decode_floor(speed, batch=batch, context=context, tokens_each=drafting.tokens + 1).seconds
    draft = decode_floor(drafting.draft, batch=batch, context=context).seconds if drafting.draft else 0.0
    return Gain(batch, made, speedup(made, drafting.tokens, alone_s=alone, checked_s=checked, draft_s=draft))


def loss_from(speed: Speed, drafting: Drafting, *, context: int) -> int | None:
    """The smallest power of two of batches at which it loses; None: not up to 1,024."""
    batch = 1
    while batch <= MOST_BATCH:
        if gain(speed, drafting, batch=batch, context=context).speedup < 1:
            return batch
        batch *= 2
    return None


def _tokens(drafting: Drafting) -> float:
    if drafting.positions:
        return measured_tokens(drafting.positions)
    return expected_tokens(drafting.alpha or 0.0, drafting.tokens)
