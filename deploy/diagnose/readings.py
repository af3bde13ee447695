"""From an engine's readings to evidence, whether they are of a run folder, of a Prometheus or just taken.

Owns: what a window is. Knows nothing about files, HTTP or what the numbers mean: how counters become
differences and means is the load generator's (`loadgen.server_metrics`), whose readings these are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from dashboards.samples import Series
from deploy.diagnose.evidence import Evidence, Speculated
from loadgen.server_metrics import CACHE_CONFIG, KEPT, ServerSample, gather, increases, server_view
from loadgen.stats.plan import ServerView

NAMES = frozenset((*KEPT, CACHE_CONFIG))
"""All series that are read of an engine."""
RUNNING = "vllm:num_requests_running"
WAITING = "vllm:num_requests_waiting"
TOKENS = "vllm:generation_tokens_total"
STEPS = "vllm:iteration_tokens_total"
READ_BYTES = "vllm:estimated_read_bytes_per_gpu_total"
FLOPS = "vllm:estimated_flops_per_gpu_total"


def evidence_of(source: str, samples: Sequence[ServerSample]) -> Evidence:
    """The evidence of one engine's readings. Raises: ValueError if under two could be read."""
    window = _window(samples)
    view = server_view(window)
    if view is None:
        raise ValueError("a window needs two readings")
    seconds = (window[-1].t_ns - window[0].t_ns) / 1e9
    running = _values(window, RUNNING)
    busy = _busy(window)
    grew = increases(window).get
    tokens, steps = grew(f"{STEPS}_sum"), grew(f"{STEPS}_count")
    working_s = seconds * (busy or 0.0)
    return Evidence(
        source=source,
        seconds=seconds,
        requests=view.requests,
        running_mean=_inside(view, seconds) or _mean(running),
        running_max=max(running, default=None),
        busy_ratio=busy,
        waiting_mean=_mean(_values(window, WAITING)),
        waiting_max=view.waiting_max,
        kv_usage_max_ratio=view.kv_cache_usage_max_ratio,
        preemptions=view.preemptions,
        queue_s=view.queue_mean_s,
        prefill_s=view.prefill_mean_s,
        decode_s=view.decode_mean_s,
        ttft_s=view.ttft_mean_s,
        tpot_s=view.tpot_mean_s,
        e2e_s=view.e2e_mean_s,
        prompt_tokens=view.prompt_tokens,
        computed_prompt_tokens=view.prompt_tokens_by_source.get("local_compute"),
        output_tokens=view.output_tokens,
        step_tokens=tokens / steps if tokens is not None and steps else None,
        prefix_hit_ratio=view.prefix_cache_hit_ratio,
        speculated=_speculated(view),
        read_bytes_per_s=_rate(grew(READ_BYTES), working_s),
        flops_per_s=_rate(grew(FLOPS), working_s),
        restarted=bool(view.restarted),
        cache_config=view.cache_config,
    )


def of_series(series: Iterable[Series]) -> Mapping[str, list[ServerSample]]:
    """A Prometheus' answer as readings of each engine (`instance`), one a step of the range."""
    points: dict[str, dict[float, list[tuple[str, Mapping[str, str], float]]]] = {}
    for one in series:
        name = one.labels.get("__name__", "")
        for at_s, value in one.finite():
            steps = points.setdefault(one.labels.get("instance", ""), {})
            steps.setdefault(at_s, []).append((name, one.labels, value))
    return {
        instance: [ServerSample(round(at_s * 1e9), instance, *gather(steps[at_s])) for at_s in sorted(steps)]
        for instance, steps in sorted(points.items())
    }


def of_run(samples: Sequence[ServerSample]) -> Mapping[str, list[ServerSample]]:
    """The readings of a run's measured phase, of each engine: from its first edge to its last."""
    found = {}
    for url in sorted({sample.url for sample in samples}):
        own = sorted((s for s in samples if s.url == url and s.error is None), key=lambda s: s.t_ns)
        edges = [number for number, sample in enumerate(own) if sample.edge]
        if len(edges) > 1:
            found[url] = own[edges[0] : edges[-1] + 1]
    return found


def _window(samples: Sequence[ServerSample]) -> list[ServerSample]:
    """Those that could be read, of which the first and the last are the edges."""
    good = [replace(sample, edge=False) for sample in samples if sample.error is None and sample.series]
    for number in {0, len(good) - 1} if len(good) > 1 else ():
        good[number] = replace(good[number], edge=True)
    return good


def _busy(window: Sequence[ServerSample]) -> float | None:
    """Share of the times between two readings in which something ran or a token came.

    The gauge alone misleads: vLLM sets it after a step, so that it is 0 while the next prompts are computed.
    """
    if not _values(window, RUNNING):
        return None
    worked = [
        b.series.get(TOKENS, 0) > a.series.get(TOKENS, 0)
        or max(a.series.get(RUNNING, 0), b.series.get(RUNNING, 0)) > 0
        for a, b in pairwise(window)
    ]
    return sum(worked) / len(worked)


def _inside(view: ServerView, seconds: float) -> float | None:
    """Requests in the engine on average: those that finished by their seconds in it (Little's law)."""
    if not view.requests or view.prefill_mean_s is None or view.decode_mean_s is None or seconds <= 0:
        return None
    return view.requests * (view.prefill_mean_s + view.decode_mean_s) / seconds


def _rate(grew: float | None, seconds: float) -> float | None:
    """None where nothing was counted: vLLM has these series at 0 unless it is told to estimate."""
    return grew / seconds if grew and seconds > 0 else None


def _values(window: Sequence[ServerSample], name: str) -> list[float]:
    return [sample.series[name] for sample in window if name in sample.series]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _speculated(view: ServerView) -> Speculated | None:
    if view.acceptance_ratio is None or view.acceptance_length is None:
        return None
    return Speculated(
        acceptance_ratio=view.acceptance_ratio,
        acceptance_length=view.acceptance_length,
        positions=view.acceptance_by_position,
    )
