"""A chart finds the arms, figures and settings that it asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.study_page import ARMS, OTHER, SMALL, an_arm, design, ngram, summary

from deploy.study.report.view import Shape, Spec, View, devices, spec


def test_arms_that_are_ruled_out_are_not_looked_at_and_models_can_be_told_apart(view):
    assert [arm.name for arm in view.arms()] == [
        *("plain", "fp8-kv", "stacked", "ngram-2", "ngram-4", "other", "broken")
    ]
    assert view.models() == (SMALL, OTHER)
    assert [arm.name for arm in view.only(OTHER).arms()] == ["other"]


def test_the_control_has_a_look_of_its_own_and_every_other_arm_another(view):
    looks = {arm.name: view.look(arm.name) for arm in ARMS}
    assert looks["plain"] == 0
    assert sorted(looks.values()) == list(range(8))


def test_a_closed_workload_of_fixed_lengths_has_a_shape(view):
    assert view.shape("chat-4") == Shape(4, 128, 64)


def test_a_workload_without_a_fixed_number_of_users_or_lengths_has_none():
    poisson = {
        "arrival": {"process": "poisson", "rate": 4.0},
        "prompts": {"input_tokens": 1, "output_tokens": 1},
    }
    drawn = {
        "arrival": {"process": "closed", "concurrency": 4},
        "prompts": {"input_tokens": {"median": 3}, "output_tokens": 1},
    }
    made = View(design=design(workloads={"a": poisson, "b": drawn}), summary=summary())
    assert made.shape("a") is made.shape("b") is None


def test_workloads_that_differ_only_in_users_are_one_sweep(view):
    assert list(view.batches()) == [
        ("128 tokens in, 64 out", ((1, "chat-1"), (4, "chat-4"), (16, "chat-16"))),
        ("300 tokens in, 64 out", ((1, "code"),)),
    ]


def test_an_arm_speculates_by_its_mode_and_its_drafted_tokens():
    assert spec(an_arm("a", ngram(3), drafted_tokens=3)) == Spec("ngram", 3)
    draft = {"kind": "speculative", "method": "draft_model", "tokens": 2}
    assert spec(an_arm("a", draft, drafted_tokens=2)) == Spec("draft model", 2)
    assert spec(an_arm("a")) is None


@pytest.mark.parametrize(
    ("modes", "more", "count"),
    [
        ((), {}, 1),
        ((), {"replicas": 3}, 3),
        (({"kind": "parallel", "tensor": 2, "pipeline": 2, "data": 1},), {"replicas": 2}, 8),
        (({"kind": "disaggregated", "prefill": 1, "decode": 2},), {}, 3),
        (({"kind": "parallel", "tensor": 2}, {"kind": "disaggregated", "prefill": 1, "decode": 1}), {}, 4),
    ],
)
def test_devices_are_ranks_of_all_copies(modes, more, count):
    assert devices(an_arm("a", deployment={"modes": list(modes), **more})) == count


def test_the_quality_of_an_arm_is_found_by_its_name(view):
    assert view.quality("stacked")["arm"] == "stacked"
    assert view.quality("ngram-2") is None


def test_the_whole_study_has_every_model():
    assert replace(View(design=design(), summary=summary()), model=None).models() == (SMALL, OTHER)
