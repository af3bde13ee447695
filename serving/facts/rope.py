"""By how much the rope of a model lengthens the positions that its config.json says.

Owns: where ropes stand, and which kinds count. Knows nothing about what is done with the length, or what an
absurd number means.

Source: vllm 0.32.0 config/model.py _get_and_verify_max_len (0.33.0 has the same).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

SCALED_ALREADY = ("su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling")
"""Kinds whose max_position_embeddings has the factor in it."""
LONG = ("su", "longrope")
Get = Callable[[str], Any]
"""The value of a config's key, None where it has none."""


def positions_key(get: Get) -> str:
    """The key of a config's positions, before the rope lengthens them."""
    return "model_max_length" if get("model_max_length") else "max_position_embeddings"


def lengthened(positions: int, factor: float) -> int:
    """The positions that a factor makes of a config's."""
    return max(1, int(positions * factor))


def rope_key(get: Get) -> str:
    """The key under which a config's ropes stand."""
    return "rope_parameters" if get("rope_parameters") is not None else "rope_scaling"


def ropes(get: Get) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rope of all layers, or of each kind of layer, and the key that it stands under."""
    key = rope_key(get)
    found = get(key)
    if not isinstance(found, Mapping):
        return
    nested = {word: rope for word, rope in found.items() if isinstance(rope, Mapping)}
    if nested and all(isinstance(rope, Mapping | None) for rope in found.values()):
        yield from ((f"{key}.{word}", rope) for word, rope in nested.items())
    else:
        yield key, found


def kind(rope: Mapping[str, Any]) -> str:
    """The kind of a rope, by its newer or its older key."""
    return str(rope.get("rope_type", rope.get("type", "default")))


def factors(get: Get) -> Iterator[tuple[str, Any]]:
    """The factors that lengthen, unread, by key. The last one counts."""
    # Gemma 3's positions have the factor in them, whatever its kind.
    if "gemma3" in str(get("model_type")):
        return
    for where, rope in ropes(get):
        if kind(rope) not in SCALED_ALREADY and rope.get("factor") is not None:
            yield f"{where}.factor", rope["factor"]
