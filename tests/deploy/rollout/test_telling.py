"""What is said of a rollout: its lines, its document, its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.rollout import telling
from deploy.rollout.entries import begun, moved, noted
from deploy.rollout.finding import Finding
from deploy.rollout.gate import Judgement
from deploy.rollout.journal import Journal
from deploy.rollout.machine import STATES, State, StateName
from deploy.rollout.plan import Plan, Step
from deploy.rollout.watch import Looked, Watch
from serving.gateway.rollout_metrics import check_told

PLAN = Plan(
    deployment="demo", canary="new", baseline="main", file="/new.yaml", strategy="canary",
    steps=(Step(0.1, 60.0), Step(1.0, 60.0)), min_requests=600,
)  # fmt: skip
BAKING = State(name="baking", since_s=100.0, step=0, window_s=110.0)
JUDGED = Judgement(
    "FAIL", {"errors": Finding("FAIL", "4 % of 200"), "mix": Finding("NOT JUDGED", "-")}, 1, 2, True
)


def watch(tmp_path: Path) -> Watch:
    made = Watch(PLAN, Journal(tmp_path / "journal.jsonl"))
    made.last, made.looks = Looked(JUDGED, True, 200), {"fail": 1}
    return made


def test_the_gateway_is_told_numbers_and_what_each_check_said(tmp_path: Path) -> None:
    told = telling.document(BAKING, PLAN, watch(tmp_path), 123.0)
    assert told == {
        "revision": "new", "baseline": "main", "strategy": "canary", "state": "baking", "why": "", "step": 1,
        "steps": 2, "weight_ratio": 0.1, "requests": 200, "min_requests": 600,
        "checks": {"errors": "fail", "mix": "not_judged"}, "looks": {"fail": 1}, "told_s": 123.0,
    }  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_every_state_has_words_and_a_document_that_the_gateway_takes(tmp_path: Path, name: StateName) -> None:
    state = State(name=name, since_s=1.0)
    assert telling.line(state, PLAN).startswith("new: ")
    check_told(telling.document(state, PLAN, watch(tmp_path), 2.0))


@pytest.mark.parametrize(
    ("step", "told"), [(None, "new: failed before a request was moved: no"), (1, "new: failed: no")]
)
def test_a_failure_tells_whether_requests_had_been_moved(step: int | None, told: str) -> None:
    assert telling.line(State(name="failed", step=step, why="no"), PLAN) == told


@pytest.mark.parametrize(
    ("name", "step", "ratio"),
    [("starting", None, 0), ("baking", 0, 0.1), ("moving", 1, 1), ("promoting", 1, 1), ("done", 1, 1),
     ("rolling_back", 1, 0), ("rolled_back", 1, 0)],
)  # fmt: skip
def test_the_share_told_is_the_one_that_the_state_has(
    name: StateName, step: int | None, ratio: float
) -> None:
    assert telling.weight_of(State(name=name, step=step), PLAN) == ratio


def test_progress_says_for_how_long_and_when_it_decides(tmp_path: Path) -> None:
    text = telling.progress(BAKING, PLAN, watch(tmp_path), 130.0)
    assert text == "new: watching (step 1 of 2, 10%), for 30 s, decides in 40 s, 200 requests"


def test_a_journal_is_told_as_states_decisions_and_notes() -> None:
    look = {"at": 171.0, "kind": "look", "decisive": True, **JUDGED.to_json()}
    early = look | {"decisive": False, "verdict": "INCONCLUSIVE"}
    back = State(name="rolling_back", since_s=171.0, step=0, why="errors: 4 % of 200")
    lines = (
        begun(PLAN, at_s=100.0), moved(BAKING, "moved"), noted("Prometheus is away", at_s=120.0), early,
        {"at": 130.0, "kind": "quality", "outcome": "pass", "reasons": ["1.00 times the perplexity"]},
        look, moved(back, "failed"),
    )  # fmt: skip
    assert list(telling.shown(PLAN, lines)) == [
        "demo: main -> new (canary) from /new.yaml",
        "       0 s  new: watching (step 1 of 2, 10%)",
        "      20 s  Prometheus is away",
        "      30 s  answers compared: pass: 1.00 times the perplexity",
        "  1 min 11 s  FAIL: errors: 4 % of 200",
        "  1 min 11 s  new: going back (step 1 of 2, 0%): errors: 4 % of 200",
    ]


def test_the_table_has_a_line_for_each_check() -> None:
    assert list(telling.table(JUDGED.to_json())) == [
        "  errors  FAIL          4 % of 200",
        "  mix     NOT JUDGED    -",
    ]
