"""vLLM 0.32's /metrics as the scripted engine writes it.

Owns: the names, labels and buckets (taken from a capture of the real engine) and the counting. Knows
nothing about HTTP or scripts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FINISHED_REASONS = ("stop", "length", "abort", "error", "repetition")
CACHE_CONFIG = {
    "block_size": "128",
    "cache_dtype": "auto",
    "enable_prefix_caching": "True",
    "gpu_memory_utilization": "0.92",
    "kv_cache_max_concurrency": "45.5",
    "kv_cache_memory_bytes": "2147483648",
    "kv_cache_size_tokens": "93184",
    "num_cpu_blocks": "None",
    "num_gpu_blocks": "728",
    "prefix_caching_hash_algo": "sha256",
    "sliding_window": "None",
}
_TTFT = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0),
    *(40.0, 80.0, 160.0, 640.0, 2560.0),
)
_E2E = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0),
    *(480.0, 960.0, 1920.0, 7680.0),
)
_TPOT = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0),
    *(40.0, 80.0),
)

_TRANSFER = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 5.0)


@dataclass(slots=True)
class Histogram:
    """Counts by upper bound, and the sum."""

    bounds: Sequence[float]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


@dataclass(slots=True)
class EngineMetrics:
    """What the engine counted so far."""

    model: str = "scripted"
    cache_config: dict[str, str] = field(default_factory=lambda: dict(CACHE_CONFIG))
    running: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    prompt_tokens: int = 0
    taken_tokens: int = 0
    """Of prompts whose KV cache another engine made."""
    generation_tokens: int = 0
    success: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FINISHED_REASONS, 0))
    ttft: Histogram = field(default_factory=lambda: Histogram(_TTFT))
    itl: Histogram = field(default_factory=lambda: Histogram(_TPOT))
    tpot: Histogram = field(default_factory=lambda: Histogram(_TPOT))
    e2e: Histogram = field(default_factory=lambda: Histogram(_E2E))
    transfer: Histogram = field(default_factory=lambda: Histogram(_TRANSFER))
    queue: Histogram = field(default_factory=lambda: Histogram(_E2E))

    def prompt(self, tokens: int, cached: int, *, taken: bool = False) -> None:
        """Count a prompt, `taken` from another engine or not; with the cache off nothing is looked up."""
        if taken:
            self.taken_tokens += tokens - cached
            self.transfer.observe(0.002)
        if self.cache_config["enable_prefix_caching"] == "True":
            self.prefix_queries += tokens
        self.prefix_hits += cached
        self.prompt_tokens += tokens
        self.queue.observe(0.0)

    def finished(self, reason: str, *, output_s: Sequence[tuple[float, int]]) -> None:
        """Count a completed answer by its output: (seconds since the request, tokens) of each event."""
        self.success[reason if reason in self.success else "stop"] += 1
        tokens = sum(count for _, count in output_s)
        if not output_s or tokens == 0:
            return
        first_s, last_s = output_s[0][0], output_s[-1][0]
        self.e2e.observe(last_s)
        if tokens > 1:
            self.tpot.observe((last_s - first_s) / (tokens - 1))

    def output(self, *, gap_s: float, tokens: int, first: bool) -> None:
        """Count one output event: `gap_s` after the event before, or after the request if `first`."""
        self.generation_tokens += tokens
        (self.ttft if first else self.itl).observe(gap_s)

    def render(self) -> str:
        """The Prometheus text."""
        lines: list[str] = []
        labels = {"engine": "0", "model_name": self.model}
        for name, value in (("num_requests_running", self.running), ("num_requests_waiting", 0)):
            lines += _family(name, "gauge", [(labels, value)])
        lines += _family("kv_cache_usage_perc", "gauge", [(labels, 0)])
        computed = self.prompt_tokens - self.prefix_hits - self.taken_tokens
        for name, value in (
            ("prefix_cache_queries_total", self.prefix_queries),
            ("prefix_cache_hits_total", self.prefix_hits),
            ("num_preemptions_total", 0),
            ("prompt_tokens_total", self.prompt_tokens),
            ("prompt_tokens_cached_total", self.prefix_hits),
            ("generation_tokens_total", self.generation_tokens),
        ):
            lines += _family(name, "counter", [(labels, value)])
        sources = {"local_compute": computed, "local_cache_hit": self.prefix_hits}
        sources["external_kv_transfer"] = self.taken_tokens
        by_source = [({**labels, "source": source}, count) for source, count in sources.items()]
        lines += _family("prompt_tokens_by_source_total", "counter", by_source)
        by_reason = [({**labels, "finished_reason": reason}, n) for reason, n in self.success.items()]
        lines += _family("request_success_total", "counter", by_reason)
        for name, histogram in (
            ("time_to_first_token_seconds", self.ttft),
            ("inter_token_latency_seconds", self.itl),
            ("request_time_per_output_token_seconds", self.tpot),
            ("e2e_request_latency_seconds", self.e2e),
            ("request_queue_time_seconds", self.queue),
        ):
            lines += _histogram(name, labels, histogram)
        if self.taken_tokens:
            lines += _histogram("nixl_xfer_time_seconds", labels, self.transfer)
        lines += _family("cache_config_info", "gauge", [({**self.cache_config, "engine": "0"}, 1)])
        return "\n".join(lines) + "\n"


def _family(name: str, kind: str, samples: Sequence[tuple[Mapping[str, str], float]]) -> list[str]:
    head = [f"# HELP vllm:{name} Scripted {name}.", f"# TYPE vllm:{name} {kind}"]
    return head + [_sample(name, labels, value) for labels, value in samples]


def _histogram(name: str, labels: Mapping[str, str], histogram: Histogram) -> list[str]:
    lines = [f"# HELP vllm:{name} Scripted {name}.", f"# TYPE vllm:{name} histogram"]
    below = 0
    for bound, count in zip((*map(str, histogram.bounds), "+Inf"), histogram.counts, strict=True):
        below += count
        lines.append(_sample(f"{name}_bucket", {**labels, "le": bound}, below))
    return [*lines, _sample(f"{name}_count", labels, below), _sample(f"{name}_sum", labels, histogram.total)]


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{labels[key]}"' for key in sorted(labels))
    return f"vllm:{name}{{{inside}}} {float(value)}"
