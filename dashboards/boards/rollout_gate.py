"""What the rollout says of itself: where it is, what its gate answers, whether anyone still carries it out.

Owns: that row of the board. Knows nothing about how a gate decides (`deploy/rollout`).
"""

from __future__ import annotations

from dashboards.boards.choices import WHOLE
from dashboards.panels import Color, Column, Panel, Query, Row
from dashboards.promql import increase, series, total
from dashboards.sli import rollout

_KNOWN = "only once a rollout was begun"
_LOOKED = "only after the gate's first look"
_VERDICTS: tuple[tuple[str, Color], ...] = (("pass", "green"), ("inconclusive", "amber"), ("fail", "red"))


def _told(key: str, *kept: str, **labels: str) -> str:
    """The newest of a rollout, by these labels."""
    scope = WHOLE.split(*kept)
    return total(series(rollout(key), scope, **labels), scope, "max")


GATE = Row(
    "What does the gate say?",
    (
        Panel(
            key="rollout_silence",
            title="Since its controller said anything",
            kind="stat",
            unit="seconds",
            queries=(Query(expr=f"time() - {_told('told')}", legend="silent for"),),
            help="A controller that was killed says nothing, and weights stay as they are. Do: unless it is "
            "over, begin it again with the same `teapot rollout start`: it goes on from its journal.",
            width=12,
            height=4,
            optional=_KNOWN,
        ),
        Panel(
            key="rollout_steps",
            title="Step",
            kind="stat",
            unit="count",
            queries=(
                Query(expr=_told("step"), legend="step"),
                Query(expr=_told("steps"), legend="of"),
            ),
            help="Each gives the new revision a larger share. Do: nothing while it goes on.",
            width=12,
            height=4,
            decimals=0,
            optional="only from the first step on",
        ),
        Panel(
            key="rollout_state",
            title="The rollout is",
            kind="state",
            unit="text",
            queries=(
                Query(expr=f"{_told('state', 'revision', 'state')} == 1", legend="{{revision}}: {{state}}"),
            ),
            words=((1, "here", "blue"),),
            help="planned, starting, proving, warming; then moving and baking for each step; holding: too "
            "little to tell. Do: `teapot rollout status` says why it is where it is.",
            width=24,
            optional=_KNOWN,
        ),
        Panel(
            key="rollout_checks",
            title="Checks at the last look",
            kind="table",
            unit="text",
            queries=(Query(expr=f"{_told('check', 'revision', 'check', 'answer')} == 1", instant=True),),
            columns=(
                Column(label="check", title="Check"),
                Column(label="answer", title="Answer"),
                Column(label="revision", title="Revision"),
            ),
            help="One fail takes it back; one inconclusive holds it; not_judged says nothing here, and why "
            "is in the journal. Do: `teapot rollout status` has the numbers of each.",
            height=12,
            optional=_LOOKED,
        ),
        Panel(
            key="rollout_requests",
            title="Requests in the window",
            unit="requests",
            queries=(
                Query(expr=_told("requests", "revision"), legend="{{revision}}"),
                Query(expr=_told("min_requests"), legend="needed", color="red", style="limit"),
            ),
            help="Of the new revision, since this step's weights had settled. Do: if it will not reach the "
            "line in time, give the step a larger weight or a longer wait.",
            height=12,
            lowest=0,
            optional=_LOOKED,
        ),
        Panel(
            key="rollout_looks",
            title="Looks by verdict",
            unit="count",
            queries=(
                Query(
                    expr=total(increase(rollout("looks"), WHOLE), WHOLE.split("verdict")),
                    legend="{{verdict}}",
                ),
            ),
            colors=_VERDICTS,
            stacked=True,
            help="Looks before the end of a bake can only fail or be inconclusive. Do: if none come, its "
            "evidence is away: see whether Prometheus is up.",
            height=12,
            lowest=0,
            optional=_LOOKED,
        ),
    ),
)
