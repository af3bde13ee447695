"""A study's summary for a terminal: what is looked at first, with bars; then sentences.

Owns: the columns and the bars. Knows nothing about how anything was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deploy.study.counting import many
from deploy.study.measures import BY_NAME
from deploy.study.results import ArmResult, Figure, Prediction, Ratio, Summary
from deploy.study.words import times
from deploy.verdicts import WORDS

COLUMNS = ("output_tokens_per_s", "tokens_per_s_per_user", "ttft_p50_s", "tpot_p50_s")
BAR = 20
"""Characters of the longest bar."""
_NONE = "-"


def table(summary: Summary) -> str:
    """Everything, as lines."""
    lines = [*_head(summary), ""]
    for workload in summary.workloads:
        lines += [*_workload(summary, workload), ""]
    lines += [*_predicted(summary)]
    lines += [f"- {text}" for text in summary.words]
    lines += [f"note: {note}" for note in summary.notes]
    lines += [f"not valid: {doubt}" for doubt in summary.doubts]
    return "\n".join(lines)


def _head(summary: Summary) -> Iterator[str]:
    state = "complete" if summary.complete else "not complete"
    yield f"study {summary.name}: {state}; control {summary.control}, {many(summary.repeats, 'repeat')}" + (
        ", engines held" if summary.hold else ""
    )
    width = max(len(arm.name) for arm in summary.arms)
    for arm in summary.arms:
        tokens = summary.find("kv_cache_tokens", arm=arm.name)
        shown = "" if tokens is None else f"  {tokens.figure.value:>11,.0f} KV tokens"
        yield f"  {arm.name:<{width}}  {arm.state:<11}{shown}{_modes(arm)}"


def _modes(arm: ArmResult) -> str:
    told = ", ".join(f"{mode['kind']} {WORDS[mode['in_effect']]}" for mode in arm.modes)
    return f"  {told}" if told else ""


def _workload(summary: Summary, workload: str) -> Iterator[str]:
    rates = {row.arm: row for row in summary.of("output_tokens_per_s", workload)}
    if not rates:
        yield f"{workload}: nothing was measured"
        return
    most = max(row.figure.value for row in rates.values())
    width = max(len(name) for name in (*rates, workload))
    heads = [BY_NAME[name].title for name in COLUMNS]
    yield f"{workload:<{width}}  {'':<{BAR}}  {heads[0] + ' tok/s':>24}  {'x control':>20}  " + "  ".join(
        f"{head:>10}" for head in heads[1:]
    )
    for arm, row in rates.items():
        bar = "█" * round(BAR * row.figure.value / most) if most else ""
        ratio = summary.ratio("output_tokens_per_s", arm=arm, workload=workload)
        cells = [_cell(summary, name, arm, workload) for name in COLUMNS[1:]]
        yield (
            f"{arm:<{width}}  {bar:<{BAR}}  {_interval(row.figure):>24}  {_ratio(ratio):>20}  "
            + "  ".join(f"{cell:>10}" for cell in cells)
        )


def _cell(summary: Summary, measure: str, arm: str, workload: str) -> str:
    row = summary.find(measure, arm=arm, workload=workload)
    if row is None:
        return _NONE
    value = row.figure.value
    return f"{value * 1e3:,.0f} ms" if row.figure.unit == "s" else f"{value:,.1f}"


def _interval(figure: Figure) -> str:
    bounds = "" if figure.low is None or figure.high is None else f" [{figure.low:,.1f}, {figure.high:,.1f}]"
    return f"{figure.value:,.1f}{bounds}"


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return _NONE
    return times(ratio.figure) + {True: " +", False: " -", None: ""}[ratio.better]


def _predicted(summary: Summary) -> Sequence[str]:
    if not summary.predictions:
        return []
    lines = ["predicted  measured                 off   held"]
    for one in summary.predictions:
        under = "" if one.workload is None else f" under {one.workload}"
        over = one.over_workload or one.over
        what = f"{one.arm}{under} over {over}: {BY_NAME[one.measure].title}, {one.tag}"
        did = times(one.measured)
        lines.append(f"{one.predicted:>8.2f}x  {did:<22}  {one.error_ratio:>+5.0%}  {_held(one):<4}  {what}")
    return [*lines, ""]


def _held(one: Prediction) -> str:
    """`yes?`: the interval holds what was predicted, and no effect at all too."""
    if one.held is None:
        return "?"
    if not one.held:
        return "NO"
    return "yes?" if one.undecided else "yes"
