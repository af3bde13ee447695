"""What a status means to a rollout: whose place it takes, shares, events."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.rollout.machine import State
from deploy.rollout.plan import Plan, Step
from deploy.rollout.seen import Seen, as_set, baseline_of, event_of, read, shares
from serving.errors import Failed, UsageError

PLAN = Plan(
    deployment="demo", canary="new", baseline="main", file="/new.yaml", strategy="canary",
    steps=(Step(0.1, 60.0), Step(1.0, 60.0)),
)  # fmt: skip


def row(name: str, weight: float, state: str | None = "ready", **more: Any) -> dict[str, Any]:
    backend = {"url": f"http://{name}", "role": "any", "state": "ready", "in_flight": 0}
    own: dict[str, Any] = (
        {} if state is None else {"state": state, "problem": None, "file": "/f", "up_in_s": 3.0, "modes": []}
    )
    return {"name": name, "weight": weight, "backends": [backend], **own, **more}


def seen(*rows: dict[str, Any]) -> Seen:
    return read({"name": "demo", "revisions": list(rows), "prometheus": None})


def test_a_revision_elsewhere_is_no_row_but_has_a_share() -> None:
    found = seen(row("main", 0.8), row("cluster", 0.2, None))
    assert set(found.rows) == {"main"}
    assert found.weights == {"main": 0.8, "cluster": 0.2}


def test_modes_and_engines_are_read() -> None:
    modes = [{"kind": "lora", "asked": "a", "in_effect": None, "evidence": ""}]
    pair = [
        {"url": "http://p", "role": "prefill", "state": "ready", "in_flight": 0},
        {"url": "http://d", "role": "decode", "state": "down", "in_flight": 0},
    ]
    found = seen(row("main", 1.0, modes=modes, backends=pair)).rows["main"]
    assert found.modes == {"lora": None}
    assert [(engine.url, engine.ready) for engine in found.engines] == [
        ("http://p", True),
        ("http://d", False),
    ]
    assert [engine.url for engine in found.answering] == ["http://d"]


def test_the_baseline_is_the_one_with_own_engines_and_the_largest_share() -> None:
    assert baseline_of(seen(row("a", 0.3), row("b", 0.2), row("cluster", 0.5, None))).name == "a"
    with pytest.raises(UsageError, match="no revision of 'demo' with engines of its own"):
        baseline_of(seen(row("cluster", 1.0, None), row("idle", 0.0)))


def test_revisions_elsewhere_keep_their_share() -> None:
    found = seen(row("main", 0.8), row("new", 0.0), row("cluster", 0.2, None))
    assert shares(found, PLAN, 0.25) == {"cluster": 0.2, "new": 0.2, "main": pytest.approx(0.6)}
    assert shares(found, PLAN, 1.0) == {"cluster": 0.2, "new": 0.8}
    assert shares(found, PLAN, 0.0) == {"cluster": 0.2, "main": 0.8}


def test_weights_are_as_set_whatever_others_have() -> None:
    assert as_set(seen(row("main", 0.6), row("new", 0.2), row("cluster", 0.2, None)), PLAN, 0.25)
    assert not as_set(seen(row("main", 0.5), row("new", 0.5)), PLAN, 0.25)
    assert not as_set(seen(row("cluster", 1.0, None)), PLAN, 0.0)


def down(url: str, role: str = "any") -> dict[str, Any]:
    return {"url": url, "role": role, "state": "down", "in_flight": 0}


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ((row("main", 1.0, "failed", problem="it crashed"),), r"it is failed \(it crashed\)"),
        ((row("main", 1.0, "starting"),), "it is starting"),
        ((row("main", 1.0, backends=[down("http://main")]),), "none of its engines is ready"),
        (
            (
                row(
                    "main",
                    1.0,
                    backends=[row("p", 0)["backends"][0] | {"role": "prefill"}, down("d", "decode")],
                ),
            ),
            "none of its engines is ready",
        ),
        # Not the largest, but its share could not be given to it again.
        ((row("big", 0.9), row("main", 0.1, "failed")), "it is failed"),
    ],
)
def test_no_rollout_begins_beside_a_revision_that_has_requests_and_cannot_answer_them(
    rows: tuple[dict[str, Any], ...], why: str
) -> None:
    with pytest.raises(Failed, match=f"revision 'main' has requests and cannot answer them: {why}") as found:
        baseline_of(seen(*rows))
    assert "`teapot serve` the new file in its place" in str(found.value)


def test_one_of_its_engines_is_enough_to_begin_beside() -> None:
    backends = [*row("main", 0)["backends"], down("http://other")]
    assert baseline_of(seen(row("main", 1.0, backends=backends), row("old", 0.0, "failed"))).name == "main"


MAIN, NEW = row("main", 0.9), row("new", 0.1)
DEAD, ALL = row("main", 0.9, "failed"), row("new", 1.0)
CASES: list[tuple[str, tuple[dict[str, Any], ...], str | None]] = [
    ("planned", (MAIN,), None),
    ("clearing", (MAIN, row("new", 0, "planned")), None),
    ("clearing", (row("new", 0, "planned"),), "cleared"),
    ("clearing", (row("new", 0, "failed"),), "engines_failed"),
    ("starting", (MAIN, row("new", 0, "planned")), None),
    ("starting", (MAIN, row("new", 0, "proving")), "engines_up"),
    ("starting", (MAIN, NEW), "proven"),
    ("starting", (MAIN,), "gone"),
    ("proving", (MAIN, row("new", 0, "proving")), None),
    ("proving", (MAIN, row("new", 0, "failed", problem="no")), "engines_failed"),
    ("warming", (MAIN, NEW), None),
    ("warming", (MAIN, row("new", 0, "leaving")), "gone"),
    ("shadowing", (MAIN, row("new", 0, "failed")), "engines_failed"),
    ("moving", (MAIN, NEW), "moved"),
    ("moving", (row("main", 1.0), row("new", 0.0)), None),
    ("baking", (MAIN, NEW), None),
    ("baking", (row("main", 1.0), row("new", 0.0)), "disturbed"),
    ("holding", (row("main", 0.5), row("new", 0.5)), "disturbed"),
    ("asking", (MAIN,), "gone"),
    ("promoting", (MAIN, NEW), None),
    ("promoting", (NEW,), "removed"),
    ("promoting", (MAIN,), "gone"),
    ("rolling_back", (MAIN, row("new", 0, "leaving")), None),
    ("rolling_back", (MAIN,), "removed"),
    ("planned", (DEAD,), "lost"),
    ("starting", (DEAD, row("new", 0, "starting")), None),
    ("warming", (DEAD, row("new", 0)), "lost"),
    ("shadowing", (row("new", 0),), "lost"),
    ("moving", (DEAD, NEW), "lost"),
    ("baking", (row("main", 0.0, "leaving"), ALL), "lost"),
    ("asking", (ALL,), "lost"),
    ("baking", (DEAD, row("new", 0.1, "failed")), "engines_failed"),
    ("rolling_back", (DEAD, NEW), None),
    ("rolling_back", (row("main", 0, "failed"), ALL), "lost"),
    ("rolling_back", (DEAD, row("new", 0.1, "failed")), "nobody"),
    ("rolling_back", (DEAD, row("new", 0, "leaving")), None),
    ("rolling_back", (row("other", 1.0),), "nobody"),
]


@pytest.mark.parametrize(("state", "rows", "event"), CASES)
def test_each_state_sees_what_concerns_it(
    state: Any, rows: tuple[dict[str, Any], ...], event: str | None
) -> None:
    found = event_of(State(name=state, step=0), PLAN, seen(*rows))
    assert (found[0] if found else None) == event


@pytest.mark.parametrize("state", ["moving", "baking", "holding"])
def test_where_the_new_one_has_all_requests_the_old_one_is_not_needed(state: Any) -> None:
    found = event_of(State(name=state, step=1), PLAN, seen(row("main", 0, "failed"), ALL))
    assert (found[0] if found else None) == ("moved" if state == "moving" else None)


def test_the_problem_of_an_engine_is_the_reason() -> None:
    there = seen(MAIN, row("new", 0, "failed", problem="out of memory"))
    assert event_of(State(name="starting"), PLAN, there) == ("engines_failed", "out of memory")
