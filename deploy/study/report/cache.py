"""The charts of the KV cache: what it holds, what a context costs, where it overtakes the weights.

Owns: these charts. Knows nothing about the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deploy.study.report import bars as draw
from deploy.study.report.chart import Chart, Drawn, bar, row
from deploy.study.report.figures import amount, size, unit_of, user_count
from deploy.study.report.plot import Level, Point, Series, axis, counted, plot
from deploy.study.report.view import View
from deploy.study.results import Figure
from deploy.study.rows import Arm

CAPACITY, IN_USE, WEIGHTS = "kv_cache_tokens", "kv_in_use_bytes", "weights_bytes"
MOST_NAMES = 3
CONTEXT_HEAD = ("arm", "context, tokens", "KV cache", "tag")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a token costs in some arms."""

    arms: tuple[Arm, ...]
    token_bytes: float

    @property
    def names(self) -> str:
        """The arms in a few words."""
        names = [arm.name for arm in self.arms]
        more = len(names) - MOST_NAMES
        return ", ".join(names) if more <= 0 else f"{', '.join(names[:MOST_NAMES])} and {more} more"


def _capacity(view: View) -> Drawn | None:
    found = list(view.measured(CAPACITY))
    if not found:
        return None
    what = "tokens the KV cache holds"
    group = draw.Group(name="", bars=tuple(bar(view, arm, figure, what) for arm, figure in found))
    rows = tuple(row(arm.name, None, what, figure) for arm, figure in found)
    return Drawn(body=draw.bars([group], says="KV cache capacity in tokens by arm"), rows=rows)


def _costs(view: View) -> list[Cost]:
    """Each cost of a token, with the arms that share it."""
    arms: dict[float, list[Arm]] = {}
    for arm in view.arms():
        if arm.planned.kv_bytes_per_token:
            arms.setdefault(arm.planned.kv_bytes_per_token, []).append(arm)
    return [Cost(tuple(found), each) for each, found in arms.items()]


def _held(view: View, arms: Sequence[Arm]) -> Iterator[tuple[int, Figure, str]]:
    """Fullest moments of closed loads: (tokens that its requests then hold at most, bytes in use, words)."""
    for workload in view.workloads():
        shape = view.shape(workload)
        for arm in arms:
            figure = view.figure(IN_USE, arm.name, workload)
            if shape and figure:
                tokens = shape.users * (shape.input_tokens + shape.output_tokens)
                yield tokens, figure, f"{arm.name}, {workload}, {user_count(shape.users)}"


def _contexts(longest: float) -> list[int]:
    """Powers of two from 128 up to, and with, the longest."""
    doublings = range(max(1, math.ceil(math.log2(max(256.0, longest) / 128))) + 1)
    return [min(128 * 2**power, math.ceil(max(256.0, longest))) for power in doublings]


def _words(contexts: Sequence[int]) -> tuple[tuple[int, str], ...]:
    """Short ticks: 128, 512, 1k, 64k; the longest, which need not be a power of two, has none."""
    powers = [tokens for tokens in contexts if tokens & (tokens - 1) == 0]
    return tuple((tokens, f"{tokens // 1024}k" if tokens >= 1024 else f"{tokens}") for tokens in powers)


def _by_context(view: View) -> Drawn | None:
    costs = _costs(view)
    if not costs:
        return None
    held = [list(_held(view, cost.arms)) for cost in costs]
    measured_to = max((tokens for points in held for tokens, _, _ in points), default=0)
    longest = max(measured_to, _longest(costs))
    unit, name = unit_of(longest * max(cost.token_bytes for cost in costs))
    series, rows = [], []
    for cost, points in zip(costs, held, strict=True):
        look = view.look(cost.arms[0].name)
        line = tuple(
            Point(x=tokens, y=tokens * cost.token_bytes / unit, tag="projected",
                  tip=f"{cost.names}: {size(tokens * cost.token_bytes)} at {tokens:,} tokens, projected")
            for tokens in _contexts(longest)
        )  # fmt: skip
        series.append(Series(name=cost.names, points=line, look=look, markers=False))
        rows += [(cost.names, f"{p.x:,.0f}", size(p.y * unit), p.tag) for p in line]
        seen = tuple(_scaled(tokens, figure, unit, words) for tokens, figure, words in points)
        if seen:
            series.append(Series(name=f"{cost.names}: measured", points=seen, look=look, line=False))
            rows += [(words, f"{tokens:,}", amount(f.value, "bytes"), f.tag) for tokens, f, words in points]
    x = counted("tokens held, logarithmic", _contexts(longest), _words(_contexts(longest)))
    y = axis(f"KV cache, {name}", [p.y for line in series for p in line.points], log=True)
    caption = (
        "A measured point is the fullest moment of a closed load, set at the tokens its requests hold at "
        "most. Whole blocks are taken, and users are rarely all at their ends at once."
    )
    body = plot(series, x, y, says="KV cache bytes against tokens held")
    return Drawn(body=body, rows=tuple(rows), head=CONTEXT_HEAD, caption=caption if measured_to else "")


def _longest(costs: Sequence[Cost]) -> int:
    """The longest context the engines take, as the deployments say."""
    engines = [arm.deployment.get("engine") or {} for cost in costs for arm in cost.arms]
    return max((int(engine.get("max_model_len") or 0) for engine in engines), default=0) or 4096


def _scaled(tokens: int, figure: Figure, unit: float, words: str) -> Point:
    low, high = (None if end is None else end / unit for end in (figure.low, figure.high))
    tip = f"{words}: {size(figure.value)} at {tokens:,} tokens at most, n = {figure.n}, {figure.tag}"
    return Point(x=tokens, y=figure.value / unit, y_low=low, y_high=high, tip=tip, tag=figure.tag)


def _overtakes(view: View) -> Drawn | None:
    known = [(cost, weights) for cost in _costs(view) if (weights := _weights(view, cost.arms[0]))]
    if not known:
        return None
    longest = 2 * max(weights / cost.token_bytes for cost, weights in known)
    unit, name = unit_of(max(weights for _, weights in known))
    series, rows = [], []
    for cost, weights in known:
        held = max((tokens for tokens, _, _ in _held(view, cost.arms)), default=0)
        crossing = weights / cost.token_bytes
        series.append(_crossing_line(view, cost, (held, crossing, longest), unit))
        rows.append((cost.names, f"{crossing:,.0f}", size(weights), "projected"))
    x = counted("tokens held, logarithmic", _contexts(longest), _words(_contexts(longest)))
    y = axis(f"KV cache, {name}", [p.y for line in series for p in line.points], log=True)
    levels = [
        Level(y=weights / unit, label=f"weights {size(weights)}")
        for weights in dict.fromkeys(weights for _, weights in known)
    ]
    body = plot(series, x, y, says="Where the KV cache overtakes the weights", levels=levels)
    return Drawn(body=body, rows=tuple(rows), head=("arm", "crossing, tokens", "weights", "tag"))


def _weights(view: View, arm: Arm) -> float | None:
    figure = view.figure(WEIGHTS, arm.name)
    return figure.value if figure else arm.planned.weight_bytes


def _crossing_line(view: View, cost: Cost, marks: tuple[float, float, float], unit: float) -> Series:
    """Solid to the longest context that was held here, dashed beyond, with the crossing named."""
    held, crossing, longest = marks
    points = []
    for tokens in sorted({*map(float, _contexts(longest)), crossing, *([held] if held else [])}):
        tip = f"{cost.names}: {size(tokens * cost.token_bytes)} at {tokens:,.0f} tokens"
        tip += ", where it is as large as the weights" if tokens == crossing else ""
        points.append(
            Point(x=tokens, y=tokens * cost.token_bytes / unit, tip=tip,
                  tag="measured" if tokens <= held else "projected")
        )  # fmt: skip
    name = f"{cost.names}: at {crossing:,.0f} tokens"
    return Series(name=name, points=tuple(points), look=view.look(cost.arms[0].name))


CHARTS = (
    Chart(
        id="kv-capacity",
        title="What the KV cache holds",
        definition="kv_cache_size_tokens as the engine itself tells it in vllm:cache_config_info.",
        inputs="an arm that came up",
        draw=_capacity,
    ),
    Chart(
        id="kv-by-context",
        title="KV cache against context",
        definition="Dashed: the planner's bytes a token (scales and boundary layers included) times the "
        "tokens. Points: the highest vllm:kv_cache_usage_perc of a load times the bytes of the cache. "
        "A drafting model's own weights and cache come on top of the lines.",
        inputs="a model whose layers the planner knows",
        draw=_by_context,
    ),
    Chart(
        id="kv-overtakes",
        title="Where the cache overtakes the weights",
        definition="Crossing = weight bytes / KV bytes a token, over all requests together. Solid up to the "
        "most tokens that a load of this study held, dashed beyond.",
        inputs="a model whose layers and weights the planner knows",
        draw=_overtakes,
    ),
)
