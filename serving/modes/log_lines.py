"""What vLLM writes of its modes while it starts.

Owns: the patterns of those lines (wordings of vLLM 0.32.0; 0.33.0 has the same unless a test says otherwise)
and the search for them. Knows nothing about which mode wants which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CONFIG = re.compile(r"Initializing a V1 LLM engine .* with config: (?P<config>.*)")
_QUANTIZED = re.compile(r"Quantizing (?P<layers>\d+) layers of types: ?(?P<types>.*)")
_FROM = re.compile(r" \(from [^)]*\)")
_KERNEL = re.compile(r"Selected (?P<kernel>\w+) for (?P<method>\w+)")
_WORLD = re.compile(r"world_size=(?P<size>\d+) rank=(?P<rank>\d+) local_rank=\d+")
_CONNECTOR = re.compile(r"Creating v1 connector with name: (?P<name>\w+)")
_CHUNKED = re.compile(r"Chunked prefill is enabled with max_num_batched_tokens=(?P<tokens>\d+)")


def engine_config(lines: Iterable[str], key: str) -> str | None:
    """The value of a plain key in the line where the engine core tells its config; None if not told."""
    for line in lines:
        told = _CONFIG.search(line)
        if told:
            found = re.search(rf"(?:^|[ ,]){re.escape(key)}=([^,\s]+)", told["config"])
            return found[1].strip("'\"") if found else None
    return None


def speculation(lines: Iterable[str]) -> str | None:
    """The method by which the engine core says it speculates; None where it does not, or does not tell."""
    told = engine_config(lines, "speculative_config")
    found = re.search(r"method='(\w+)", told) if told else None
    return found[1] if found else None


def quantized_layers(lines: Iterable[str]) -> tuple[int, str] | None:
    """Number and types of the layers quantized at loading; None if no line tells."""
    found = _first(_QUANTIZED, lines)
    return (int(found["layers"]), _FROM.sub("", found["types"]).strip()) if found else None


def kernels(lines: Iterable[str]) -> Sequence[str]:
    """The kernels that were selected, each once, in order."""
    return tuple(dict.fromkeys(found["kernel"] for found in map(_KERNEL.search, lines) if found))


def world(lines: Iterable[str]) -> tuple[frozenset[int], int] | None:
    """The ranks that reported themselves and the world size they named; None if none did."""
    found = [match for match in map(_WORLD.search, lines) if match]
    if not found:
        return None
    return frozenset(int(match["rank"]) for match in found), int(found[-1]["size"])


def connector(lines: Iterable[str]) -> str | None:
    """The class of the KV connector that was made; None if none was."""
    found = _first(_CONNECTOR, lines)
    return found["name"] if found else None


def batched_tokens(lines: Iterable[str]) -> int | None:
    """Tokens of one step with chunked prefill, as the scheduler tells; None if it does not."""
    found = _first(_CHUNKED, lines)
    return int(found["tokens"]) if found else None


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> re.Match[str] | None:
    return next((found for found in map(pattern.search, lines) if found), None)
