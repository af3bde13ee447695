"""The charts of speculation: what it gains, what is accepted, where tokens come from.

Owns: these charts. Knows nothing about the page or about how a measure is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from deploy.study.report import bars as draw
from deploy.study.report.chart import Chart, Drawn, by_workload, point, row
from deploy.study.report.plot import Point, Series, axis, ends, plot
from deploy.study.report.view import Spec, View, spec
from deploy.study.results import Figure
from deploy.study.rows import Arm
from serving.planner.speculation import expected_tokens

OUTPUT, ACCEPTANCE, LENGTH = "output_tokens_per_s", "acceptance_ratio", "acceptance_length"
PER_PASS, DRAFTED = "tokens_per_pass", "drafted_share"

Sweep = tuple[str, str, list[tuple[Spec, Arm]]]
"""(method, workload, arms in the order of their k)."""


def _speculating(view: View) -> list[tuple[Spec, Arm]]:
    return [(found, arm) for arm in view.arms() if (found := spec(arm))]


def _plain(view: View) -> list[Arm]:
    return [arm for arm in view.arms() if spec(arm) is None]


def _sweeps(view: View, measure: str) -> list[Sweep]:
    """Arms that have the measure, by method and workload."""
    found: list[Sweep] = []
    pairs = _speculating(view)
    for method in dict.fromkeys(each.method for each, _ in pairs):
        for workload in view.workloads():
            chosen = [
                (each, arm)
                for each, arm in sorted(pairs, key=lambda pair: pair[0].tokens)
                if each.method == method and view.figure(measure, arm.name, workload)
            ]
            if chosen:
                found.append((method, workload, chosen))
    return found


def _sweeps_of_k(view: View, measure: str) -> list[Sweep]:
    """Those measured at two values of k at least."""
    return [sweep for sweep in _sweeps(view, measure) if len({each.tokens for each, _ in sweep[2]}) > 1]


def _name(sweep: Sweep, sweeps: Sequence[Sweep]) -> str:
    several = len({workload for _, workload, _ in sweeps}) > 1
    return f"{sweep[0]}, {sweep[1]}" if several else sweep[0]


def _on_and_off(view: View) -> Drawn | None:
    speculating = _speculating(view)
    if not speculating:
        return None
    stood_on = {view.design.control, *(arm.on for _, arm in speculating)}
    plain = [arm for arm in _plain(view) if arm.name in stood_on] or _plain(view)
    groups, rows = by_workload(view, OUTPUT, "output tokens/s", [*plain, *(arm for _, arm in speculating)])
    if not groups:
        return None
    return Drawn(body=draw.bars(groups, says="Output tokens a second by arm and workload"), rows=tuple(rows))


def _acceptance_by_kind(view: View) -> Drawn | None:
    groups, rows = by_workload(
        view, ACCEPTANCE, "accepted of the drafted", [a for _, a in _speculating(view)]
    )
    if not groups:
        return None
    caption = (
        "For orientation, speed-ups of others (Spec-Bench, A100, 7B; chat / translation / summary / "
        "questions / mathematics / retrieval): EAGLE 2.67 / 1.99 / 2.23 / 2.12 / 2.67 / 2.04, "
        "prompt lookup 1.64 / 1.04 / 2.43 / 1.14 / 1.61 / 1.71."
    )
    return Drawn(
        body=draw.bars(groups, says="Share of drafted tokens accepted, by workload and arm", high=1.0),
        rows=tuple(rows),
        caption=caption,
    )


def _against_k(view: View, measure: str, what: str) -> tuple[list[Series], list[tuple[str, ...]]]:
    """One series for each of the `_sweeps_of_k`."""
    sweeps = _sweeps_of_k(view, measure)
    series, rows = [], []
    for number, sweep in enumerate(sweeps):
        name = _name(sweep, sweeps)
        points = []
        for each, arm in sweep[2]:
            figure = view.figure(measure, arm.name, sweep[1])
            assert figure is not None
            points.append(point(each.tokens, figure, f"{name}, k = {each.tokens}: {what}"))
            rows.append(row(arm.name, sweep[1], what, figure))
        series.append(Series(name=name, points=tuple(points), look=number + 1))
    return series, rows


def _acceptance_by_k(view: View) -> Drawn | None:
    series, rows = _against_k(view, ACCEPTANCE, "accepted of the drafted")
    if not series:
        return None
    x = axis("k, tokens drafted a step", ends(series, "x"), log=False)
    y = axis("accepted / drafted", [*ends(series, "y"), 1.0], log=False)
    return Drawn(body=plot(series, x, y, says="Acceptance against k"), rows=tuple(rows))


def _tokens_by_k(view: View) -> Drawn | None:
    series, rows = _against_k(view, LENGTH, "acceptance length")
    passes, more = _against_k(view, PER_PASS, "tokens a target pass")
    if not series and not passes:
        return None
    body = ""
    if series:
        formulas = [_formula(line) for line in series]
        rows += [
            ("", "", line.name, f"{p.y:.3g} at k = {p.x:.0f}", "no interval", "", p.tag)
            for line in formulas
            for p in line.points
        ]
        body += _token_plot([*series, *formulas], "acceptance length, tokens")
    if passes:
        body += _token_plot(passes, "tokens a target pass")
    return Drawn(body=body, rows=(*rows, *more))


def _token_plot(series: Sequence[Series], what: str) -> str:
    x = axis("k, tokens drafted a step", ends(series, "x"), log=False)
    y = axis(what, [*ends(series, "y"), 1.0], log=False)
    return plot(series, x, y, says=f"{what} against k", tall=260)


def _formula(line: Series) -> Series:
    """E(alpha, k) with the alpha that the smallest k of the series gives: E(alpha, k) = its length."""
    first = line.points[0]
    alpha = _alpha(first.y, round(first.x))
    last = round(line.points[-1].x)
    points = tuple(
        Point(
            x=k,
            y=expected_tokens(alpha, k),
            tip=f"E({alpha:.3g}, {k}) = {expected_tokens(alpha, k):.3g}, calibrated at k = {first.x:.0f}",
            tag="calibrated",
        )
        for k in range(1, last + 1)
    )
    return Series(name=f"{line.name}: E({alpha:.2f}, k)", points=points, look=line.look, markers=False)


def _alpha(length: float, tokens: int) -> float:
    """The alpha of E(alpha, tokens) = length, by bisection: E grows with alpha from 1 to tokens + 1."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if expected_tokens(middle, tokens) < length:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _throughput_by_k(view: View) -> Drawn | None:
    series, rows = _against_k(view, OUTPUT, "output tokens/s")
    if not series:
        return None
    plain = _plain(view)
    shown = []
    for line, (method, workload, pairs) in zip(series, _sweeps_of_k(view, OUTPUT), strict=True):
        off = next((f for arm in plain if (f := view.figure(OUTPUT, arm.name, workload))), None)
        start = (point(0, off, f"{line.name}, k = 0: output tokens/s"),) if off else ()
        shown.append(Series(name=line.name, points=(*start, *line.points), look=line.look))
        predicted = _predicted(view, workload, pairs, off) if off else ()
        if predicted:
            name = f"{line.name}: predicted"
            shown.append(Series(name=name, points=predicted, look=line.look))
            rows += [
                (method, workload, name, f"{p.y:.4g} tok/s at k = {p.x:.0f}", "", "", p.tag)
                for p in predicted
            ]
    x = axis("k, tokens drafted a step; 0: none", ends(shown, "x"), log=False)
    y = axis("output tokens/s", ends(shown, "y"), log=False)
    return Drawn(body=plot(shown, x, y, says="Output tokens a second against k"), rows=tuple(rows))


def _predicted(
    view: View, workload: str, pairs: Sequence[tuple[Spec, Arm]], off: Figure
) -> tuple[Point, ...]:
    """What the planner makes of each k: its speed-up of the measured speed without."""
    tokens = {arm.name: each.tokens for each, arm in pairs}
    return tuple(
        Point(
            x=tokens[row.arm],
            y=row.predicted * off.value,
            tip=f"k = {tokens[row.arm]}: predicted {row.predicted:.3g} x {off.value:.4g} tok/s, {row.tag}",
            tag=row.tag if row.tag != "measured" else "projected",
        )
        for row in view.summary.predictions
        if row.measure == OUTPUT and row.workload == workload and row.arm in tokens
    )


def _sources(view: View) -> Drawn | None:
    found = []
    for sweep in _sweeps(view, DRAFTED):
        method, workload, pairs = sweep
        speeds = [(view.figure(OUTPUT, arm.name, workload), each, arm) for each, arm in pairs]
        best = max(speeds, key=lambda row: row[0].value if row[0] else 0.0)
        share = view.figure(DRAFTED, best[2].name, workload)
        assert share is not None
        found.append((f"{method} k = {best[1].tokens}, {workload}", best[2], workload, share))
    if not found:
        return None
    parts = [
        (
            name,
            [
                (
                    "from the draft",
                    share.value,
                    f"{name}: {share.value * 100:.1f} % of tokens from the draft",
                ),
                (
                    "from the target",
                    1 - share.value,
                    f"{name}: {(1 - share.value) * 100:.1f} % from the target",
                ),
            ],
        )
        for name, _, _, share in found
    ]
    rows = tuple(row(arm.name, workload, "from the draft", share) for _, arm, workload, share in found)
    return Drawn(body=draw.stacked(parts, says="Where tokens come from at the fastest k"), rows=rows)


CHARTS = (
    Chart(
        id="speculation",
        title="Throughput with and without speculation",
        definition="Output tokens of complete answers a second, in the steady part of the run where it has "
        "one. Same prompts and same users in both; blocks pair an arm with the control.",
        inputs="an arm with the mode speculative",
        draw=_on_and_off,
    ),
    Chart(
        id="acceptance",
        title="Acceptance against k",
        definition="Growth of vllm:spec_decode_num_accepted_tokens over that of "
        "vllm:spec_decode_num_draft_tokens; one engine start for each k.",
        inputs="one method of speculation at two values of k",
        draw=_acceptance_by_k,
    ),
    Chart(
        id="tokens-by-k",
        title="Tokens a target pass against k",
        definition="Acceptance length = 1 + accepted / drafts. Tokens a pass = (G - F) / P with G generated "
        "tokens, F first ones and P passes that gave later ones (inter-token latencies); it counts steps "
        "without a draft, and not what was accepted beyond an answer's end. Dashed: "
        "E(alpha, k) = (1 - alpha^(k+1)) / (1 - alpha), with alpha from the smallest k.",
        inputs="one method of speculation at two values of k",
        draw=_tokens_by_k,
    ),
    Chart(
        id="throughput-by-k",
        title="Throughput against k",
        definition="Output tokens a second at each k; k = 0 is the arm without speculation. Hollow: the "
        "planner's speed-up E t(B, 1) / (k t_draft + t(B, k + 1)) times the measured speed at k = 0.",
        inputs="one method of speculation at two values of k",
        draw=_throughput_by_k,
    ),
    Chart(
        id="token-source",
        title="Where tokens come from at the fastest k",
        definition="From the target (F + P) / G: one token for each pass that gave first (F) or later (P) "
        "tokens; from the draft the rest. Of the k with the most output tokens a second.",
        inputs="an arm with the mode speculative",
        draw=_sources,
    ),
    Chart(
        id="acceptance-by-kind",
        title="Acceptance by kind of prompt",
        definition="Accepted over drafted tokens in a window of its own for each workload.",
        inputs="an arm with the mode speculative",
        draw=_acceptance_by_kind,
    ),
)
