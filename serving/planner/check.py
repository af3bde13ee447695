"""What was predicted against what a started engine says: weights, KV bytes, tokens, concurrency.

Owns: reading the engine's own words and the comparison with the stated error. Knows nothing about where they
were fetched: labels of `vllm:cache_config_info` and log lines come in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from serving.planner.plan import Plan

LOADED = re.compile(r"Model loading took (?P<gib>[\d.]+) GiB")
AVAILABLE = re.compile(r"Available KV cache memory: (?P<gib>[\d.]+) GiB")
SIZE = re.compile(r"KV cache size: (?P<tokens>[\d,]+) tokens")
CONCURRENCY = re.compile(r"Maximum concurrency for [\d,]+ tokens per request: (?P<times>[\d.]+)x")
GRAPHS = re.compile(r"Graph capturing finished in [\d.]+ secs?, took (?P<gib>[\d.]+) GiB")
_GIB = 1024**3
WEIGHT_BAND = 0.02
"""Weights by arithmetic against what loading took: 14.958 against 14.99 GiB, 61.024 against 61.03."""
WORDS = {
    "weights": "weights",
    "kv_cache": "KV cache",
    "kv_blocks": "blocks",
    "kv_cache_tokens": "tokens",
    "max_concurrency": "concurrency",
}
POINTER = "docs/planner.md tells what each figure assumes"


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure, predicted and actual. `actual` None: the engine does not tell it."""

    name: str
    unit: str
    predicted: float
    actual: float | None
    band: float
    """Relative error that was stated, 0..1; 0: to the unit."""

    @property
    def error(self) -> float | None:
        """(actual - predicted) / predicted; None where it cannot be told."""
        if self.actual is None or not self.predicted:
            return None
        return (self.actual - self.predicted) / self.predicted

    @property
    def ok(self) -> bool | None:
        """Whether the actual value is within the band; None: not told."""
        if self.actual is None:
            return None
        if self.error is None:
            return self.actual == self.predicted
        return abs(self.error) <= self.band + 1e-9

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "unit": self.unit,
            "predicted": self.predicted,
            "actual": self.actual,
            "error_ratio": self.error,
            "band_ratio": self.band,
            "ok": self.ok,
        }


def check(plan: Plan, cache_config: Mapping[str, str], log: Iterable[str]) -> tuple[Compared, ...]:
    """Compare a plan with the engine that was started from it."""
    lines = list(log)
    budget, capacity = plan.budget, plan.capacity
    band = 0.0
    if plan.ask.kv_cache_bytes is None and budget.kv_bytes:
        band = max(budget.high_bytes - budget.kv_bytes, budget.kv_bytes - budget.low_bytes) / budget.kv_bytes
    said = _number(cache_config.get("kv_cache_memory_bytes"))
    loaded, available = _gib(lines, LOADED), _gib(lines, AVAILABLE)
    tokens = _number(cache_config.get("kv_cache_size_tokens")) or _told(lines, SIZE, "tokens")
    times = _number(cache_config.get("kv_cache_max_concurrency")) or _told(lines, CONCURRENCY, "times")
    # The log rounds to hundredths, the labels do not.
    rounded = 0.005 / capacity.max_concurrency if capacity.max_concurrency else 0.0
    return (
        Compared("weights", "bytes", plan.weights.rank_bytes, loaded, WEIGHT_BAND),
        Compared("kv_cache", "bytes", budget.kv_bytes, said or available, band),
        Compared("kv_blocks", "blocks", capacity.blocks, _number(cache_config.get("num_gpu_blocks")), band),
        Compared("kv_cache_tokens", "tokens", capacity.tokens, tokens, band),
        Compared("max_concurrency", "requests", capacity.max_concurrency, times, max(band, rounded)),
    )


def loaded_bytes(log: Iterable[str]) -> float | None:
    """What loading the weights took, by the engine's own words; None where it does not say."""
    return _gib(list(log), LOADED)


def warnings(rows: Iterable[Compared]) -> Iterator[str]:
    """A line for each figure that is outside its stated error."""
    for row in rows:
        if row.ok is False:
            off = f"{row.error:+.1%}" if row.error is not None else "differs"
            yield (
                f"the plan said {WORDS[row.name]} {_worded(row, row.predicted)} and the engine has "
                f"{_worded(row, row.actual or 0.0)} ({off}, stated error {row.band:.1%}); {POINTER}"
            )


def summary(rows: Iterable[Compared]) -> str:
    """What the engine has in one line, with the prediction beside each figure that differs from it."""
    told = [row for row in rows if row.actual is not None]
    if not told:
        return "tells nothing of its KV cache"
    words = []
    for row in told:
        differs = f" ({_worded(row, row.predicted)} predicted)" if row.error != 0 else ""
        words.append(f"{WORDS[row.name]} {_worded(row, row.actual or 0.0)}{differs}")
    if all(row.error == 0 for row in told):
        judged = "all as predicted"
    else:
        judged = "within the stated error" if all(row.ok for row in told) else "not as predicted"
    return f"has {', '.join(words)}: {judged}"


def _worded(row: Compared, value: float) -> str:
    if row.unit == "bytes":
        return f"{value / _GIB:.2f} GiB"
    return f"{value:,.2f}" if row.unit == "requests" else f"{value:,.0f}"


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _told(lines: list[str], pattern: re.Pattern[str], name: str) -> float | None:
    for line in lines:
        if found := pattern.search(line):
            return float(found[name].replace(",", ""))
    return None


def _gib(lines: list[str], pattern: re.Pattern[str]) -> float | None:
    value = _told(lines, pattern, "gib")
    return None if value is None else value * _GIB
