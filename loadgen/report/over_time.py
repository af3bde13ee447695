"""The charts that share one axis of time: every request, in flight, TTFT, and what the server had to do.

Owns: these charts and their axis with the stages marked on it. Knows nothing about the page around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from loadgen.records import RequestRecord
from loadgen.report.charts import Frame, framed, latency_ticks, rounded, unit_of_scale
from loadgen.report.figures import duration, limit, share
from loadgen.report.lanes import Lanes, in_flight
from loadgen.report.scales import PLOT, Scale, fitting, linear
from loadgen.server_metrics import ServerSample
from loadgen.stats.definitions import ttft_s

_NS_PER_S = 1e9
_LABEL = "seconds since the measured phase began"


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The measured phase from left to right. `stages` are seconds from its start, with their words."""

    start_ns: int
    end_s: float
    stages: tuple[tuple[float, str], ...] = ()

    @property
    def scale(self) -> Scale:
        """Seconds to places."""
        return linear(self.end_s)

    def at(self, stamp_ns: int) -> float:
        """The place of a stamp of the records' clock."""
        return self.scale.at((stamp_ns - self.start_ns) / _NS_PER_S)

    def ticks(self) -> list[tuple[float, str]]:
        """Round seconds."""
        return [(self.scale.at(tick), f"{tick:g}") for tick in rounded(self.scale.ticks())]

    def marks(self) -> list[tuple[float, str, str]]:
        """The beginnings of the stages."""
        return [(self.scale.at(from_s), words, "stage") for from_s, words in self.stages]


def timeline(records: Sequence[RequestRecord], axis: TimeAxis) -> str:
    """Each request from sent to end, stacked as they overlapped.

    Thin up to the first token, thick from there. Failed and cut requests are outlined and end in a bar.
    """
    lanes = Lanes.of(records)
    tall = PLOT / max(1, lanes.count)
    bars: list[str] = []
    for record, lane in lanes.placed:
        sent, end, top = axis.at(record.t_sent_ns), axis.at(record.t_end_ns), lane * tall
        first = axis.at(record.output_ns[0]) if record.output_ns else end
        css = "" if record.outcome == "ok" else " bad"
        bars.append(_bar("wait" + css, sent, first, top + tall * 0.34, tall * 0.32))
        bars.append(_bar("stream" + css, first, end, top + tall * 0.1, tall * 0.8))
        if record.outcome != "ok":
            bars.append(f'<path class="stop" d="M{end:.1f} {top:.1f}V{top + tall:.1f}"/>')
    bad = sum(record.outcome != "ok" for record in records)
    return framed(
        "".join(bars),
        Frame(
            says=f"Timeline of {len(records)} requests over {duration(axis.end_s)}:"
            f" at most {lanes.count} at once, {bad} failed or cut",
            x_label=_LABEL,
            x_ticks=axis.ticks(),
            y_label="requests, stacked as they overlapped",
            marks=axis.marks(),
            height_px=min(420, max(120, 14 * lanes.count)),
        ),
    )


def _bar(css: str, left: float, right: float, top: float, height: float) -> str:
    if right <= left:
        return ""
    return (
        f'<rect class="{css}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{height:.1f}"/>'
    )


def concurrency(records: Sequence[RequestRecord], axis: TimeAxis) -> str:
    """How many requests were in flight, over time."""
    steps = in_flight(records)
    most = max((count for _, count in steps), default=0)
    y = linear(float(most))
    moves = "".join(f"H{axis.at(stamp):.1f}V{PLOT - y.at(count):.1f}" for stamp, count in steps)
    line = f"M0 {PLOT:.0f}{moves}"
    return framed(
        f'<path class="area" d="{line}V{PLOT:.0f}Z"/><path class="line" d="{line}"/>',
        Frame(
            says=f"Requests in flight over time, at most {most}",
            x_label=_LABEL,
            x_ticks=axis.ticks(),
            y_ticks=_counts(y),
            y_label="requests in flight",
            marks=axis.marks(),
            height_px=120,
        ),
    )


def ttft_over_time(records: Sequence[RequestRecord], axis: TimeAxis, *, slo_s: float | None) -> str:
    """TTFT of each complete answer at the moment it was sent, with the objective as a line."""
    points = [(record.t_sent_ns, value) for record in records if (value := ttft_s(record)) is not None]
    if not points:
        return '<p class="empty">No answer has a TTFT.</p>'
    y = fitting(min(v for _, v in points), max(slo_s or 0.0, *(v for _, v in points)))
    dots = "".join(f"M{axis.at(stamp):.1f} {PLOT - y.at(value):.1f}h0" for stamp, value in points)
    line = f'<path class="mark slo" d="M0 {PLOT - y.at(slo_s):.1f}H{PLOT:.0f}"/>' if slo_s is not None else ""
    over = (
        f", {sum(v > slo_s for _, v in points)} above the SLO of {limit(slo_s)}" if slo_s is not None else ""
    )
    return framed(
        f'<path class="dots" d="{dots}"/>{line}',
        Frame(
            says=f"TTFT over time of {len(points)} answers{over}",
            x_label=_LABEL,
            x_ticks=axis.ticks(),
            y_ticks=latency_ticks(y),
            y_label=f"TTFT, {unit_of_scale(y)}{', logarithmic' if y.log else ''}"
            + (f"; dashed: SLO {limit(slo_s)}" if slo_s is not None else ""),
            marks=axis.marks(),
            height_px=180,
        ),
    )


def server_load(samples: Sequence[ServerSample], axis: TimeAxis) -> str:
    """Requests that the engines ran and that waited in them, as scraped; empty where nothing was."""
    running = _series(samples, axis, "vllm:num_requests_running", sum)
    waiting = _series(samples, axis, "vllm:num_requests_waiting", sum)
    if not running and not waiting:
        return ""
    most_running, most_waiting = (max((v for _, v in s), default=0.0) for s in (running, waiting))
    y = linear(max(most_running, most_waiting, 1.0))
    return framed(
        f'<path class="line" d="{_path(running, y)}"/><path class="line waiting" d="{_path(waiting, y)}"/>',
        Frame(
            says="Requests in the engines over time:"
            f" at most {most_running:g} running, {most_waiting:g} waiting",
            x_label=_LABEL,
            x_ticks=axis.ticks(),
            y_ticks=_counts(y),
            y_label="requests in the engines; solid: running, dashed: waiting",
            marks=axis.marks(),
            height_px=120,
        ),
    )


def kv_usage(samples: Sequence[ServerSample], axis: TimeAxis) -> str:
    """How full the fullest engine's KV cache was, as scraped; empty where nothing was."""
    used = _series(samples, axis, "vllm:kv_cache_usage_perc", max)
    if not used:
        return ""
    most = max(value for _, value in used)
    y = linear(most) if most > 0 else linear(1.0)
    path = _path(used, y)
    return framed(
        f'<path class="area" d="{path}V{PLOT:.0f}H{used[0][0]:.1f}Z"/><path class="line" d="{path}"/>',
        Frame(
            says=f"KV cache usage over time, at most {share(most)}",
            x_label=_LABEL,
            x_ticks=axis.ticks(),
            y_ticks=[(y.at(tick), f"{tick * 100:g} %") for tick in rounded(y.ticks())],
            y_label="KV cache in use, of the fullest engine",
            marks=axis.marks(),
            height_px=120,
        ),
    )


def _series(
    samples: Sequence[ServerSample], axis: TimeAxis, name: str, combine: Callable[[Iterable[float]], float]
) -> list[tuple[float, float]]:
    """(place, value) of each second of the measured phase; servers read in the same second are combined."""
    seconds: dict[int, dict[str, tuple[int, float]]] = {}
    for sample in samples:
        at_s = (sample.t_ns - axis.start_ns) / _NS_PER_S
        if name in sample.series and -1.0 <= at_s <= axis.end_s + 1.0:
            seconds.setdefault(int(at_s), {})[sample.url] = (sample.t_ns, sample.series[name])
    return [
        (axis.at(min(t for t, _ in found.values())), combine(value for _, value in found.values()))
        for _, found in sorted(seconds.items())
    ]


def _path(points: Sequence[tuple[float, float]], y: Scale) -> str:
    """Steps: a value holds until the next reading."""
    if not points:
        return ""
    first, *rest = points
    steps = "".join(f"H{x:.1f}V{PLOT - y.at(value):.1f}" for x, value in rest)
    return f"M{first[0]:.1f} {PLOT - y.at(first[1]):.1f}{steps}"


def _counts(y: Scale) -> list[tuple[float, str]]:
    return [(y.at(tick), f"{tick:g}") for tick in y.ticks() if tick == int(tick)]
