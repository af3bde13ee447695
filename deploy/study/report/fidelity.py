"""The charts of quality: how far answers and likelihoods move, beside how far the control moves by itself.

Owns: these charts. Knows nothing about how quality is measured (`deploy.study.quality_compare`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from deploy.study.report import bars as draw
from deploy.study.report.chart import Chart, Drawn, row
from deploy.study.report.figures import number, percent
from deploy.study.report.plot import Level, Point, Series, axis, ends, plot
from deploy.study.report.view import View
from deploy.study.results import Figure

OUTPUT = "output_tokens_per_s"
HEAD = ("arm", "measure", "value", "95 % interval", "n")
MATCHES = (("exact_match", "answers that match to the last token"), ("matched_prefix", "matched prefix"))
NLL = (("nll_distance", "mean |difference| of a token's NLL, nats"),)
_CONTROL_AGAIN = "control again"
Placed = tuple[str, Figure, Mapping[str, Any]]
"""An arm with its speed and its perplexity over the control's."""


def _verdicts(view: View) -> list[tuple[str, int, Mapping[str, Any]]]:
    """(name, look, against the control) of the control's second run and of every arm."""
    found = [(arm.name, row) for arm in view.arms() if (row := view.quality(arm.name))]
    others = [(name, view.look(name), row["against"]) for name, row in found if name != view.design.control]
    again = [(_CONTROL_AGAIN, 0, row["itself"]) for _, row in found[:1]]
    return again + others


def _bar(
    name: str, look: int, estimate: Mapping[str, Any], what: str, words: Callable[[float], str]
) -> draw.Bar:
    value, low, high = (estimate[key] for key in ("value", "low", "high"))
    said, between, n = _cells(estimate, words)
    tip = f"{name}: {what} {said} {between}, n = {n}, measured"
    return draw.Bar(name=name, value=value, words=said, tip=tip, low=low, high=high, look=look)


def _groups(
    view: View, measures: Sequence[tuple[str, str]], words: Callable[[float], str]
) -> tuple[list[draw.Group], list[tuple[str, ...]]]:
    groups, rows = [], []
    for key, what in measures:
        found = [(name, look, row[key]) for name, look, row in _verdicts(view) if row[key] is not None]
        if found:
            bars = tuple(_bar(name, look, estimate, what, words) for name, look, estimate in found)
            groups.append(draw.Group(name=what, bars=bars))
            rows += [(name, what, *_cells(estimate, words)) for name, _, estimate in found]
    return groups, rows


def _cells(estimate: Mapping[str, Any], words: Callable[[float], str]) -> Iterator[str]:
    low, high = estimate["low"], estimate["high"]
    yield words(estimate["value"])
    yield f"[{words(low)}, {words(high)}]" if low is not None and high is not None else "no interval"
    yield f"{estimate['n']} {estimate['of']}"


def _fidelity(view: View) -> Drawn | None:
    shares, rows = _groups(view, MATCHES, percent)
    nats, more = _groups(view, NLL, number)
    if not shares and not nats:
        return None
    body = draw.bars(shares, says="Greedy answers that match the control's", high=1.0) if shares else ""
    body += draw.bars(nats, says="Difference of the likelihood of tokens") if nats else ""
    first = next(verdict for arm in view.arms() if (verdict := view.quality(arm.name)))
    caption = (
        f"{first['tokens']:,} tokens of the shipped text scored, in windows of at most "
        f"{first['window_chars']:,} "
        f"characters without overlap; greedy answers of {first['answer_tokens']} tokens, one after another."
    )
    return Drawn(body=body, rows=(*rows, *more), head=HEAD, caption=caption)


def _perplexity(view: View) -> Drawn | None:
    groups, rows = _groups(view, (("perplexity", "perplexity"),), number)
    if not groups:
        return None
    ratios, more = _groups(view, (("perplexity_ratio", "over the control's"),), lambda value: f"{value:.4f}x")
    body = draw.bars(groups, says="Perplexity by arm") + draw.ratios(
        ratios, says="Perplexity over the control's"
    )
    caption = (
        "The intervals of perplexities are wide as documents differ; those of the ratio are not, as the same "
        "documents stand on both sides."
    )
    return Drawn(body=body, rows=(*rows, *more), head=HEAD, caption=caption)


def _pareto(view: View) -> Drawn | None:
    """Speed against quality, at the first workload that all have; the frontier on the means."""
    for workload in view.workloads():
        found = [
            (arm.name, speed, verdict["against"]["perplexity_ratio"])
            for arm, speed in view.measured(OUTPUT, workload)
            if (verdict := view.quality(arm.name))
        ]
        if len(found) > 1:
            return _frontier(view, workload, found)
    return None


def _frontier(view: View, workload: str, found: Sequence[Placed]) -> Drawn:
    best = {name for name, speed, ratio in found if not _beaten(speed, ratio, found)}
    tied = {name for name, speed, ratio in found if name not in best and _tied(speed, ratio, best, found)}
    series = []
    for name, speed, ratio in found:
        place = (
            "on the frontier" if name in best else "tied with the frontier" if name in tied else "behind it"
        )
        doubt = _as_fast(speed, ratio, found)
        if name in best and doubt:
            place += f", but not told from {doubt} in speed"
        tip = f"{name}: {number(speed.value)} tok/s at a perplexity ratio of {ratio['value']:.4f}, {place}"
        point = Point(
            x=speed.value, x_low=speed.low, x_high=speed.high, y=ratio["value"], y_low=ratio["low"],
            y_high=ratio["high"], tip=tip, tag=speed.tag,
        )  # fmt: skip
        series.append(Series(name=f"{name}: {place}", points=(point,), look=view.look(name)))
    x = axis(f"output tokens/s, {workload}", ends(series, "x"), log=False, zero=False)
    y = axis("perplexity ratio", [*ends(series, "y"), 1.0], log=False, zero=False)
    rows = tuple(
        (*row(name, workload, "output tokens/s", speed)[:6], f"{ratio['value']:.4f}x")
        for name, speed, ratio in found
    )
    head = ("arm", "workload", "measure", "value", "95 % interval", "n", "perplexity ratio")
    body = plot(series, x, y, says="Speed against quality", levels=[Level(y=1.0, label="as the control")])
    return Drawn(body=body, rows=rows, head=head)


def _beaten(speed: Figure, ratio: Mapping[str, Any], found: Sequence[Placed]) -> bool:
    """Whether another is as fast and as good, and better in one of both."""
    mine = (speed.value, -ratio["value"])
    others = [(other.value, -theirs["value"]) for _, other, theirs in found]
    return any(other != mine and other[0] >= mine[0] and other[1] >= mine[1] for other in others)


def _tied(
    speed: Figure,
    ratio: Mapping[str, Any],
    best: set[str],
    found: Sequence[Placed],
) -> bool:
    """Whether both intervals overlap those of one on the frontier, so that the order may be chance."""
    return any(
        _overlap((speed.low, speed.high), (other.low, other.high))
        and _overlap((ratio["low"], ratio["high"]), (theirs["low"], theirs["high"]))
        for name, other, theirs in found
        if name in best
    )


def _as_fast(speed: Figure, ratio: Mapping[str, Any], found: Sequence[Placed]) -> str:
    """Arms of better quality whose speeds overlap this one's, so that it may be ahead by chance."""
    mine = (speed.low, speed.high)
    return " and ".join(
        name
        for name, other, theirs in found
        if theirs["value"] < ratio["value"] and _overlap(mine, (other.low, other.high))
    )


def _overlap(a: tuple[float | None, float | None], b: tuple[float | None, float | None]) -> bool:
    if a[0] is None or a[1] is None or b[0] is None or b[1] is None:
        return False
    return a[0] <= b[1] and b[0] <= a[1]


CHARTS = (
    Chart(
        id="fidelity",
        title="Fidelity of answers",
        definition="Greedy answers, one at a time, prefix cache warm: share that match the control's to the "
        "last "
        "token (Wilson), and mean share of tokens before the first difference (bootstrap over documents). "
        "NLL: "
        "mean absolute difference of a token's negative log-probability. Grey: the control against its own "
        "second run.",
        inputs="quality: true",
        draw=_fidelity,
    ),
    Chart(
        id="perplexity",
        title="Perplexity",
        definition="exp(mean NLL) over the text that ships with teapot, by completions with echo and "
        "logprobs; bootstrap over documents, the same ones on both sides of a ratio.",
        inputs="quality: true",
        draw=_perplexity,
    ),
    Chart(
        id="speed-quality",
        title="Speed against quality",
        definition="x: output tokens a second; y: perplexity over the control's, lower is better. The "
        "frontier is "
        "that of the means; where both intervals overlap those of a point on it, a point is tied with it.",
        inputs="quality: true, and one workload in two arms",
        draw=_pareto,
    ),
)
