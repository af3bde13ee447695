"""Whether an engine that has work still moves.

Owns: what counts as movement, and for how long nothing may move. Pure: samples and time come in. Knows
nothing about scraping or about what is done with a stuck engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from serving.modes.mode import MetricKey

RUNNING = "vllm:num_requests_running"
MARKS = (
    "vllm:generation_tokens_total",
    "vllm:prompt_tokens_total",
    "vllm:request_success_total",
    "vllm:kv_cache_usage_perc",
)
"""What moves while an engine works: tokens, ended requests, and within a long prompt its KV cache."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What one scrape of `/metrics` shows."""

    running: float
    marks: tuple[float, ...]


class Movement(StrEnum):
    """What the scrapes so far say."""

    FINE = "fine"
    SILENT = "silent"
    """Nothing moves and the engine counts no request as running, though it was given some: ask it."""
    STUCK = "stuck"


def signs(samples: Mapping[MetricKey, float]) -> Signs:
    """The signs of life in a scrape; several ranks or reasons of a family are summed."""

    def total(name: str) -> float:
        return sum(value for (found, _), value in samples.items() if found == name)

    return Signs(total(RUNNING), tuple(total(name) for name in MARKS))


class StuckWatch:
    """Follows the scrapes of one engine since it became ready."""

    def __init__(self, stuck_after_s: float, now_s: float) -> None:
        self._stuck_after_s = stuck_after_s
        self._moved_s = now_s
        self._last: Signs | None = None

    def see(self, now_s: float, seen: Signs | None, in_flight: int) -> Movement:
        """Judge one more scrape; None: not answered. `in_flight`: requests it was sent and has not ended.

        An engine that hangs before it takes a request up still shows nothing as running. A slow reader's
        request is in flight too, though, so then it must be asked for a token before it is called stuck.
        """
        has_work = seen is None or seen.running > 0 or in_flight > 0
        moved = seen is not None and (self._last is None or seen.marks != self._last.marks)
        self._last = seen or self._last
        if moved or not has_work:
            self._moved_s = now_s
            return Movement.FINE
        if now_s - self._moved_s < self._stuck_after_s:
            return Movement.FINE
        return Movement.SILENT if seen is not None and seen.running == 0 else Movement.STUCK

    def answered(self, now_s: float) -> None:
        """It has generated a token when asked."""
        self._moved_s = now_s
