"""Rows by hand: two arms, three blocks, one workload."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from fakes.studies import FP8, made

from deploy.study.measures import Seen
from deploy.study.rows import CellRow, StartRow
from deploy.study.summarize import arms_of, missing_of, ratios_of, rows_of, values_of

RATES = {"plain": {1: 10.0, 2: 20.0, 3: 30.0}, "fp8": {1: 11.0, 2: 22.0, 3: 33.0}}
TOKENS = {"plain": 93_184, "fp8": 186_368}


@pytest.fixture
def design(tmp_path):
    return made(tmp_path, repeats=3)[1].design


def starts(design):
    return [
        StartRow(
            start=s.number, arm=s.arm, state="ended", began="t", took_s=30.0, kv_cache_tokens=TOKENS[s.arm]
        )
        for s in design.starts
    ]


def cell_row(cell, **more):
    return CellRow(
        cell=cell.id, start=cell.start, arm=cell.arm, block=cell.block, workload=cell.workload, state="done",
        began="t", took_s=9.0, **more,
    )  # fmt: skip


def seen(design, rates=RATES):
    return [
        Seen(cell_row(cell), design.arm(cell.arm), None, {"output_tokens_per_s": rates[cell.arm][cell.block]})
        for cell in design.cells
        if cell.block in rates[cell.arm]
    ]


def row(rows, arm, measure):
    return next(each for each in rows if (each.arm, each.measure) == (arm, measure))


def test_each_measure_has_the_mean_of_its_blocks_with_students_t(design):
    rows = rows_of(values_of(design, starts(design), seen(design)))
    found = row(rows, "plain", "output_tokens_per_s")
    # 10, 20, 30: mean 20, s 10, t(2) = 4.3027, half 4.3027 * 10 / sqrt(3).
    assert found.figure.value == pytest.approx(20.0)
    assert found.figure.high == pytest.approx(20 + 4.302653 * 10 / math.sqrt(3), rel=1e-6)
    assert (found.figure.n, found.figure.unit, found.figure.tag) == (3, "tokens/s", "measured")
    assert found.each == (10.0, 20.0, 30.0)


def test_an_interval_ends_where_no_rate_and_no_share_can_be(design):
    load = {1: (1.0, 0.9), 2: (9.0, 1.0), 3: (2.0, 1.0)}
    told = [
        replace(
            each,
            load={
                "output_tokens_per_s": load[each.cell.block][0],
                "goodput": {"ratio": load[each.cell.block][1]},
            },
        )
        for each in seen(design)
    ]
    rows = rows_of(values_of(design, [], told))
    assert row(rows, "plain", "output_tokens_per_s").figure.low == 0.0
    assert row(rows, "plain", "goodput_ratio").figure.high == 1.0


def test_a_number_leads_back_to_its_cells(design):
    found = row(rows_of(values_of(design, [], seen(design))), "fp8", "output_tokens_per_s")
    wanted = sorted((c for c in design.cells if c.arm == "fp8"), key=lambda c: c.block)
    assert found.figure.cells == tuple(cell.id for cell in wanted)


def test_a_ratio_is_of_the_same_blocks_so_what_a_block_does_to_both_cancels(design):
    values = values_of(design, starts(design), seen(design))
    found = next(r for r in ratios_of(design, values) if r.measure == "output_tokens_per_s")
    assert (found.arm, found.over, found.paired, found.better) == ("fp8", "plain", True, True)
    assert found.figure.value == pytest.approx(1.1)
    assert found.figure.low == pytest.approx(1.1)


def test_a_count_that_all_starts_agree_on_is_exact(design):
    values = values_of(design, starts(design), [])
    found = next(r for r in ratios_of(design, values) if r.measure == "kv_cache_tokens")
    assert (found.figure.value, found.figure.low, found.figure.high) == (2.0, 2.0, 2.0)


def test_one_block_has_no_interval_and_no_better_side(tmp_path):
    design = made(tmp_path, repeats=1)[1].design
    rates = {arm: {1: each[1]} for arm, each in RATES.items()}
    found = next(
        r
        for r in ratios_of(design, values_of(design, [], seen(design, rates)))
        if r.measure == "output_tokens_per_s"
    )
    assert (found.figure.low, found.better) == (None, None)


def test_lower_is_better_for_times(design):
    slow = [
        replace(
            each,
            load={
                "ttft_s": {"mean": {"plain": 1.0, "fp8": 2.0}[each.cell.arm] * (1 + each.cell.block / 100)}
            },
        )
        for each in seen(design)
    ]
    found = next(r for r in ratios_of(design, values_of(design, [], slow)) if r.measure == "ttft_mean_s")
    assert found.better is False


def test_a_block_that_failed_in_one_arm_counts_in_no_ratio(design):
    rates = {**RATES, "fp8": {1: 11.0, 3: 33.0}}
    found = next(
        r
        for r in ratios_of(design, values_of(design, [], seen(design, rates)))
        if r.measure == "output_tokens_per_s"
    )
    assert found.figure.n == 2


def test_an_arm_that_stands_on_another_is_held_against_it_too(tmp_path):
    arms = {"plain": {}, "kv": FP8, "more": {"on": "kv", "engine": {"max_num_seqs": 4}}}
    design = made(tmp_path, arms=arms, repeats=2)[1].design
    rates = {"plain": {1: 1.0, 2: 1.0}, "kv": {1: 2.0, 2: 2.0}, "more": {1: 6.0, 2: 6.0}}
    found = {
        (r.arm, r.over): r.figure.value for r in ratios_of(design, values_of(design, [], seen(design, rates)))
    }
    assert found == {
        ("kv", "plain"): pytest.approx(2.0),
        ("more", "plain"): pytest.approx(6.0),
        ("more", "kv"): pytest.approx(3.0),
    }


def test_weights_that_no_engine_tells_are_the_planners_and_tagged_so(design):
    found = row(rows_of(values_of(design, starts(design), [])), "plain", "weights_bytes")
    assert found.figure.tag == "projected"


def test_what_is_missing_is_told_with_its_reason(tmp_path):
    arms = {"plain": {}, "tensor": {"modes": [{"kind": "parallel", "tensor": 2}]}, "fp8": FP8}
    design = made(tmp_path, arms=arms, repeats=1)[1].design
    fp8 = next(start for start in design.starts if start.arm == "fp8")
    failed = StartRow(
        start=fp8.number, arm="fp8", state="failed", began="t", error="not in effect", log_tail=("last",)
    )
    found = list(missing_of(design, [failed], []))
    assert (found[0].what, found[0].arm) == ("arm", "tensor")
    assert found[0].reason.startswith("not started: ")
    start = next(each for each in found if each.what == "start")
    assert (start.reason, start.log_tail) == ("not in effect", ("last",))
    assert next(each for each in found if each.what == "cell").reason == "not reached"


def test_what_became_of_each_arm_is_one_word_and_a_reason(tmp_path):
    arms = {"plain": {}, "tensor": {"modes": [{"kind": "parallel", "tensor": 2}]}, "fp8": FP8}
    design = made(tmp_path, arms=arms, repeats=2)[1].design
    life = [StartRow(start=s.number, arm=s.arm, state="ended", began="t") for s in design.starts]
    done = [cell_row(cell) for cell in design.cells if cell.arm == "plain"]
    half = [cell_row(cell) for cell in design.cells if cell.arm == "fp8"][:1]
    states = {arm.name: arm.state for arm in arms_of(design, life, [*done, *half])}
    assert states == {"plain": "done", "tensor": "ruled out", "fp8": "partly"}
    assert {a.name: a.state for a in arms_of(design, [], [])}["plain"] == "not reached"
    wrong = [replace(row, state="failed", error="no answer") for row in half]
    found = next(arm for arm in arms_of(design, life, wrong) if arm.name == "fp8")
    assert (found.state, found.reason) == ("failed", "no answer")
