"""What was seen of an engine within a window: the numbers that every rule of the diagnosis reads.

Owns: the type, and how it is made of two readings of the same engine. Knows nothing about where readings come
from, or what follows from them. What was not seen is None: it is never taken for 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

TTFT = "vllm:time_to_first_token_seconds"
TPOT = "vllm:request_time_per_output_token_seconds"
QUEUE = "vllm:request_queue_time_seconds"
PREFILL = "vllm:request_prefill_time_seconds"
DECODE = "vllm:request_decode_time_seconds"
E2E = "vllm:e2e_request_latency_seconds"
READ_BYTES = "vllm:estimated_read_bytes_per_gpu_total"
FLOPS = "vllm:estimated_flops_per_gpu_total"
WAITING_CAPACITY = "vllm:num_requests_waiting_by_reason{capacity}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of one `/metrics`: series summed over labels; `name{value}` where one is kept apart."""

    at_s: float
    series: Mapping[str, float]
    cache_config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculated:
    """What speculation did within the window."""

    drafts: float
    drafted: float
    accepted: float
    positions: tuple[float, ...]
    """The share of drafts of which the token at each position was accepted."""

    @property
    def acceptance_ratio(self) -> float:
        """Accepted / drafted tokens."""
        return self.accepted / self.drafted

    @property
    def acceptance_length(self) -> float:
        """Tokens of a step that drafted, the model's own among them."""
        return 1 + self.accepted / self.drafts


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What the device could do at most, and where that is from."""

    bandwidth_bytes_per_s: float
    flops: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One engine, one window. Means are over requests that finished in it; times in seconds."""

    source: str
    seconds: float
    requests: float | None = None
    running_mean: float | None = None
    running_max: float | None = None
    waiting_mean: float | None = None
    waiting_capacity_max: float | None = None
    kv_usage_max_ratio: float | None = None
    preemptions: float | None = None
    queue_s: float | None = None
    prefill_s: float | None = None
    decode_s: float | None = None
    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None
    prompt_tokens: float | None = None
    output_tokens: float | None = None
    prefix_hit_ratio: float | None = None
    speculated: Speculated | None = None
    read_bytes_per_s: float | None = None
    flops_per_s: float | None = None
    restarted: bool = False
    cache_config: Mapping[str, str] = field(default_factory=dict)
    max_num_seqs: int | None = None
    ttft_slo_s: float | None = None
    tpot_slo_s: float | None = None
    decode_floor_s: float | None = None
    """The planner's floor of a step at this batch and context."""
    weight_bytes: int | None = None
    kv_bytes_per_token: int | None = None
    device: Device | None = None

    @property
    def shares(self) -> tuple[float, float, float] | None:
        """Queue, prefill and decode as shares of their sum; None where one of them was not seen."""
        if self.queue_s is None or self.prefill_s is None or self.decode_s is None:
            return None
        whole = self.queue_s + self.prefill_s + self.decode_s
        return (self.queue_s / whole, self.prefill_s / whole, self.decode_s / whole) if whole > 0 else None

    @property
    def bandwidth_ratio(self) -> float | None:
        """Bytes read by the device's bandwidth, by the engine's own estimate."""
        if self.read_bytes_per_s is None or self.device is None:
            return None
        return self.read_bytes_per_s / self.device.bandwidth_bytes_per_s

    @property
    def flops_ratio(self) -> float | None:
        """Operations by the device's peak, by the engine's own estimate."""
        if self.flops_per_s is None or self.device is None:
            return None
        return self.flops_per_s / self.device.flops


def of_readings(source: str, readings: Sequence[Reading]) -> Evidence:
    """The evidence of one engine's readings, by time. Raises: ValueError if there are under two."""
    if len(readings) < 2:
        raise ValueError("a window needs two readings")
    first, last = readings[0], readings[-1]
    seconds = last.at_s - first.at_s

    def grew(name: str) -> float | None:
        if name not in last.series:
            return None
        return last.series[name] - first.series.get(name, 0.0)

    def mean(histogram: str) -> float | None:
        total, count = grew(f"{histogram}_sum"), grew(f"{histogram}_count")
        return total / count if total is not None and count else None

    def rate(name: str) -> float | None:
        found = grew(name)
        return found / seconds if found is not None and seconds > 0 else None

    queries, hits = grew("vllm:prefix_cache_queries_total"), grew("vllm:prefix_cache_hits_total")
    return Evidence(
        source=source,
        seconds=seconds,
        requests=grew(f"{E2E}_count"),
        running_mean=_average(readings, "vllm:num_requests_running"),
        running_max=_highest(readings, "vllm:num_requests_running"),
        waiting_mean=_average(readings, "vllm:num_requests_waiting"),
        waiting_capacity_max=_highest(readings, WAITING_CAPACITY),
        kv_usage_max_ratio=_highest(readings, "vllm:kv_cache_usage_perc"),
        preemptions=grew("vllm:num_preemptions_total"),
        queue_s=mean(QUEUE),
        prefill_s=mean(PREFILL),
        decode_s=mean(DECODE),
        ttft_s=mean(TTFT),
        tpot_s=mean(TPOT),
        e2e_s=mean(E2E),
        prompt_tokens=grew("vllm:prompt_tokens_total"),
        output_tokens=grew("vllm:generation_tokens_total"),
        prefix_hit_ratio=hits / queries if hits is not None and queries else None,
        speculated=_speculated(first, last),
        read_bytes_per_s=rate(READ_BYTES),
        flops_per_s=rate(FLOPS),
        restarted=_restarted(readings),
        cache_config=last.cache_config,
    )


def _values(readings: Sequence[Reading], name: str) -> list[float]:
    return [reading.series[name] for reading in readings if name in reading.series]


def _average(readings: Sequence[Reading], name: str) -> float | None:
    found = _values(readings, name)
    return sum(found) / len(found) if found else None


def _highest(readings: Sequence[Reading], name: str) -> float | None:
    return max(_values(readings, name), default=None)


def _restarted(readings: Sequence[Reading]) -> bool:
    """Whether another process answered in between, or a counter fell."""
    starts = set(_values(readings, "process_start_time_seconds"))
    counts = _values(readings, f"{E2E}_count")
    return len(starts) > 1 or any(b < a for a, b in pairwise(counts))


def _speculated(first: Reading, last: Reading) -> Speculated | None:
    def grew(name: str) -> float:
        return last.series.get(name, 0.0) - first.series.get(name, 0.0)

    drafts = grew("vllm:spec_decode_num_drafts_total")
    drafted = grew("vllm:spec_decode_num_draft_tokens_total")
    if drafts <= 0 or drafted <= 0:
        return None
    prefix = "vllm:spec_decode_num_accepted_tokens_per_pos_total{"
    names = [name for name in last.series if name.startswith(prefix)]
    by_position = sorted((int(name[len(prefix) : -1]), grew(name) / drafts) for name in names)
    return Speculated(
        drafts=drafts,
        drafted=drafted,
        accepted=grew("vllm:spec_decode_num_accepted_tokens_total"),
        positions=tuple(share for _, share in by_position),
    )
