"""The server's own numbers: which series of `/metrics` are kept, and what they say of a run.

Owns: the series by name, the line format of server.jsonl, and how lines become a `ServerView`. Knows
nothing about HTTP, files or clocks. A series that is absent stays absent: it is never read as 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from loadgen.stats.plan import ServerView

SERVER_SCHEMA = 1
CACHE_CONFIG = "vllm:cache_config_info"
GAUGES = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "process_start_time_seconds",
)
COUNTERS = (
    "vllm:prefix_cache_queries_total",
    "vllm:prefix_cache_hits_total",
    "vllm:num_preemptions_total",
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
    "vllm:request_success_total",
    "vllm:external_prefix_cache_queries_total",
    "vllm:external_prefix_cache_hits_total",
    "vllm:spec_decode_num_drafts_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total",
)
SOURCES = "vllm:prompt_tokens_by_source_total"
POSITIONS = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
BY_LABEL = {SOURCES: "source", POSITIONS: "position"}
"""Counters that are kept apart by one label: as `name{value}`."""
HISTOGRAMS = (
    "vllm:time_to_first_token_seconds",
    "vllm:request_time_per_output_token_seconds",
    "vllm:inter_token_latency_seconds",
    "vllm:e2e_request_latency_seconds",
    "vllm:request_queue_time_seconds",
    "vllm:request_prefill_time_seconds",
    "vllm:request_decode_time_seconds",
)
_KEPT = frozenset(
    (*GAUGES, *COUNTERS, *BY_LABEL, *(f"{name}_{part}" for name in HISTOGRAMS for part in ("sum", "count")))
)


@dataclass(frozen=True, slots=True)
class ServerSample:
    """One reading of one `/metrics`: a line of server.jsonl. `t_ns` is on the records' clock."""

    t_ns: int
    url: str
    series: Mapping[str, float] = field(default_factory=dict)
    """Summed over labels (engines, finish reasons); the KV cache usage is the fullest engine's."""
    cache_config: Mapping[str, str] = field(default_factory=dict)
    edge: bool = False
    """Read with nothing in flight: before the measured phase, or after it."""
    error: str | None = None
    schema: int = SERVER_SCHEMA

    def to_json(self) -> str:
        """One line, without the line end."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> ServerSample:
        """Read a line of server.jsonl. Raises: TypeError, ValueError on a wrong line."""
        return cls(**json.loads(line))


def read_metrics(text: str) -> tuple[Mapping[str, float], Mapping[str, str]]:
    """The kept series and the labels of the cache configuration, from a Prometheus text.

    Lines are chosen by name before they are parsed: a vLLM server has thousands of buckets.
    """
    chosen = [line for line in text.split("\n") if (name := _name(line)) in _KEPT or name == CACHE_CONFIG]
    series: dict[str, float] = {}
    cache_config: dict[str, str] = {}
    for family in text_string_to_metric_families("\n".join(chosen) + "\n"):
        for sample in family.samples:
            if sample.name == CACHE_CONFIG:
                cache_config = dict(sample.labels)
            elif sample.name in BY_LABEL:
                name = f"{sample.name}{{{sample.labels.get(BY_LABEL[sample.name], '')}}}"
                series[name] = series.get(name, 0.0) + sample.value
            elif sample.name == "vllm:kv_cache_usage_perc":
                series[sample.name] = max(series.get(sample.name, 0.0), sample.value)
            else:
                series[sample.name] = series.get(sample.name, 0.0) + sample.value
    return series, cache_config


def _name(line: str) -> str:
    for end, character in enumerate(line):
        if character in "{ ":
            return line[:end]
    return line


def server_view(samples: Iterable[ServerSample]) -> ServerView | None:
    """What the servers say of the measured phase; None if they were not read at its two edges.

    Increases are taken between the first and last edge of each URL and added up over the URLs.
    """
    good = [sample for sample in samples if sample.error is None]
    pairs = _edges(good)
    if not pairs:
        return None
    inside = [
        sample
        for sample in good
        if any(a.url == sample.url and a.t_ns <= sample.t_ns <= b.t_ns for a, b in pairs)
    ]
    queries, hits = (
        _grew(pairs, "vllm:prefix_cache_queries_total"),
        _grew(pairs, "vllm:prefix_cache_hits_total"),
    )
    return ServerView(
        requests=_whole(_grew(pairs, "vllm:e2e_request_latency_seconds_count")),
        ttft_mean_s=_mean(pairs, "vllm:time_to_first_token_seconds"),
        tpot_mean_s=_mean(pairs, "vllm:request_time_per_output_token_seconds"),
        itl_mean_s=_mean(pairs, "vllm:inter_token_latency_seconds"),
        e2e_mean_s=_mean(pairs, "vllm:e2e_request_latency_seconds"),
        queue_mean_s=_mean(pairs, "vllm:request_queue_time_seconds"),
        prefill_mean_s=_mean(pairs, "vllm:request_prefill_time_seconds"),
        decode_mean_s=_mean(pairs, "vllm:request_decode_time_seconds"),
        prompt_tokens=_whole(_grew(pairs, "vllm:prompt_tokens_total")),
        output_tokens=_whole(_grew(pairs, "vllm:generation_tokens_total")),
        prefix_cache_hit_ratio=hits / queries if hits is not None and queries else None,
        preemptions=_whole(_grew(pairs, "vllm:num_preemptions_total")),
        kv_cache_usage_max_ratio=_peak(inside, "vllm:kv_cache_usage_perc", combine=max),
        running_max=_whole(_peak(inside, "vllm:num_requests_running", combine=sum)),
        waiting_max=_whole(_peak(inside, "vllm:num_requests_waiting", combine=sum)),
        prompt_tokens_by_source={
            source: round(grew) for source, grew in _grew_by_label(pairs, SOURCES).items()
        },
        **_acceptance(pairs),
        restarted=_restarted(pairs),
        cache_config=next((b.cache_config for _, b in pairs if b.cache_config), {}),
    )


Pair = tuple[ServerSample, ServerSample]


def _edges(samples: Sequence[ServerSample]) -> list[Pair]:
    edges: dict[str, list[ServerSample]] = {}
    for sample in samples:
        if sample.edge:
            edges.setdefault(sample.url, []).append(sample)
    return [(found[0], found[-1]) for found in edges.values() if len(found) > 1]


def _grew(pairs: Sequence[Pair], name: str) -> float | None:
    """By how much a counter grew over all URLs; None where one of them does not have it, or was reset."""
    total = 0.0
    for before, after in pairs:
        if name not in after.series or after.series[name] < before.series.get(name, 0.0):
            return None
        total += after.series[name] - before.series.get(name, 0.0)
    return total


def _grew_by_label(pairs: Sequence[Pair], name: str) -> dict[str, float]:
    """By how much each of a counter's label values grew; one that was reset is left out."""
    values = sorted({key for pair in pairs for key in pair[1].series if key.startswith(f"{name}{{")})
    grew = {key[len(name) + 1 : -1]: _grew(pairs, key) for key in values}
    return {value: growth for value, growth in grew.items() if growth is not None}


def _acceptance(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Of speculation: accepted / drafted tokens, tokens a step (with the one that is always right), and
    for each draft position the share of steps that got that far. Empty where nothing was drafted."""
    drafts = _grew(pairs, "vllm:spec_decode_num_drafts_total")
    drafted = _grew(pairs, "vllm:spec_decode_num_draft_tokens_total")
    accepted = _grew(pairs, "vllm:spec_decode_num_accepted_tokens_total")
    if not drafts or not drafted or accepted is None:
        return {}
    by_position = {int(position): grew for position, grew in _grew_by_label(pairs, POSITIONS).items()}
    return {
        "acceptance_ratio": accepted / drafted,
        "acceptance_length": 1 + accepted / drafts,
        "acceptance_by_position": tuple(by_position[position] / drafts for position in sorted(by_position)),
    }


def _mean(pairs: Sequence[Pair], histogram: str) -> float | None:
    total, count = _grew(pairs, f"{histogram}_sum"), _grew(pairs, f"{histogram}_count")
    return total / count if total is not None and count else None


def _peak(
    samples: Sequence[ServerSample], name: str, *, combine: Callable[[Iterable[float]], float]
) -> float | None:
    """The highest value over the samples; values of several URLs read in the same second are combined."""
    by_second: dict[int, dict[str, float]] = {}
    for sample in samples:
        if name in sample.series:
            by_second.setdefault(sample.t_ns // 1_000_000_000, {})[sample.url] = sample.series[name]
    return max((combine(values.values()) for values in by_second.values()), default=None)


def _restarted(pairs: Sequence[Pair]) -> bool | None:
    name = "process_start_time_seconds"
    known = [(a.series[name], b.series[name]) for a, b in pairs if name in a.series and name in b.series]
    return any(a != b for a, b in known) if known else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
