"""A study's summary in sentences: what each lever did, against what was predicted.

Owns: the sentences and how numbers are shown in them. Knows nothing about how any of them was come by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deploy.study.counting import many
from deploy.study.measures import BY_NAME
from deploy.study.results import ArmResult, Figure, Prediction, Ratio, Summary

SPOKEN = (
    "output_tokens_per_s",
    "tokens_per_s_per_user",
    "ttft_p50_s",
    "prefill_mean_s",
)
"""What a sentence may be about: always the first, the others where they changed or a prediction failed."""
UNDECIDED = "not told from chance"
"""Said of a ratio whose interval holds 1; the page puts such sentences behind the others by it."""
_TIMES = {0.5: "halved", 2.0: "doubled", 3.0: "tripled", 4.0: "quadrupled"}
_EXACTLY = 0.005


def words(summary: Summary) -> tuple[str, ...]:
    """One sentence a fact: capacity, speed, acceptance, quality of each arm; then what was not measured."""
    said: list[str] = []
    for arm in summary.arms:
        if arm.name == summary.control or arm.state in ("ruled out", "not reached"):
            continue
        said += _capacity(summary, arm.name)
        for workload in summary.workloads:
            said += _speed(summary, arm.name, workload)
            said += _step(summary, arm, workload)
        said += _wrong(summary, arm.name)
        rows = [row for row in summary.quality if row.get("arm") == arm.name]
        said += [text for row in rows if (text := _quality(arm.name, row))]
    said += _batches(summary.predictions)
    said += [f"{one.arm}: {one.reason.rstrip('.')}." for one in summary.missing if one.what != "cell"]
    cells = [one for one in summary.missing if one.what == "cell"]
    if cells:
        more = " ..." if cells[1:] else ""
        said.append(f"{many(len(cells), 'cell')} missing: {cells[0].id} ({cells[0].reason}){more}.")
    return tuple(said)


def _capacity(summary: Summary, arm: str) -> Iterator[str]:
    mine = summary.find("kv_cache_tokens", arm=arm)
    control = summary.find("kv_cache_tokens", arm=summary.control)
    if not mine or not control or mine.figure.value == control.figure.value:
        return
    times = mine.figure.value / control.figure.value
    before, after = control.figure.value, mine.figure.value
    said = _predicted(summary, arm, None, "kv_cache_tokens")
    yield f"{arm} {_verb(times)} capacity: {before:,.0f} -> {after:,.0f} tokens{said}."


def _speed(summary: Summary, arm: str, workload: str) -> Iterator[str]:
    for measure in SPOKEN:
        found = summary.ratio(measure, arm=arm, workload=workload)
        if found is None or (measure != SPOKEN[0] and found.better is None and not _missed(summary, found)):
            continue
        title = BY_NAME[measure].title if measure != "output_tokens_per_s" else "output tokens/s"
        told = f"{arm} under {workload}: {title} {times(found.figure)}{_verdict(found)}"
        yield f"{told}{_predicted(summary, arm, workload, measure)}."
    accepted = summary.find("acceptance_ratio", arm=arm, workload=workload)
    length = summary.find("tokens_per_pass", arm=arm, workload=workload)
    if accepted and length:
        told = f"{percent(accepted.figure)} of drafted tokens accepted"
        yield f"{arm} under {workload}: {told}, {length.figure.value:.2f} tokens a pass."


def _missed(summary: Summary, found: Ratio) -> bool:
    """Whether what was predicted of it does not lie in its interval."""
    wanted = (found.arm, found.over, found.workload, found.measure)
    return any(
        one.held is False
        for one in summary.predictions
        if (one.arm, one.over, one.workload, one.measure) == wanted
    )


def _wrong(summary: Summary, arm: str) -> Iterator[str]:
    """Predictions that failed of what is not spoken of otherwise."""
    for one in summary.predictions:
        told = one.measure in (*SPOKEN, "kv_cache_tokens")
        if (one.arm, one.over, one.held) == (arm, summary.control, False) and not told:
            under = "" if one.workload is None else f" under {one.workload}"
            what = f"{arm}{under}: {BY_NAME[one.measure].title} {times(one.measured)}"
            yield f"{what}; predicted {one.predicted:.2f}x ({one.tag}): {_judged(one)}."


def _step(summary: Summary, arm: ArmResult, workload: str) -> Iterator[str]:
    """What an arm of a stack adds to the one that it stands on."""
    wanted = (arm.name, arm.on, workload, "output_tokens_per_s")
    for found in summary.ratios:
        if arm.on != summary.control and (found.arm, found.over, found.workload, found.measure) == wanted:
            told = f"{arm.name} under {workload}, over {arm.on} alone: output tokens/s {times(found.figure)}"
            yield f"{told}{_verdict(found)}."


def _verdict(found: Ratio) -> str:
    if found.better is not None:
        return ", better" if found.better else ", worse"
    return " (one repeat: no interval)" if found.figure.low is None else f" ({UNDECIDED})"


def _predicted(summary: Summary, arm: str, workload: str | None, measure: str) -> str:
    for one in summary.predictions:
        if (one.arm, one.over, one.workload, one.measure) == (arm, summary.control, workload, measure):
            return f"; predicted {one.predicted:.2f}x ({one.tag}): {_judged(one)}"
    return ""


def _judged(one: Prediction) -> str:
    if one.held:
        return "not contradicted, nor is no effect" if one.undecided else "it held"
    off = f"{one.error_ratio * 100:+.0f} %"
    return f"it was off by {off}" if one.held is not None else f"off by {off}, of one repeat"


def _batches(found: Sequence[Prediction]) -> Iterator[str]:
    for one in found:
        if one.over_workload is not None:
            told = f"{one.arm}: {one.workload} gave {times(one.measured)} the output of {one.over_workload}"
            yield f"{told}; predicted {one.predicted:.2f}x ({one.tag}): {_judged(one)}."


def _quality(arm: str, row: Mapping[str, Any]) -> str | None:
    mine, control = row.get("against") or {}, row.get("itself") or {}
    match, again, ppl = mine.get("exact_match"), control.get("exact_match"), mine.get("perplexity_ratio")
    if not ppl:
        return None
    told = f"{arm}: perplexity {ppl['value']:.3f}x{_bounds(ppl.get('low'), ppl.get('high'), '{:.3f}')}"
    if match and again:
        told += (
            f"; greedy answers matched in {match['value'] * 100:.0f} %{_percents(match)}"
            f" against {again['value'] * 100:.0f} % in the control"
        )
    return told + "."


def times(figure: Figure) -> str:
    """`1.32x [1.20, 1.45]`."""
    return f"{figure.value:.2f}x{_bounds(figure.low, figure.high, '{:.2f}')}"


def percent(figure: Figure) -> str:
    """`59 % [55, 62]`."""
    low, high = (None if each is None else each * 100 for each in (figure.low, figure.high))
    return f"{figure.value * 100:.0f} %{_bounds(low, high, '{:.0f}')}"


def _percents(estimate: Mapping[str, Any]) -> str:
    low, high = estimate.get("low"), estimate.get("high")
    return "" if low is None or high is None else f" [{low * 100:.0f}, {high * 100:.0f}]"


def _bounds(low: float | None, high: float | None, form: str) -> str:
    return "" if low is None or high is None else f" [{form.format(low)}, {form.format(high)}]"


def _verb(ratio: float) -> str:
    for exact, verb in _TIMES.items():
        if abs(ratio / exact - 1) < _EXACTLY:
            return verb
    return f"gave {ratio:.2f}x"
