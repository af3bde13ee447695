"""The charts of load, from a study with known speeds at 1, 4 and 16 users."""

from __future__ import annotations

import pytest
from fakes.study_page import WORKLOADS, an_arm, design, figure, row, summary

from deploy.study.report.batch import CHARTS
from deploy.study.report.view import View

DRAW = {chart.id: chart.draw for chart in CHARTS}


def test_throughput_of_all_users_and_of_each_stand_apart(view, said):
    tips = said(DRAW["throughput-by-batch"](view).body)
    assert (
        "plain, 16 users: output tokens/s, all users 120 tok/s [117.6 tok/s, 122.4 tok/s], n = 3, measured"
        in tips
    )
    # 120 / 16 x 1.1, written in the study.
    assert any(tip.startswith("plain, 16 users: output tokens/s, each user 8.25 tok/s") for tip in tips)


def test_one_number_of_users_is_no_sweep():
    made = View(design=design(workloads={"code": WORKLOADS["code"]}), summary=summary())
    assert DRAW["throughput-by-batch"](made) is DRAW["memory-by-batch"](made) is None


def test_memory_is_weights_and_cache_in_use_and_what_is_reserved_is_a_line(view):
    """256 + 160 MiB in use; 256 + 1,024 MiB reserved, and 150 + 1,024 in the arm with smaller weights."""
    drawn = DRAW["memory-by-batch"](view)
    assert (
        "plain",
        "chat-16",
        "weights + KV in use",
        "416 MiB",
        "[408 MiB, 424 MiB]",
        "3",
        "measured",
    ) in drawn.rows
    assert "reserved: plain, fp8-kv" in drawn.body
    assert "reserved: stacked" in drawn.body


def test_a_device_has_its_part_of_the_throughput_and_a_user_what_tpot_says(said):
    pair = {"kind": "disaggregated", "prefill": 1, "decode": 1}
    arms = (an_arm("plain"), an_arm("pair", pair))
    rows = [
        row(arm, workload, measure, figure(value, "tokens/s"))
        for arm, workload, whole, each in (
            ("plain", "chat-1", 20, 22), ("pair", "chat-1", 30, 33), ("pair", "chat-4", 80, 25),
        )
        for measure, value in (("output_tokens_per_s", whole), ("tokens_per_s_per_user", each))
    ]  # fmt: skip
    drawn = DRAW["device-user"](View(design=design(arms=arms), summary=summary(rows=tuple(rows))))
    assert said(drawn.body) == [
        "plain, 1 user: 20 tok/s a device, 22 tok/s a user, n = 3, measured",
        "pair, 1 user: 15 tok/s a device, 33 tok/s a user, n = 3, measured",
        "pair, 4 users: 40 tok/s a device, 25 tok/s a user, n = 3, measured",
    ]
    assert "pair (2)" in drawn.body


@pytest.mark.parametrize("chart", list(DRAW))
def test_open_loads_have_none_of_these_charts(chart):
    poisson = {"chat-1": {"arrival": {"process": "poisson", "rate": 1.0}, "prompts": {}}}
    assert DRAW[chart](View(design=design(workloads=poisson), summary=summary())) is None
