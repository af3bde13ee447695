"""What `summarize` must know beside the records: what was asked of the run, and what the server saw.

Owns: the two input types `RunPlan` and `ServerView`, and the service level objectives `Slo`. Knows
nothing about workload files, `/metrics` or who fills these in. Only the measured phase is meant
throughout: warm-up requests are in none of these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Arrival = Literal["constant", "poisson", "gamma", "trace", "stages", "closed"]


@dataclass(frozen=True, slots=True)
class Slo:
    """The objectives that every good request meets; None is "not asked for"."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A part of the measured phase: `rates` at its begin and end, or a number of users."""

    duration_s: float
    rates: tuple[float, float] | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What the timetable asked for."""

    arrival: Arrival
    intended: int | None
    """Requests of the timetable's measured phase. None for a closed loop that runs for a duration: what
    was sent is then what was intended."""
    rate_per_s: float | None = None
    """The rate the workload file asks for; None for a closed loop."""
    duration_s: float | None = None
    """Length of the measured phase's timetable (not of the drain after it); None if a count ends the run."""
    concurrency: int | None = None
    """Users of a closed loop; None for an open one."""
    start_ns: int | None = None
    """When the measured phase begins, on the records' clock. None: at its first intended or sent request."""
    slo: Slo = field(default_factory=Slo)
    gaps_cv: float | None = None
    """Coefficient of variation of the gaps between arrivals. None: 1 for a Poisson process, else 0."""
    stages: tuple[Stage, ...] = ()
    follow_ups: frozenset[int] = frozenset()
    """Indices of requests that have no time of their own in an open loop: later turns of conversations."""
    intended_by_kind: Mapping[str, int] = field(default_factory=dict)
    """Requests of the measured phase by kind of prompt, never sent ones too; empty if not known."""

    @property
    def closed(self) -> bool:
        """Whether requests wait for answers and not for times."""
        return self.arrival == "closed" or any(stage.concurrency for stage in self.stages)

    @property
    def even(self) -> bool:
        """Whether one rate holds throughout: then more in flight later means a server that fell behind."""
        return self.arrival in ("constant", "poisson", "gamma")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """The server's own account of the measured phase, from its `/metrics` before and after.

    A mean is the increase of `_sum` over the increase of `_count`. None is "not scraped", never 0.
    """

    requests: int | None = None
    """Requests finished: increase of `vllm:e2e_request_latency_seconds_count`."""
    ttft_mean_s: float | None = None
    tpot_mean_s: float | None = None
    """From `vllm:request_time_per_output_token_seconds`."""
    itl_mean_s: float | None = None
    """From `vllm:inter_token_latency_seconds`: per chunk, so the twin of our inter-chunk gap."""
    e2e_mean_s: float | None = None
    queue_mean_s: float | None = None
    prefill_mean_s: float | None = None
    decode_mean_s: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    prefix_cache_hit_ratio: float | None = None
    """Increase of hits over increase of queries, in tokens, 0..1."""
    preemptions: int | None = None
    kv_cache_usage_max_ratio: float | None = None
    running_max: int | None = None
    waiting_max: int | None = None
    prompt_tokens_by_source: Mapping[str, int] = field(default_factory=dict)
    """`local_compute`, `local_cache_hit`, `external_kv_transfer`; empty where the server does not tell."""
    acceptance_ratio: float | None = None
    """Accepted / drafted tokens; None without speculation."""
    acceptance_length: float | None = None
    """Tokens a step: 1 + accepted / drafts."""
    acceptance_by_position: tuple[float, ...] = ()
    """For each draft position, from the first, the share of steps in which it was accepted."""
    restarted: bool | None = None
    """True if the engine's process was replaced between the first and the last scrape."""
    cache_config: Mapping[str, str] = field(default_factory=dict)
    """The labels of `vllm:cache_config_info`."""
