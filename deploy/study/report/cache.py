"""The charts of the KV cache: what it holds, what a context costs, where it overtakes the weights.

Owns: these charts. Knows nothing about the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from deploy.study.report import bars as draw
from deploy.study.report.chart import Chart, Drawn, bar, row
from deploy.study.report.figures import GIB, MIB, amount, size, user_count
from deploy.study.report.plot import Level, Point, Series, axis, counted, plot
from deploy.study.report.view import View
from deploy.study.results import Figure
from deploy.study.rows import Arm

CAPACITY, IN_USE, WEIGHTS = "kv_cache_tokens", "kv_in_use_bytes", "weights_bytes"
CONTEXT_HEAD = ("arm", "context, tokens", "KV cache", "tag")


def _capacity(view: View) -> Drawn | None:
    found = list(view.measured(CAPACITY))
    if not found:
        return None
    what = "tokens the KV cache holds"
    group = draw.Group(name="", bars=tuple(bar(view, arm, figure, what) for arm, figure in found))
    rows = tuple(row(arm.name, None, what, figure) for arm, figure in found)
    return Drawn(body=draw.bars([group], says="KV cache capacity in tokens by arm"), rows=rows)


def _costs(view: View) -> list[tuple[str, Arm, float]]:
    """Arms with bytes a token, one for each cost: (names of all that share it, arm, bytes)."""
    names: dict[float, list[Arm]] = {}
    for arm in view.arms():
        each = arm.planned.kv_bytes_per_token
        if each:
            names.setdefault(each, []).append(arm)
    return [(", ".join(arm.name for arm in arms), arms[0], each) for each, arms in names.items()]


def _held(view: View, arms: Sequence[str]) -> Iterator[tuple[int, Figure, str]]:
    """Fullest moments of closed loads: (tokens that its requests then hold at most, bytes in use, words)."""
    for workload in view.workloads():
        shape = view.shape(workload)
        for arm in arms:
            figure = view.figure(IN_USE, arm, workload)
            if shape and figure:
                tokens = shape.users * (shape.input_tokens + shape.output_tokens)
                yield tokens, figure, f"{arm}, {workload}, {user_count(shape.users)}"


def _contexts(longest: float) -> list[int]:
    """Powers of two from 128 up to, and with, the longest."""
    doublings = range(max(1, math.ceil(math.log2(max(256.0, longest) / 128))) + 1)
    return [min(128 * 2**power, math.ceil(max(256.0, longest))) for power in doublings]


def _unit(most: float) -> tuple[float, str]:
    return (GIB, "GiB") if most >= GIB else (MIB, "MiB")


def _by_context(view: View) -> Drawn | None:
    costs = _costs(view)
    if not costs:
        return None
    held = [(each, list(_held(view, each[0].split(", ")))) for each in costs]
    measured_to = max((tokens for _, points in held for tokens, _, _ in points), default=0)
    longest = max(measured_to, _longest(view, costs))
    unit, name = _unit(longest * max(each for _, _, each in costs))
    series, rows = [], []
    for (names, arm, each), points in held:
        line = tuple(
            Point(x=tokens, y=tokens * each / unit, tag="projected",
                  tip=f"{names}: {size(tokens * each)} at {tokens:,} tokens, projected")
            for tokens in _contexts(longest)
        )  # fmt: skip
        series.append(Series(name=names, points=line, look=view.look(arm.name), markers=False))
        rows += [(names, f"{p.x:,.0f}", size(p.y * unit), p.tag) for p in line]
        seen = tuple(_scaled(tokens, figure, unit, words) for tokens, figure, words in points)
        if seen:
            name_seen = f"{names}: measured"
            series.append(Series(name=name_seen, points=seen, look=view.look(arm.name), line=False))
            rows += [(words, f"{tokens:,}", amount(f.value, "bytes"), f.tag) for tokens, f, words in points]
    x = counted("tokens held, logarithmic", _contexts(longest))
    y = axis(f"KV cache, {name}", [p.y for line in series for p in line.points])
    caption = (
        "A measured point is the fullest moment of a closed load, set at the tokens its requests hold at "
        "most. Whole blocks are taken, and users are rarely all at their ends at once."
    )
    body = plot(series, x, y, says="KV cache bytes against tokens held")
    return Drawn(body=body, rows=tuple(rows), head=CONTEXT_HEAD, caption=caption if measured_to else "")


def _longest(view: View, costs: Sequence[tuple[str, Arm, float]]) -> int:
    """The longest context the engines take, as the deployments say."""
    engines = [arm.deployment.get("engine") or {} for _, arm, _ in costs]
    return max((int(engine.get("max_model_len") or 0) for engine in engines), default=0) or 4096


def _scaled(tokens: int, figure: Figure, unit: float, words: str) -> Point:
    low, high = (None if end is None else end / unit for end in (figure.low, figure.high))
    tip = f"{words}: {size(figure.value)} at {tokens:,} tokens at most, n = {figure.n}, {figure.tag}"
    return Point(x=tokens, y=figure.value / unit, y_low=low, y_high=high, tip=tip, tag=figure.tag)


def _overtakes(view: View) -> Drawn | None:
    costs = [(*cost, weights) for cost in _costs(view) if (weights := _weights(view, cost[1]))]
    if not costs:
        return None
    crossings = {names: weights / each for names, _, each, weights in costs}
    longest = 2 * max(crossings.values())
    heaviest = max(weights for *_, weights in costs)
    unit, name = _unit(heaviest)
    series, rows, levels = [], [], {}
    for names, arm, each, weights in costs:
        held = max((tokens for tokens, _, _ in _held(view, names.split(", "))), default=0)
        levels[weights] = f"weights {size(weights)}"
        series.append(_crossing_line(view, names, arm, each, (held, crossings[names], longest), unit))
        rows.append((names, f"{crossings[names]:,.0f}", size(weights), "projected"))
    x = counted("tokens held, logarithmic", _contexts(longest))
    y = axis(f"KV cache, {name}", [p.y for line in series for p in line.points], log=True)
    lines = [Level(y=weights / unit, label=words) for weights, words in levels.items()]
    body = plot(series, x, y, says="Where the KV cache overtakes the weights", levels=lines)
    head = ("arm", "crossing, tokens", "weights", "tag")
    return Drawn(body=body, rows=tuple(rows), head=head)


def _weights(view: View, arm: Arm) -> float | None:
    figure = view.figure(WEIGHTS, arm.name)
    return figure.value if figure else arm.planned.weight_bytes


def _crossing_line(
    view: View, names: str, arm: Arm, each: float, marks: tuple[float, float, float], unit: float
) -> Series:
    """Solid to the longest context that was held here, dashed beyond, with the crossing named."""
    held, crossing, longest = marks
    points = []
    for tokens in sorted({*map(float, _contexts(longest)), crossing, *([held] if held else [])}):
        label = f"{tokens:,.0f} tokens" if tokens == crossing else ""
        tip = f"{names}: {size(tokens * each)} at {tokens:,.0f} tokens"
        tip += ", where it is as large as the weights" if label else ""
        points.append(
            Point(x=tokens, y=tokens * each / unit, tip=tip, label=label,
                  tag="measured" if tokens <= held else "projected")
        )  # fmt: skip
    return Series(name=names, points=tuple(points), look=view.look(arm.name))


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
        "tokens. Points: the highest vllm:kv_cache_usage_perc of a load times the bytes of the cache.",
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
