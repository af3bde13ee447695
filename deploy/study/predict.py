"""What the planner says a lever does, beside what it did: also where it was wrong.

Owns: one rule a formula, each of which gives ratios to another arm (or, within an arm, to another workload).
Knows nothing about how the planner's floors and the measured values were come by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from deploy.study.results import Figure, Prediction, Ratio, Row, Tag
from deploy.study.rows import Arm, Design, Floors
from deploy.study.statistics import Interval, paired, ratio
from deploy.study.summarize import Values, figure_of
from serving.planner.speculation import speedup


@dataclass(frozen=True, slots=True)
class Found:
    """All that was measured."""

    design: Design
    values: Sequence[Values]
    rows: Sequence[Row]
    ratios: Sequence[Ratio]

    def row(self, arm: str, workload: str | None, measure: str) -> float | None:
        """A measure's mean; None where there is none."""
        wanted = (arm, workload, measure)
        hit = next((row for row in self.rows if (row.arm, row.workload, row.measure) == wanted), None)
        return hit.figure.value if hit else None

    def value(self, arm: str, workload: str | None, measure: str) -> Values | None:
        """A measure by block."""
        wanted = (arm, workload, measure)
        return next((v for v in self.values if (v.arm, v.workload, v.measure) == wanted), None)


@dataclass(frozen=True, slots=True)
class Said:
    """A predicted ratio of a measure."""

    measure: str
    ratio: float
    formula: str
    tag: Tag = "projected"


Rule = Callable[[Found, Arm, Arm, str | None], Said | None]
"""What it says of an arm over another under a workload; None: nothing."""


def kv_tokens(found: Found, arm: Arm, over: Arm, workload: str | None) -> Said | None:
    """Capacity: the planner's own count of both."""
    mine, other = arm.planned.kv_cache_tokens, over.planned.kv_cache_tokens
    if workload is not None or not mine or not other:
        return None
    return Said("kv_cache_tokens", mine / other, f"planned tokens: {mine:,} / {other:,}")


def weights(found: Found, arm: Arm, over: Arm, workload: str | None) -> Said | None:
    """Weights: bytes from headers and formats."""
    mine, other = arm.planned.weight_bytes, over.planned.weight_bytes
    if workload is not None or not mine or not other or mine == other:
        return None
    return Said("weights_bytes", mine / other, f"planned bytes: {mine:,} / {other:,}")


def decode(found: Found, arm: Arm, over: Arm, workload: str | None) -> Said | None:
    """TPOT without speculation: the floors of a decode step, one over the other."""
    mine, other = _floors(arm, workload), _floors(over, workload)
    if mine is None or other is None or arm.drafted_tokens or over.drafted_tokens:
        return None
    said = f"decode floors at batch {mine.batch}: {_ms(mine.decode_s)} / {_ms(other.decode_s)}"
    return Said("tpot_mean_s", mine.decode_s / other.decode_s, said)


def speculation(found: Found, arm: Arm, over: Arm, workload: str | None) -> Said | None:
    """Speed a user gets, with tokens a pass as measured here: E t(B, 1) / (k t_draft(B) + t(B, k + 1))."""
    mine, other = _floors(arm, workload), _floors(over, workload)
    tokens = found.row(arm.name, workload, "tokens_per_pass")
    if mine is None or other is None or mine.checked_s is None or over.drafted_tokens or tokens is None:
        return None
    k, draft_s = arm.drafted_tokens, mine.draft_s or 0.0
    times = speedup(tokens, k, alone_s=other.decode_s, checked_s=mine.checked_s, draft_s=draft_s)
    said = (
        f"E t(B,1) / (k t_draft + t(B,k+1)): {tokens:.2f} x {_ms(other.decode_s)}"
        f" / ({k} x {_ms(draft_s)} + {_ms(mine.checked_s)}), batch {mine.batch}"
    )
    return Said("tokens_per_s_per_user", times, said, "calibrated")


def prefix(found: Found, arm: Arm, over: Arm, workload: str | None) -> Said | None:
    """Prefill, with hits as measured here: what was not found in the cache is computed."""
    mine, other = (
        found.row(arm.name, workload, "prefix_hit_ratio"),
        found.row(over.name, workload, "prefix_hit_ratio"),
    )
    if mine is None and other is None:
        return None
    hit, before = mine or 0.0, other or 0.0
    if abs(hit - before) < LEAST_HITS or hit >= 1 or before >= 1:
        return None
    said = f"tokens computed: (1 - {hit:.3f}) / (1 - {before:.3f})"
    return Said("prefill_mean_s", (1 - hit) / (1 - before), said, "calibrated")


LEAST_HITS = 0.05
"""Below this difference of hit ratios nothing is said of prefill."""
RULES: tuple[Rule, ...] = (kv_tokens, weights, decode, speculation, prefix)


def predictions(found: Found) -> tuple[Prediction, ...]:
    """Each rule for each arm over the control, and over the arm it stands on."""
    made = []
    for arm in found.design.arms:
        for name in dict.fromkeys((found.design.control, arm.on)):
            if name is None or name == arm.name:
                continue
            over = found.design.arm(name)
            for workload in (None, *found.design.workloads):
                said = (rule(found, arm, over, workload) for rule in RULES)
                made += [p for one in said if one and (p := _beside(found, arm, over, workload, one))]
    return (*made, *_batches(found))


def _beside(found: Found, arm: Arm, over: Arm, workload: str | None, said: Said) -> Prediction | None:
    wanted = (arm.name, over.name, workload, said.measure)
    did = next((r for r in found.ratios if (r.arm, r.over, r.workload, r.measure) == wanted), None)
    nothing = did is not None and said.ratio == did.figure.value == 1.0
    if did is None or nothing or did.figure.tag != "measured":
        return None
    return _prediction(arm.name, over.name, workload, said, did.figure)


def _prediction(arm: str, over: str, workload: str | None, said: Said, did: Figure) -> Prediction:
    interval = Interval(did.value, did.low, did.high, did.n)
    return Prediction(
        arm=arm,
        over=over,
        workload=workload,
        measure=said.measure,
        predicted=said.ratio,
        measured=did,
        tag=said.tag,
        formula=said.formula,
        error_ratio=did.value / said.ratio - 1,
        held=interval.holds(said.ratio),
    )


def _batches(found: Found) -> Iterator[Prediction]:
    """Within an arm: throughput at B users over that at the fewest, by floors. B t(1) / t(B)."""
    for arm in found.design.arms:
        closed = sorted(arm.planned.floors.items(), key=lambda item: item[1].batch)
        alike = [(name, floors) for name, floors in closed if _alike(found.design, name, closed[0][0])]
        if arm.drafted_tokens or len({floors.batch for _, floors in alike}) < 2:
            continue
        (first, few), *others = alike
        for name, many in others:
            mine, base = (found.value(arm.name, each, "output_tokens_per_s") for each in (name, first))
            did = ratio(paired(mine.by_block, base.by_block)) if mine and base else None
            if did is None or mine is None or base is None:
                continue
            said = Said(
                "output_tokens_per_s",
                many.batch * few.decode_s / (few.batch * many.decode_s),
                f"batch x floors: {many.batch} / {_ms(many.decode_s)} over {few.batch} / {_ms(few.decode_s)}",
            )
            figure = figure_of(did, "x", "measured", mine.cells + base.cells)
            made = _prediction(arm.name, arm.name, name, said, figure)
            yield replace(made, over_workload=first)


def _alike(design: Design, one: str, other: str) -> bool:
    """Whether two workloads differ in how many users there are, and in nothing else that counts."""
    mine, theirs = design.workloads[one], design.workloads[other]
    return all(mine[key] == theirs[key] for key in ("prompts", "endpoint"))


def _floors(arm: Arm, workload: str | None) -> Floors | None:
    return arm.planned.floors.get(workload) if workload is not None else None


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"
