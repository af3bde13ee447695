"""From Prometheus' text, a run folder's lines or a Prometheus' series to readings.

Owns: which series of an engine are read. Knows nothing about files or HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client.parser import text_string_to_metric_families

from dashboards.samples import Series
from deploy.diagnose.evidence import Reading
from loadgen.server_metrics import ServerSample

CACHE_CONFIG = "vllm:cache_config_info"
BY_LABEL = {
    "vllm:spec_decode_num_accepted_tokens_per_pos_total": "position",
    "vllm:num_requests_waiting_by_reason": "reason",
}
"""Kept apart by one label, as `name{value}`."""
FULLEST = "vllm:kv_cache_usage_perc"
_HISTOGRAMS = (
    "vllm:time_to_first_token_seconds",
    "vllm:request_time_per_output_token_seconds",
    "vllm:request_queue_time_seconds",
    "vllm:request_prefill_time_seconds",
    "vllm:request_decode_time_seconds",
    "vllm:e2e_request_latency_seconds",
)
NAMES = frozenset(
    (
        "process_start_time_seconds",
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
        FULLEST,
        "vllm:num_preemptions_total",
        "vllm:prompt_tokens_total",
        "vllm:generation_tokens_total",
        "vllm:prefix_cache_queries_total",
        "vllm:prefix_cache_hits_total",
        "vllm:spec_decode_num_drafts_total",
        "vllm:spec_decode_num_draft_tokens_total",
        "vllm:spec_decode_num_accepted_tokens_total",
        "vllm:estimated_read_bytes_per_gpu_total",
        "vllm:estimated_flops_per_gpu_total",
        CACHE_CONFIG,
        *BY_LABEL,
        *(f"{name}_{part}" for name in _HISTOGRAMS for part in ("sum", "count")),
    )
)


def of_text(at_s: float, text: str) -> Reading:
    """One reading of a `/metrics`. Raises: ValueError where it is not Prometheus' text."""
    chosen = (line for line in text.splitlines() if line.replace("{", " ").split(" ", 1)[0] in NAMES)
    families = text_string_to_metric_families("\n".join(chosen) + "\n")
    return _reading(at_s, ((s.name, s.labels, s.value) for family in families for s in family.samples))


def of_run(samples: Sequence[ServerSample]) -> Mapping[str, list[Reading]]:
    """The readings of a run's measured phase, of each engine: from its first edge to its last."""
    found: dict[str, list[Reading]] = {}
    for url in sorted({sample.url for sample in samples}):
        own = sorted((s for s in samples if s.url == url and s.error is None), key=lambda s: s.t_ns)
        edges = [number for number, sample in enumerate(own) if sample.edge]
        if len(edges) > 1:
            window = own[edges[0] : edges[-1] + 1]
            found[url] = [Reading(s.t_ns / 1e9, s.series, s.cache_config) for s in window]
    return found


def of_series(series: Iterable[Series]) -> Mapping[str, list[Reading]]:
    """The readings of each engine (`instance`), one a step of the range."""
    points: dict[str, dict[float, list[tuple[str, Mapping[str, str], float]]]] = {}
    for one in series:
        name = one.labels.get("__name__", "")
        for at_s, value in one.finite():
            steps = points.setdefault(one.labels.get("instance", ""), {})
            steps.setdefault(at_s, []).append((name, one.labels, value))
    return {
        instance: [_reading(at_s, steps[at_s]) for at_s in sorted(steps)]
        for instance, steps in sorted(points.items())
    }


def _reading(at_s: float, samples: Iterable[tuple[str, Mapping[str, str], float]]) -> Reading:
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
    return Reading(at_s, series, cache_config)
