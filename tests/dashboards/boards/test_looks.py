"""What the boards have in common."""

from __future__ import annotations

from typing import get_args

from dashboards.boards.looks import FINISHED, OUTCOMES, SOURCES, ask, by_revision, latency, objective
from dashboards.engine_slis import FINISHED as REASONS
from dashboards.promql import Scope
from serving.gateway.outcome import OutcomeKind

SCOPE = Scope(('deployment="$deployment"',))


def test_every_outcome_has_a_colour() -> None:
    assert {name for name, _ in OUTCOMES} == set(get_args(OutcomeKind))


def test_every_reason_to_finish_has_a_colour() -> None:
    assert {name for name, _ in FINISHED} == set(REASONS)


def test_where_prompt_tokens_come_from_has_colours_of_its_own() -> None:
    assert len({color for _, color in SOURCES}) == len(SOURCES)


def test_an_indicator_is_called_by_its_title_unless_told_otherwise() -> None:
    assert ask("waiting", SCOPE).legend == "Waiting"
    assert ask("waiting", SCOPE, "queue").legend == "queue"


def test_a_latency_is_three_quantiles_and_a_dashed_mean() -> None:
    assert [(query.legend, query.style) for query in latency("ttft", SCOPE)] == [
        ("p50", "line"), ("p95", "line"), ("p99", "line"), ("mean", "dashed"),
    ]  # fmt: skip


def test_an_objective_is_drawn_from_what_the_gateway_was_given() -> None:
    query = objective("ttft", SCOPE)
    assert query.expr == 'min (teapot_slo_threshold_seconds{slo="ttft", deployment="$deployment"})'
    assert (query.style, query.optional) == ("limit", "only with an objective for ttft")


def test_revisions_stand_beside_each_other() -> None:
    panel = by_revision("waiting", "Waiting", "requests", "Do: look.", SCOPE)
    assert panel.queries[0].legend == "{{revision}}"
    assert "by (revision)" in panel.queries[0].expr
