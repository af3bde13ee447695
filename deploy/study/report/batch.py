"""The charts of load: throughput, memory and speed per user against the number of users.

Owns: these charts. Knows nothing about the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deploy.study.report.cache import WEIGHTS
from deploy.study.report.chart import Chart, Drawn, point, row
from deploy.study.report.figures import unit_of, user_count
from deploy.study.report.plot import Level, Point, Series, axis, counted, ends, plot
from deploy.study.report.view import View, devices
from deploy.study.results import Figure

OUTPUT, PER_USER, MEMORY, RESERVED = (
    "output_tokens_per_s",
    "tokens_per_s_per_user",
    "memory_bytes",
    "kv_cache_bytes",
)


def _sweep(view: View, measure: str, what: str) -> list[tuple[str, list[Series], list[tuple[str, ...]]]]:
    """For each kind of prompts that was sent at two numbers of users or more: a series an arm, and rows."""
    found = []
    for words, batches in view.batches():
        series, rows = [], []
        for arm in view.arms():
            seen = [
                (users, name, f) for users, name in batches if (f := view.figure(measure, arm.name, name))
            ]
            if len({users for users, _, _ in seen}) < 2:
                continue
            points = tuple(
                point(count, f, f"{arm.name}, {user_count(count)}: {what}") for count, _, f in seen
            )
            series.append(Series(name=arm.name, points=points, look=view.look(arm.name)))
            rows += [row(arm.name, name, what, figure) for _, name, figure in seen]
        if series:
            found.append((words, series, rows))
    return found


def _throughput(view: View) -> Drawn | None:
    return _both(
        _sweep(view, OUTPUT, "output tokens/s, all users"),
        _sweep(view, PER_USER, "output tokens/s, each user"),
    )


def _both(
    together: Sequence[tuple[str, list[Series], list[tuple[str, ...]]]],
    each: Sequence[tuple[str, list[Series], list[tuple[str, ...]]]],
) -> Drawn | None:
    body, rows = "", []
    for title, found in (("all users together", together), ("each user", each)):
        for words, series, more in found:
            x = counted("users at once, logarithmic", ends(series, "x"))
            y = axis(f"output tokens/s, {title}; {words}", ends(series, "y"), log=False)
            body += plot(series, x, y, says=f"Output tokens a second of {title} against users", tall=240)
            rows += more
    return Drawn(body=body, rows=tuple(rows)) if body else None


def _memory(view: View) -> Drawn | None:
    body, rows = "", []
    for words, series, more in _sweep(view, MEMORY, "weights + KV in use"):
        reserved = {arm.name: _reserved(view, arm.name) for arm in view.arms()}
        most = max([*ends(series, "y"), *(value for value in reserved.values() if value)])
        unit, name = unit_of(most)
        scaled = [replace(line, points=tuple(_over(p, unit) for p in line.points)) for line in series]
        levels: dict[float, str] = {}
        for arm, value in reserved.items():
            if value and arm in {line.name for line in series}:
                levels[value] = f"{levels[value]}, {arm}" if value in levels else f"reserved: {arm}"
        x = counted("users at once, logarithmic", ends(scaled, "x"))
        y = axis(f"memory, {name}; {words}", [*ends(scaled, "y"), *(v / unit for v in levels)], log=False)
        lines = [Level(y=value / unit, label=said) for value, said in levels.items()]
        body += plot(scaled, x, y, says="Weights and KV cache in use against users", levels=lines)
        rows += more
    caption = "What the engine reserves for itself at the start, with its KV cache whole, is the dashed line."
    return Drawn(body=body, rows=tuple(rows), caption=caption) if body else None


def _reserved(view: View, arm: str) -> float | None:
    weights, cache = view.figure(WEIGHTS, arm), view.figure(RESERVED, arm)
    return weights.value + cache.value if weights and cache else None


def _over(p: Point, unit: float) -> Point:
    low, high = (None if end is None else end / unit for end in (p.y_low, p.y_high))
    return replace(p, y=p.y / unit, y_low=low, y_high=high)


def _trade(view: View) -> Drawn | None:
    """Tokens a second of a device against what one user gets, over the numbers of users."""
    body, rows = "", []
    for words, batches in view.batches():
        series = []
        for arm in view.arms():
            pairs = [
                (users, name, each, whole)
                for users, name in batches
                if (each := view.figure(PER_USER, arm.name, name))
                and (whole := view.figure(OUTPUT, arm.name, name))
            ]
            count = devices(arm)
            points = tuple(
                _trade_point(arm.name, users, each, whole, count) for users, _, each, whole in pairs
            )
            if points:
                series.append(Series(name=f"{arm.name} ({count})", points=points, look=view.look(arm.name)))
                rows += [row(arm.name, name, "per user", each) for _, name, each, _ in pairs]
        if sum(len(line.points) for line in series) > 1:
            x = axis("tokens/s a user, 1 / TPOT p50", ends(series, "x"), log=False)
            y = axis(f"output tokens/s a device; {words}", ends(series, "y"), log=False)
            body += plot(series, x, y, says="Output tokens a second of a device against those of a user")
    return Drawn(body=body, rows=tuple(rows)) if body else None


def _trade_point(arm: str, users: int, each: Figure, whole: Figure, count: int) -> Point:
    low, high = (None if end is None else end / count for end in (whole.low, whole.high))
    told = (
        f"{arm}, {user_count(users)}: {whole.value / count:.4g} tok/s a device, {each.value:.4g} tok/s a user"
    )
    return Point(
        x=each.value, x_low=each.low, x_high=each.high, y=whole.value / count, y_low=low, y_high=high,
        tip=f"{told}, n = {whole.n}, {whole.tag}", tag=whole.tag, label=f"{users}",
    )  # fmt: skip


CHARTS = (
    Chart(
        id="throughput-by-batch",
        title="Throughput against users",
        definition="Closed loop of B users, ignore_eos, fixed lengths, max_num_seqs at least B, steady "
        "window. Each user: 1 / TPOT p50, which leaves the time to the first token out.",
        inputs="closed workloads that differ only in concurrency",
        draw=_throughput,
    ),
    Chart(
        id="memory-by-batch",
        title="Memory against users",
        definition="Weight bytes plus the highest vllm:kv_cache_usage_perc times the bytes of the KV cache. "
        "vLLM reserves its whole cache at the start: that is the dashed line.",
        inputs="closed workloads that differ only in concurrency",
        draw=_memory,
    ),
    Chart(
        id="device-user",
        title="Throughput of a device against speed for a user",
        definition="y: output tokens a second over all devices (ranks x copies), divided by their number, "
        "which stands in brackets; on a CPU a device is an engine's rank. x: 1000 / TPOT p50 in ms; never "
        "throughput over users, which contains the time to the first token. Numbers at points: users.",
        inputs="closed workloads with fixed lengths",
        draw=_trade,
    ),
)
