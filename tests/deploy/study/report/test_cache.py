"""The charts of the KV cache, from a study with known bytes a token."""

from __future__ import annotations

import math

from fakes.study_page import an_arm, design, summary

from deploy.study.report.cache import CHARTS
from deploy.study.report.view import View
from deploy.study.rows import Planned

DRAW = {chart.id: chart.draw for chart in CHARTS}


def test_what_the_cache_holds_is_what_the_engine_said(view):
    drawn = DRAW["kv-capacity"](view)
    assert [(line[0], line[3]) for line in drawn.rows][:2] == [
        ("plain", "93,184 tokens"),
        ("fp8-kv", "186,368 tokens"),
    ]


def test_arms_that_cost_the_same_a_token_share_a_line(view):
    drawn = DRAW["kv-by-context"](view)
    lines = {line[0] for line in drawn.rows if line[3] == "projected"}
    assert lines == {"plain, ngram-2, ngram-4 and 2 more", "fp8-kv, stacked"}


def test_the_line_is_bytes_a_token_times_the_tokens(view):
    """1,024 tokens of 46,080 bytes are 45 MiB."""
    rows = DRAW["kv-by-context"](view).rows
    assert ("plain, ngram-2, ngram-4 and 2 more", "1,024", "45 MiB", "projected") in rows


def test_a_measured_point_stands_at_the_tokens_its_requests_hold_at_most(view):
    """16 users of 128 + 64 tokens."""
    rows = DRAW["kv-by-context"](view).rows
    assert ("plain, chat-16, 16 users", "3,072", "160 MiB", "measured") in rows


def test_the_crossing_is_weights_over_bytes_a_token(view):
    """256 MiB / 46,080 B = 5,825.4; of the measured 256 MiB / 23,040 B = 11,650.8."""
    assert 256 * 1024**2 / 46_080 == 5825.422222222222
    drawn = DRAW["kv-overtakes"](view)
    assert [line[:3] for line in drawn.rows] == [
        ("plain, ngram-2, ngram-4 and 2 more", "5,825", "256 MiB"),
        ("fp8-kv, stacked", "11,651", "256 MiB"),
    ]


def test_beyond_the_longest_context_held_the_line_is_projected(view, said):
    drawn = DRAW["kv-overtakes"](view)
    assert 'class="series look0"' in drawn.body
    assert 'class="series look0 dashed"' in drawn.body
    assert any(tip.endswith("where it is as large as the weights") for tip in said(drawn.body))


def test_a_model_that_the_planner_does_not_know_has_no_line():
    made = View(design=design(arms=(an_arm("plain", planned=Planned()),)), summary=summary())
    assert DRAW["kv-by-context"](made) is DRAW["kv-overtakes"](made) is None


def test_doublings_of_the_context_are_evenly_apart(view, places):
    found = places(DRAW["kv-overtakes"](view).body)
    first, second, third = (left for left, _ in found[:3])
    assert math.isclose(second - first, third - second, abs_tol=0.02)
