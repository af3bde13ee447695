"""The server's own numbers: which series of `/metrics` are kept, and what they say of a run.

Owns: the series by name, the line format of server.jsonl, and how lines become a `ServerView`. Knows
nothing about HTTP, files or clocks. A series that is absent stays absent: it is never read as 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from loadgen.stats.plan import ServerView

SERVER_SCHEMA = 1
CACHE_CONFIG = "vllm:cache_config_info"
STARTED = "process_start_time_seconds"
FULLEST = "vllm:kv_cache_usage_perc"
GAUGES = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    FULLEST,
    STARTED,
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
    "vllm:estimated_flops_per_gpu_total",
    "vllm:estimated_read_bytes_per_gpu_total",
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
    "vllm:iteration_tokens_total",
)
KEPT = frozenset(
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
    chosen = [line for line in text.split("\n") if (name := _name(line)) in KEPT or name == CACHE_CONFIG]
    families = text_string_to_metric_families("\n".join(chosen) + "\n")
    return gather(
        (sample.name, sample.labels, sample.value) for family in families for sample in family.samples
    )


def gather(
    samples: Iterable[tuple[str, Mapping[str, str], float]],
) -> tuple[Mapping[str, float], Mapping[str, str]]:
    """One reading's samples (name, labels, value) as they are kept: summed over labels but for `BY_LABEL`."""
    series: dict[str, float] = {}
    cache_config: Mapping[str, str] = {}
    for name, labels, value in samples:
        if name == CACHE_CONFIG:
            cache_config = dict(labels)
            continue
        key = f"{name}{{{labels.get(BY_LABEL[name], '')}}}" if name in BY_LABEL else name
        if name == FULLEST:
            series[key] = max(series.get(key, 0.0), value)
        else:
            series[key] = series.get(key, 0.0) + value
    return series, cache_config


def _name(line: str) -> str:
    for end, character in enumerate(line):
        if character in "{ ":
            return line[:end]
    return line


def server_view(samples: Iterable[ServerSample]) -> ServerView | None:
    """What the servers say of the measured phase; None if they were not read at its two edges.

    Increases are taken between the first and last edge of each URL and added up over the URLs; of a server
    that restarted in between there are none.
    """
    spans = _spans([sample for sample in samples if sample.error is None])
    if not spans:
        return None
    inside = [sample for span in spans for sample in span.samples]
    queries, hits = (
        _grew(spans, "vllm:prefix_cache_queries_total"),
        _grew(spans, "vllm:prefix_cache_hits_total"),
    )
    return ServerView(
        requests=_whole(_grew(spans, "vllm:e2e_request_latency_seconds_count")),
        ttft_mean_s=_mean(spans, "vllm:time_to_first_token_seconds"),
        tpot_mean_s=_mean(spans, "vllm:request_time_per_output_token_seconds"),
        itl_mean_s=_mean(spans, "vllm:inter_token_latency_seconds"),
        e2e_mean_s=_mean(spans, "vllm:e2e_request_latency_seconds"),
        queue_mean_s=_mean(spans, "vllm:request_queue_time_seconds"),
        prefill_mean_s=_mean(spans, "vllm:request_prefill_time_seconds"),
        decode_mean_s=_mean(spans, "vllm:request_decode_time_seconds"),
        prompt_tokens=_whole(_grew(spans, "vllm:prompt_tokens_total")),
        output_tokens=_whole(_grew(spans, "vllm:generation_tokens_total")),
        prefix_cache_hit_ratio=hits / queries if hits is not None and queries else None,
        preemptions=_whole(_grew(spans, "vllm:num_preemptions_total")),
        kv_cache_usage_max_ratio=_peak(inside, FULLEST, combine=max),
        running_max=_whole(_peak(inside, "vllm:num_requests_running", combine=sum)),
        waiting_max=_whole(_peak(inside, "vllm:num_requests_waiting", combine=sum)),
        prompt_tokens_by_source={
            source: round(grew) for source, grew in _grew_by_label(spans, SOURCES).items()
        },
        **_acceptance(spans),
        restarted=_restarted(spans),
        cache_config=next((span.after.cache_config for span in spans if span.after.cache_config), {}),
    )


def increases(samples: Iterable[ServerSample]) -> dict[str, float]:
    """By how much each counter grew over the measured phase, over all URLs, by its name; one label in braces.

    Empty where the servers were not read at the two edges; what restarted in between is left out.
    """
    spans = _spans([sample for sample in samples if sample.error is None])
    names = sorted({name for span in spans for name in span.after.series if name not in GAUGES})
    grew = {name: _grew(spans, name) for name in names}
    return {name: value for name, value in grew.items() if value is not None}


@dataclass(frozen=True, slots=True)
class _Span:
    """One server's samples from its first edge to its last, in the order of time."""

    samples: tuple[ServerSample, ...]

    @property
    def before(self) -> ServerSample:
        return self.samples[0]

    @property
    def after(self) -> ServerSample:
        return self.samples[-1]

    @property
    def restarted(self) -> bool | None:
        """Whether another process answers at some sample, or a counter fell between two; None where no
        start time is told (with several API servers vLLM tells none) and no counter fell."""
        starts = {sample.series[STARTED] for sample in self.samples if STARTED in sample.series}
        if len(starts) > 1 or any(_fell(a, b) for a, b in pairwise(self.samples)):
            return True
        return False if STARTED in self.before.series and STARTED in self.after.series else None


def _spans(samples: Sequence[ServerSample]) -> list[_Span]:
    by_url: dict[str, list[ServerSample]] = {}
    for sample in sorted(samples, key=lambda sample: sample.t_ns):
        by_url.setdefault(sample.url, []).append(sample)
    spans = []
    for found in by_url.values():
        edges = [number for number, sample in enumerate(found) if sample.edge]
        if len(edges) > 1:
            spans.append(_Span(tuple(found[edges[0] : edges[-1] + 1])))
    return spans


def _fell(before: ServerSample, after: ServerSample) -> bool:
    """Whether a counter is lower, or gone; a reading with no series at all tells nothing."""
    return bool(after.series) and any(
        after.series.get(name, 0.0) < value for name, value in before.series.items() if name not in GAUGES
    )


def _grew(spans: Sequence[_Span], name: str) -> float | None:
    """By how much a counter grew over all URLs; None where one of them does not have it, or restarted."""
    total = 0.0
    for span in spans:
        if name not in span.after.series or span.restarted:
            return None
        total += span.after.series[name] - span.before.series.get(name, 0.0)
    return total


def _grew_by_label(spans: Sequence[_Span], name: str) -> dict[str, float]:
    """By how much each of a counter's label values grew; one that was reset is left out."""
    values = sorted({key for span in spans for key in span.after.series if key.startswith(f"{name}{{")})
    grew = {key[len(name) + 1 : -1]: _grew(spans, key) for key in values}
    return {value: growth for value, growth in grew.items() if growth is not None}


def _acceptance(spans: Sequence[_Span]) -> dict[str, Any]:
    """Of speculation: accepted / drafted tokens, tokens a step (with the one that is always right), and
    for each draft position the share of steps that got that far. Empty where nothing was drafted."""
    drafts = _grew(spans, "vllm:spec_decode_num_drafts_total")
    drafted = _grew(spans, "vllm:spec_decode_num_draft_tokens_total")
    accepted = _grew(spans, "vllm:spec_decode_num_accepted_tokens_total")
    if not drafts or not drafted or accepted is None:
        return {}
    by_position = {int(position): grew for position, grew in _grew_by_label(spans, POSITIONS).items()}
    return {
        "acceptance_ratio": accepted / drafted,
        "acceptance_length": 1 + accepted / drafts,
        "acceptance_by_position": tuple(by_position[position] / drafts for position in sorted(by_position)),
    }


def _mean(spans: Sequence[_Span], histogram: str) -> float | None:
    total, count = _grew(spans, f"{histogram}_sum"), _grew(spans, f"{histogram}_count")
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


def _restarted(spans: Sequence[_Span]) -> bool | None:
    """Of any server; None if that is not known of all."""
    each = [span.restarted for span in spans]
    return True if True in each else None if None in each else False


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
