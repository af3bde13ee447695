"""How long a request may be: the positions of a model, as vLLM derives them from its config.json.

Owns: the limit, and the length that is taken where nobody says one. Knows nothing about memory.

Source: vllm 0.32.0 config/model.py _get_and_verify_max_len (0.33.0 has the same).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from serving.facts.rope import LONG, factors, kind, lengthened, positions_key, rope_key, ropes
from serving.planner.fields import MOST_TOKENS, Fields

UNSAID = 131072
"""Taken, with a note, where a config says no positions."""


@dataclass(frozen=True, slots=True)
class Positions:
    """The longest request that vLLM accepts, and its max_model_len where nobody gives one."""

    most: int
    usual: int


def read_positions(fields: Fields) -> Positions:
    """The positions times the factor of rope scaling; a model of LongRoPE is served at its original length.

    Raises: UsageError where a number is absurd.
    """
    key = positions_key(fields.get)
    if fields.get(key) is None:
        fields.note(f"max_position_embeddings is not given: {UNSAID} is taken")
    positions = fields.count(key, default=UNSAID)
    where = rope_key(fields.get)
    rope = fields.get(where)
    if rope is not None and not isinstance(rope, Mapping):
        raise fields.error(where, f"is {rope!r:.40}, not an object", "correct it")
    factor = 1.0
    for where, value in factors(fields.get):
        factor = _factor(fields, where, value)
    if factor != 1.0:
        if positions * factor > MOST_TOKENS:
            what = f"makes {positions} positions {positions * factor:g}, more than {MOST_TOKENS}"
            raise fields.error(where, what, "correct it")
        positions = lengthened(positions, factor)
    usual = positions
    if any(kind(rope) in LONG for _, rope in ropes(fields.get)):
        usual = min(positions, fields.optional("original_max_position_embeddings") or positions)
    return Positions(positions, usual)


def _factor(fields: Fields, key: str, value: Any) -> float:
    sane = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST_TOKENS
    if not sane or not isfinite(value) or value <= 0:
        raise fields.error(key, f"is {value!r:.40}, not a number above 0", "correct it")
    return float(value)
