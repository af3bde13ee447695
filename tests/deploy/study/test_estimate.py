from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.studies import CHAT, made, study

from deploy.study.design import Layout, starts_of
from deploy.study.estimate import (
    Costs,
    Pace,
    Remaining,
    Seen,
    StartKey,
    estimate,
    lengths_of,
    load_s,
    start_key,
    what_would_fit,
)
from loadgen.workload import Workload

KEY = StartKey("m", "cpu", compiles=False, modes=("a",))


def workload(arrival: dict[str, Any], **changes: Any) -> Workload:
    return Workload.model_validate({"name": "w", **CHAT, "arrival": arrival, **changes})


def test_a_start_alike_is_known_best_then_one_of_the_same_model_then_an_assumption() -> None:
    other = StartKey("m", "cpu", compiles=False, modes=("b",))
    seen = (Seen(KEY, 30.0), Seen(KEY, 50.0), Seen(KEY, 34.0), Seen(other, 90.0))
    assert Costs(seen).start_s(KEY) == (34.0, "3 earlier starts alike")
    assert Costs(seen[-1:]).start_s(KEY) == (90.0, "1 earlier start of m in other modes")
    took, said = Costs().start_s(KEY)
    assert took == 60.0
    assert said == "assumed 60 s a start: none of m was seen yet"


def test_a_start_that_compiles_is_thought_to_take_longer() -> None:
    assert Costs().start_s(StartKey("m", "cpu", compiles=True))[0] > Costs().start_s(KEY)[0]


def test_a_deployments_key_tells_model_modes_and_whether_it_compiles(tmp_path: Path) -> None:
    plain, fp8 = study(tmp_path, set={"engine": {"args": {"enforce_eager": True}}}).arms
    assert start_key(plain.deployment, "cpu") == StartKey("smollm2-135m", "cpu", compiles=False)
    assert start_key(fp8.deployment, "cpu").modes == ("quantized_kv fp8",)
    assert start_key(study(tmp_path).arms[0].deployment, "cpu").compiles


@pytest.mark.parametrize(
    ("arrival", "seconds"),
    [
        # One request: 32 steps of 60 ms and 64 prompt tokens at 1,000 a second.
        ({"process": "closed", "concurrency": 2, "duration": 20.0}, 20 + 32 * 0.06 + 0.064),
        # Four waves of two: each 32 steps, and two prompts.
        ({"process": "closed", "concurrency": 2, "requests": 8}, 4 * (32 * 0.06 + 2 * 0.064)),
        ({"process": "poisson", "rate": 4.0, "duration": 30.0}, 30 + 32 * 0.06 + 0.064),
        ({"process": "constant", "rate": 2.0, "requests": 30}, 15 + 32 * 0.06 + 0.064),
    ],
)
def test_a_load_lasts_as_long_as_its_file_says(
    arrival: dict[str, Any], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {**arrival}
    for key, unit in (("duration", "s"), ("rate", "/s")):
        if key in said:
            said[key] = f"{said[key]:g}{unit}"
    assert load_s(workload(said), "cpu") == pytest.approx(seconds)


def test_a_conversation_is_all_of_its_turns_with_what_was_said_before() -> None:
    """By hand: prompts of 100, 210 and 320 tokens are 630, three answers of 10 tokens, two pauses of 5 s; two
    conversations one after another. With times of arrival, one more after the last of them."""
    turns = {"kind": "multi_turn", "turns": 3, "input_tokens": 100, "output_tokens": 10, "think": "5s"}
    one = 0.630 + 30 * 0.06 + 10
    closed = {"process": "closed", "concurrency": 1, "requests": 2}
    assert load_s(workload(closed, prompts=turns, endpoint="chat"), "cpu") == pytest.approx(2 * one)
    timed = {"process": "constant", "rate": "1/s", "duration": "20s"}
    assert load_s(workload(timed, prompts=turns, endpoint="chat"), "cpu") == pytest.approx(20 + one)


def test_lengths_are_read_where_they_are_told_and_short_where_not() -> None:
    shared = {
        "kind": "shared_prefix",
        "groups": 1,
        "prefix_tokens": 512,
        "suffix_tokens": 32,
        "output_tokens": 8,
    }
    closed = {"process": "closed", "concurrency": 1, "requests": 1}
    assert lengths_of(workload(closed)) == (64, 32)
    assert lengths_of(workload(closed, prompts=shared)) == (544, 8)
    assert lengths_of(workload(closed, prompts={"kind": "prompt_set", "output_tokens": 40})) == (128, 40)


def test_the_whole_is_every_start_and_every_cell(tmp_path: Path) -> None:
    starts = starts_of(Layout(arms=["a", "b"], workloads=["x"], control="a", repeats=3, seed=1))
    known = Pace({"a": 10.0, "b": 20.0}, {("a", "x"): 1.0, ("b", "x"): 2.0}, ("seen",))
    found = estimate(starts, known)
    assert (found.total_s, found.start_s, found.sources) == (3 * 33.0, 15.0, ("seen",))


def test_a_budget_that_is_too_small_is_told_what_would_fit() -> None:
    layout = Layout(arms=["a", "b"], workloads=["x"], control="a", repeats=4, seed=1)
    starts = starts_of(layout)
    known = Pace({"a": 50.0, "b": 50.0}, {("a", "x"): 10.0, ("b", "x"): 10.0}, ())
    assert what_would_fit(starts, known, 200.0, repeats=4, hold=False).startswith("with hold: true")
    assert what_would_fit(starts, known, 170.0, repeats=4, hold=False) == "with repeats: 1 it takes 2 min"
    assert "leave arms or workloads out" in what_would_fit(starts, known, 60.0, repeats=4, hold=False)
    held = starts_of(Layout(arms=["a", "b"], workloads=["x"], control="a", repeats=4, seed=1, hold=True))
    assert what_would_fit(held, known, 150.0, repeats=4, hold=True) == "with repeats: 2 it takes 2 min 20 s"


def test_what_is_left_is_corrected_by_what_starts_and_cells_really_took() -> None:
    starts = starts_of(Layout(arms=["a"], workloads=["x"], control="a", repeats=3, seed=1))
    left = Remaining(Pace({"a": 60.0}, {("a", "x"): 10.0}, ()))
    cells = [start.cells[0] for start in starts]
    assert left.of(starts, cells) == 210.0
    left.start_took(starts[0], 30.0)
    left.cell_took(cells[0], 20.0)
    assert left.of(starts[1:], cells[1:]) == 2 * 30.0 + 2 * 20.0


def test_a_study_estimates_itself_from_assumptions_and_says_so(tmp_path: Path) -> None:
    _, one = made(tmp_path)
    assert one.design.estimate.total_s > 4 * 60
    assert "assumed 120 s a start" in one.design.estimate.sources[0]
