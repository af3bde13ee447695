"""How long a request may be: the positions of a model, as vLLM derives them from its config.json.

Owns: the limit, and the length that is taken where nobody says one. Knows nothing about memory.

Source: vllm 0.32.0 config/model.py _get_and_verify_max_len (0.33.0 has the same).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from serving.planner.fields import MOST_TOKENS, Fields

SCALED_ALREADY = ("su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling")
"""Kinds of rope whose max_position_embeddings has the factor in it."""
LONG = ("su", "longrope")
UNSAID = 131072
"""Taken, with a note, where a config says no positions."""
RopeOf = tuple[str, Mapping[str, Any]]
"""The key it stands under, and its parameters."""


@dataclass(frozen=True, slots=True)
class Positions:
    """The longest request that vLLM accepts, and its max_model_len where nobody gives one."""

    most: int
    usual: int


def read_positions(fields: Fields) -> Positions:
    """The positions times the factor of rope scaling; a model of LongRoPE is served at its original length.

    Raises: UsageError where a number is absurd.
    """
    key = "model_max_length" if fields.get("model_max_length") else "max_position_embeddings"
    if fields.get(key) is None:
        fields.note(f"max_position_embeddings is not given: {UNSAID} is taken")
    positions = fields.count(key, default=UNSAID)
    ropes = list(_ropes(fields))
    factor = 1.0
    for where, rope in ropes:
        if _kind(rope) not in SCALED_ALREADY and rope.get("factor") is not None:
            factor = _factor(fields, f"{where}.factor", rope["factor"])
    # Gemma 3's positions have the factor in them, whatever its kind.
    if factor != 1.0 and "gemma3" not in str(fields.get("model_type")):
        if positions * factor > MOST_TOKENS:
            what = f"makes {positions} positions {positions * factor:g}, more than {MOST_TOKENS}"
            raise fields.error(f"{ropes[-1][0]}.factor", what, "correct it")
        positions = max(1, int(positions * factor))
    usual = positions
    if any(_kind(rope) in LONG for _, rope in ropes):
        usual = min(positions, fields.optional("original_max_position_embeddings") or positions)
    return Positions(positions, usual)


def _ropes(fields: Fields) -> Iterator[RopeOf]:
    """The rope of all layers, or of each kind of layer. Raises: UsageError."""
    key = "rope_parameters" if fields.get("rope_parameters") is not None else "rope_scaling"
    found = fields.get(key)
    if found is None:
        return
    if not isinstance(found, Mapping):
        raise fields.error(key, f"is {found!r:.40}, not an object", "correct it")
    nested = {word: rope for word, rope in found.items() if isinstance(rope, Mapping)}
    if nested and all(isinstance(rope, Mapping | None) for rope in found.values()):
        yield from ((f"{key}.{word}", rope) for word, rope in nested.items())
    else:
        yield key, found


def _kind(rope: Mapping[str, Any]) -> str:
    return str(rope.get("rope_type", rope.get("type", "default")))


def _factor(fields: Fields, key: str, value: Any) -> float:
    sane = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST_TOKENS
    if not sane or not isfinite(value) or value <= 0:
        raise fields.error(key, f"is {value!r:.40}, not a number above 0", "correct it")
    return float(value)
