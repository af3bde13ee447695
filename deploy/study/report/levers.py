"""The charts of levers beside each other: all over the control, predicted against measured, formats, stacks.

Owns: these charts. Knows nothing about the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from deploy.study.measures import BY_NAME
from deploy.study.report import bars as draw
from deploy.study.report.chart import Chart, Drawn, bar, by_workload, row
from deploy.study.report.figures import amount, interval, percent, times, told, unit_of
from deploy.study.report.plot import Point, Series, axis, ends, plot
from deploy.study.report.view import View, mode_of
from deploy.study.results import Figure, Prediction, Ratio
from deploy.study.rows import Arm

OUTPUT, TTFT, TPOT, MEMORY = "output_tokens_per_s", "ttft_p50_s", "tpot_p50_s", "memory_bytes"
GLANCE = ("kv_cache_tokens", "weights_bytes", OUTPUT, TPOT, TTFT)


def _glance(view: View) -> Drawn | None:
    arms = {arm.name for arm in view.arms()}
    groups, rows = [], []
    for measure in GLANCE:
        for workload in (None, *view.workloads()):
            found = [
                ratio
                for ratio in view.summary.ratios
                if (ratio.measure, ratio.workload, ratio.over) == (measure, workload, view.summary.control)
                and ratio.arm in arms
            ]
            if found:
                groups.append(
                    draw.Group(name=_title(measure, workload), bars=tuple(_ratio(view, r) for r in found))
                )
                rows += [_ratio_row(ratio) for ratio in found]
    if not groups:
        return None
    head = ("arm", "over", "workload", "measure", "ratio", "95 % interval", "n", "tag")
    body = draw.ratios(groups, says="Every arm over the control, by measure and workload")
    here = view.summary.control in arms
    caption = "" if here else "The control has another model: these ratios compare models, not levers alone."
    return Drawn(body=body, rows=tuple(rows), head=head, caption=caption)


def _title(measure: str, workload: str | None) -> str:
    known = BY_NAME[measure]
    side = {"higher": "right is better", "lower": "left is better", None: ""}[known.better]
    return ", ".join(part for part in (known.title, workload, side) if part)


def _ratio(view: View, ratio: Ratio) -> draw.Bar:
    figure = ratio.figure
    verdict = {True: " (better)", False: " (worse)", None: ""}[ratio.better]
    return draw.Bar(
        name=ratio.arm,
        value=figure.value,
        words=f"{times(figure.value)}{verdict}",
        tip=f"{ratio.arm} over {ratio.over}: {_title(ratio.measure, ratio.workload)}: {told(figure)}",
        low=figure.low,
        high=figure.high,
        tag=figure.tag,
        look=view.look(ratio.arm),
    )


def _ratio_row(ratio: Ratio) -> tuple[str, ...]:
    figure = ratio.figure
    title = BY_NAME[ratio.measure].title
    numbers = (times(figure.value), interval(figure), str(figure.n), figure.tag)
    return (ratio.arm, ratio.over, ratio.workload or "", title, *numbers)


def _predictions(view: View) -> Drawn | None:
    arms = {arm.name for arm in view.arms()}
    found = [row for row in view.summary.predictions if row.arm in arms]
    if not found:
        return None
    groups = [draw.Group(name=_prediction_title(row), bars=_prediction_bars(view, row)) for row in found]
    rows = tuple(
        (row.arm, row.over, row.workload or "", BY_NAME[row.measure].title, times(row.predicted), row.tag,
         times(row.measured.value), interval(row.measured), f"{row.error_ratio * 100:+.1f} %", _held(row))
        for row in found
    )  # fmt: skip
    head = (
        "arm",
        "over",
        "workload",
        "measure",
        "predicted",
        "tag",
        "measured",
        "95 % interval",
        "error",
        "held",
    )
    body = draw.ratios(groups, says="Predicted and measured ratios of every lever")
    return Drawn(body=body, rows=rows, head=head, caption=_reckoning(found))


def _reckoning(found: Sequence[Prediction]) -> str:
    """How good the predictions were. A wide interval holds almost any of them, so the error stands beside."""
    held, wrong = (sum(row.held is verdict for row in found) for verdict in (True, False))
    said = f"Of {len(found)} predictions {held} lie in the measured interval, {wrong} do not"
    if held + wrong < len(found):
        said += f", {len(found) - held - wrong} cannot be told without an interval"
    error = median(abs(row.error_ratio) for row in found)
    return f"{said}; the median error is {percent(error)}. A wide interval holds almost any prediction."


def _prediction_title(row: Prediction) -> str:
    parts = (f"{row.arm} over {row.over}", BY_NAME[row.measure].title, row.workload)
    return ", ".join(part for part in parts if part)


def _held(row: Prediction) -> str:
    return {True: "yes", False: "no", None: "no interval"}[row.held]


def _prediction_bars(view: View, row: Prediction) -> tuple[draw.Bar, ...]:
    look = view.look(row.arm)
    predicted = draw.Bar(
        name="predicted",
        value=row.predicted,
        words=times(row.predicted),
        tip=f"predicted {times(row.predicted)}, {row.tag}: {row.formula}",
        tag=row.tag if row.tag != "measured" else "projected",
        look=look,
    )
    measured = draw.Bar(
        name="measured",
        value=row.measured.value,
        words=f"{times(row.measured.value)} ({row.error_ratio * 100:+.1f} %)",
        tip=f"measured {told(row.measured)}; {row.error_ratio * 100:+.1f} % of the prediction",
        low=row.measured.low,
        high=row.measured.high,
        look=look,
    )
    return predicted, measured


def _formats(view: View) -> Drawn | None:
    arms = [arm for arm in view.arms() if mode_of(arm, "quantized_weights")]
    if not arms:
        return None
    plain = [arm for arm in view.arms() if arm.name == view.design.control and arm not in arms]
    chosen = [*plain, *arms]
    groups, rows = by_workload(view, OUTPUT, "output tokens/s", chosen)
    body = draw.bars(groups, says="Output tokens a second by weight format") if groups else ""
    what = "weights in memory"
    sizes = [(arm, f) for arm in chosen if (f := view.figure("weights_bytes", arm.name))]
    if sizes:
        group = draw.Group(name=what, bars=tuple(bar(view, arm, figure, what) for arm, figure in sizes))
        body += draw.bars([group], says="Weight bytes by format")
        rows += [row(arm.name, None, what, figure) for arm, figure in sizes]
    return Drawn(body=body, rows=tuple(rows)) if body else None


def _stack(view: View) -> Drawn | None:
    body, rows = "", []
    for workload in view.workloads():
        pairs = [
            (arm, speed, memory)
            for arm, speed in view.measured(OUTPUT, workload)
            if (memory := view.figure(MEMORY, arm.name, workload))
        ]
        if len(pairs) < 2:
            continue
        unit, name = unit_of(max(memory.value for *_, memory in pairs))
        points = {arm.name: _stack_point(arm, speed, memory, unit) for arm, speed, memory in pairs}
        stacked = {name for arm, *_ in pairs if arm.on in points for name in (arm.name, arm.on)}
        series = [
            Series(
                name=arm.name,
                points=(points[arm.name] if arm.name in stacked else replace(points[arm.name], label=""),),
                look=view.look(arm.name),
            )
            for arm, *_ in pairs
        ]
        x = axis(f"output tokens/s, {workload}", ends(series, "x"), log=False)
        y = axis(f"weights + KV in use, {name}", ends(series, "y"), log=False)
        steps = [
            Series(name=f"{arm.on} to {arm.name}", look=view.look(arm.name), markers=False,
                   points=(points[arm.on], points[arm.name]))
            for arm, *_ in pairs
            if arm.on in points
        ]  # fmt: skip
        body += plot(series, x, y, says="Speed against memory by arm", steps=steps, tall=240)
        rows += _stack_rows(pairs, workload)
    return Drawn(body=body, rows=tuple(rows)) if body else None


def _stack_point(arm: Arm, speed: Figure, memory: Figure, unit: float) -> Point:
    low, high = (None if end is None else end / unit for end in (memory.low, memory.high))
    fast, large = (f"{amount(each.value, each.unit)} {interval(each)}" for each in (speed, memory))
    return Point(
        x=speed.value, x_low=speed.low, x_high=speed.high, y=memory.value / unit, y_low=low, y_high=high,
        tip=f"{arm.name}: {fast}, {large}, n = {speed.n}", label=arm.name, tag=speed.tag,
    )  # fmt: skip


def _stack_rows(pairs: Sequence[tuple[Arm, Figure, Figure]], workload: str) -> list[tuple[str, ...]]:
    rows = []
    for arm, speed, memory in pairs:
        rows.append(row(arm.name, workload, "output tokens/s", speed))
        rows.append(row(arm.name, workload, "weights + KV in use", memory))
    return rows


GLANCE_CHART = Chart(
    id="glance",
    title="Every lever over the control",
    definition="The measure of an arm divided by the control's, block by block; mean and Student t of the "
    "logarithms. What an interval that holds 1 cannot tell is left undecided.",
    inputs="two arms",
    draw=_glance,
)
CHARTS = (
    Chart(
        id="predictions",
        title="Predicted against measured",
        definition="Hollow: what the planner said before anything ran (projected), or with a figure measured "
        "here such as acceptance (calibrated). Filled: measured, with its interval. Both over the arm named.",
        inputs="a lever that the planner has a formula for",
        draw=_predictions,
    ),
    Chart(
        id="weight-formats",
        title="Weight formats",
        definition="Output tokens a second by workload, and the bytes that the engine's log says loading the "
        "model took (projected: the planner's, where no log says it). Perplexity has a chart of its own.",
        inputs="an arm with the mode quantized_weights",
        draw=_formats,
    ),
    Chart(
        id="stack",
        title="Speed against memory",
        definition="x: output tokens a second at the same load. y: weights plus KV cache in use (what is "
        "reserved is more). Crosses: intervals. Arrows lead from an arm to the one that stands on it.",
        inputs="two arms with memory and speed under one workload",
        draw=_stack,
    ),
)
