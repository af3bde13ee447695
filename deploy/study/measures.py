"""What is taken of a cell and of a start: one row a measure.

Owns: the table of measures: name, title, unit, which side is better, and where it is read. Knows nothing
about repeats or other arms. Definitions are those of docs/measurement.md; D is a counter's growth over the
window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from deploy.study.rows import Arm, CellRow, StartRow

ACCEPTED = "vllm:spec_decode_num_accepted_tokens_total"
DRAFTED = "vllm:spec_decode_num_draft_tokens_total"
DRAFTS = "vllm:spec_decode_num_drafts_total"
BY_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
GENERATED = "vllm:generation_tokens_total"
FIRST = "vllm:time_to_first_token_seconds_count"
"""Grows with each answer's first token, which comes from the pass that ends its prompt."""
LATER = "vllm:inter_token_latency_seconds_count"
"""Grows with each pass after that, for each answer that gets tokens from it, however many."""
HITS, QUERIES = "vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"
POSITION = "accepted_at_position_"
"""A measure for each drafted position, from 1: the share of drafts of which so many tokens were accepted."""
MOST_POSITIONS = 16
Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Seen:
    """One cell with what belongs to it."""

    cell: CellRow
    arm: Arm
    start: StartRow | None
    load: Mapping[str, Any]
    """summary.json of its load run."""

    def at(self, *path: str) -> float | None:
        """A number of the load's summary; None where it is not known."""
        value: Any = self.load
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def grew(self, name: str) -> float | None:
        """A counter's growth over the window; None where the engine has no such counter."""
        return self.cell.counters.get(name)

    def share(self, part: str, whole: str) -> float | None:
        """One growth over another; None where there was none of the whole."""
        top, bottom = self.grew(part), self.grew(whole)
        return top / bottom if top is not None and bottom else None


@dataclass(frozen=True, slots=True)
class Measure:
    """One row of the table."""

    name: str
    title: str
    unit: str
    better: Better | None
    of: Callable[[Seen], float | None]
    definition: str
    exact: bool = False
    """Counted, not drawn."""


@dataclass(frozen=True, slots=True)
class StartMeasure:
    """What a start tells, whatever is sent to it."""

    name: str
    title: str
    unit: str
    better: Better | None
    of: Callable[[StartRow], float | None]
    definition: str
    exact: bool = False


def _output_rate(seen: Seen) -> float | None:
    steady = seen.at("steady", "output_tokens_per_s")
    return steady if steady is not None else seen.at("output_tokens_per_s")


def _total_rate(seen: Seen) -> float | None:
    prompts, answers = seen.grew("vllm:prompt_tokens_total"), seen.grew(GENERATED)
    window = seen.cell.window_s
    return (prompts + answers) / window if prompts is not None and answers is not None and window else None


def _per_user(seen: Seen) -> float | None:
    tpot = seen.at("tpot_s", "p50") or seen.at("tpot_s", "mean")
    return 1 / tpot if tpot else None


def _per_pass(seen: Seen) -> float | None:
    generated, first, passes = seen.grew(GENERATED), seen.grew(FIRST), seen.grew(LATER)
    if seen.grew(DRAFTS) is None or generated is None or first is None or not passes:
        return None
    return (generated - first) / passes


def _drafted_share(seen: Seen) -> float | None:
    generated, first, passes = seen.grew(GENERATED), seen.grew(FIRST), seen.grew(LATER)
    if seen.grew(DRAFTS) is None or not generated or first is None or passes is None:
        return None
    return 1 - (first + passes) / generated


def _length(seen: Seen) -> float | None:
    share = seen.share(ACCEPTED, DRAFTS)
    return None if share is None else 1 + share


def _kv_bytes(seen: Seen) -> float | None:
    usage = seen.cell.gauges.get("kv_cache_usage_max_ratio")
    whole = _of_all(seen.start.kv_cache_bytes, seen.start) if seen.start else None
    return usage * whole if usage is not None and whole is not None else None


def _of_all(of_one: int | None, start: StartRow) -> int | None:
    """Of all engines: they are started alike, and the first tells."""
    return None if of_one is None else of_one * start.engines


def _memory(seen: Seen) -> float | None:
    weights = (seen.start.weights_bytes if seen.start else None) or seen.arm.planned.weight_bytes
    cache = _kv_bytes(seen)
    return weights + cache if weights is not None and cache is not None else None


def _position(number: int) -> Measure:
    return Measure(
        f"{POSITION}{number}",
        f"accepted at position {number}",
        "ratio",
        "higher",
        lambda seen: seen.share(f"{BY_POSITION}{{{number - 1}}}", DRAFTS),
        "D accepted at the position / D drafts",
    )


def _latency(key: str, title: str, part: str) -> Measure:
    what = {"p50": "median", "p95": "95th percentile", "mean": "mean"}[part]
    return Measure(
        f"{key[:-2]}_{part}_s", f"{title} {part}", "s", "lower", lambda seen: seen.at(key, part),
        f"{title}, {what} over complete answers; withheld where there are too few",
    )  # fmt: skip


def _server(key: str, title: str) -> Measure:
    return Measure(
        key, title, "s", "lower", lambda seen: seen.at("server", key), "the engine's own: D sum / D count"
    )


MEASURES: tuple[Measure, ...] = (
    Measure("output_tokens_per_s", "output", "tokens/s", "higher", _output_rate,
            "output tokens of complete answers a second, where a part of the run was steady within it"),
    Measure("tokens_per_s_per_user", "per user", "tokens/s", "higher", _per_user,
            "1 / TPOT p50: without TTFT"),
    Measure("total_tokens_per_s", "prompt and output", "tokens/s", "higher", _total_rate,
            "D prompt tokens + D generated tokens over the whole window"),
    Measure("requests_per_s", "requests", "1/s", "higher", lambda seen: seen.at("requests_per_s"),
            "complete answers a second"),
    *(_latency("ttft_s", "TTFT", part) for part in ("p50", "p95", "mean")),
    *(_latency("tpot_s", "TPOT", part) for part in ("p50", "p95", "mean")),
    *(_latency("e2e_s", "E2E", part) for part in ("p50", "p95", "mean")),
    Measure("goodput_ratio", "goodput", "ratio", "higher", lambda seen: seen.at("goodput", "ratio"),
            "share of intended requests within all objectives"),
    Measure("requests_failed", "failed", "requests", "lower", lambda seen: seen.at("requests", "failed"),
            "requests without a complete answer"),
    Measure("in_flight_mean", "in flight", "requests", None, lambda seen: seen.at("steady", "in_flight_mean"),
            "mean number of requests at once in the steady part"),
    Measure("acceptance_ratio", "acceptance", "ratio", "higher", lambda seen: seen.share(ACCEPTED, DRAFTED),
            "D accepted / D drafted tokens"),
    Measure("acceptance_length", "acceptance length", "tokens", "higher", _length,
            "1 + D accepted / D drafts"),
    Measure("tokens_per_pass", "tokens a pass", "tokens", "higher", _per_pass,
            "(G - F) / P, G = D generated tokens, F = D first tokens, P = D inter-token latencies: one a "
            "pass of the target that gave an answer later tokens, with a draft or without"),
    Measure("drafted_share", "from the draft", "ratio", "higher", _drafted_share,
            "1 - (F + P) / G: of the output, what came beside the one token that each pass gives by itself"),
    *map(_position, range(1, MOST_POSITIONS + 1)),
    Measure("prefix_hit_ratio", "prefix hits", "ratio", "higher", lambda seen: seen.share(HITS, QUERIES),
            "D hits / D queries, in tokens"),
    Measure("kv_usage_max_ratio", "KV in use", "ratio", "lower",
            lambda seen: seen.cell.gauges.get("kv_cache_usage_max_ratio"), "highest share of blocks in use"),
    Measure("kv_in_use_bytes", "KV in use", "bytes", "lower", _kv_bytes,
            "highest usage of an engine x bytes of the KV cache of all; sampled every second"),
    Measure("memory_bytes", "memory", "bytes", "lower", _memory,
            "weights + KV in use, without what is reserved"),
    Measure("preemptions", "preemptions", "", "lower", lambda seen: seen.grew("vllm:num_preemptions_total"),
            "D preemptions"),
    _server("queue_mean_s", "queued"),
    _server("prefill_mean_s", "prefill"),
    _server("decode_mean_s", "decode"),
)  # fmt: skip

START_MEASURES: tuple[StartMeasure, ...] = (
    StartMeasure("kv_cache_tokens", "KV capacity", "tokens", "higher",
                 lambda row: _of_all(row.kv_cache_tokens, row),
                 "kv_cache_size_tokens of vllm:cache_config_info, of all engines", exact=True),
    StartMeasure("kv_cache_bytes", "KV cache", "bytes", None, lambda row: _of_all(row.kv_cache_bytes, row),
                 "kv_cache_memory_bytes of vllm:cache_config_info, of all engines", exact=True),
    StartMeasure("weights_bytes", "weights", "bytes", "lower", lambda row: row.weights_bytes,
                 "'Model loading took' in the engine's log", exact=True),
    StartMeasure("start_s", "start", "s", "lower", lambda row: row.took_s, "until ready, modes proven"),
)  # fmt: skip

BY_NAME: Mapping[str, Measure | StartMeasure] = {
    **{row.name: row for row in MEASURES},
    **{row.name: row for row in START_MEASURES},
}
