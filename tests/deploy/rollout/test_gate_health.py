"""The canary's own engines: what fails it at once."""

from __future__ import annotations

import pytest
from fakes.canaries import asked, evidence, healthy

from deploy.rollout.evidence import Quality, Standing
from deploy.rollout.finding import Asked
from deploy.rollout.gate_health import failures, memory, modes, quality, ready

GIB = 1024**3


def of(**other: object) -> Asked:
    return asked(evidence(health=healthy(**other)))


@pytest.mark.parametrize(("count", "answer"), [(0.0, "PASS"), (1.0, "FAIL"), (None, "INCONCLUSIVE")])
def test_one_failure_of_an_engine_is_enough(count: float | None, answer: str) -> None:
    assert failures(of(failures=count)).answer == answer


@pytest.mark.parametrize(
    ("count", "answer"), [(2, "PASS"), (3, "PASS"), (1, "INCONCLUSIVE"), (0, "FAIL"), (None, "INCONCLUSIVE")]
)
def test_without_a_ready_engine_it_fails_and_with_some_it_waits(count: int | None, answer: str) -> None:
    found = ready(of(ready=count))
    assert found.answer == answer
    assert count is None or found.why == f"{count} of its 2 engines are ready"


def test_of_several_engines_the_one_that_is_not_well_is_named() -> None:
    unwell = {"http://b": "failed 2 times and is not ready"}
    assert failures(of(failures=2.0, unwell=unwell)).why == (
        "its engines failed 2 times since they were started (http://b failed 2 times and is not ready)"
    )
    assert ready(of(ready=1, unwell=unwell)).why == (
        "1 of its 2 engines are ready (http://b failed 2 times and is not ready)"
    )


@pytest.mark.parametrize(
    ("told", "answer", "why"),
    [
        ({"lora": True, "prefix_cache": True}, "PASS", "in effect: lora, prefix_cache"),
        ({"lora": None, "prefix_cache": False}, "FAIL", "not in effect: prefix_cache"),
        ({"lora": None, "prefix_cache": True}, "INCONCLUSIVE", "not known to be in effect: lora"),
        ({}, "NOT JUDGED", "it asks for no mode"),
    ],
)
def test_a_mode_that_is_not_in_effect_fails_it(told: dict[str, bool | None], answer: str, why: str) -> None:
    found = modes(of(modes=told))
    assert (found.answer, found.why) == (answer, why)


def test_memory_that_grows_in_every_quarter_is_a_leak() -> None:
    found = memory(of(memory_bytes={"http://e": [GIB * (1 + 0.004 * k) for k in range(20)]}))
    assert found.answer == "FAIL"
    assert (
        found.why == "memory of http://e went from 1 GiB to 1.08 GiB, and grew in every quarter of the window"
    )


def test_memory_that_fills_up_and_stays_is_none() -> None:
    filling = [GIB * (1 + 0.2 * (1 - 0.5**k)) for k in range(20)]
    assert memory(of(memory_bytes={"http://e": filling})).answer == "PASS"


def test_memory_that_grows_less_than_the_gate_is_none() -> None:
    assert memory(of(memory_bytes={"http://e": [GIB * (1 + 0.002 * k) for k in range(20)]})).answer == "PASS"


def test_one_engine_of_two_that_leaks_is_enough() -> None:
    leaking, other = [GIB * (1 + 0.004 * k) for k in range(20)], [float(GIB)] * 20
    assert memory(of(memory_bytes={"http://a": other, "http://b": leaking})).answer == "FAIL"


def test_memory_that_was_hardly_read_says_nothing_yet() -> None:
    found = memory(of(memory_bytes={"http://a": [1e9] * 7, "http://b": [1e9] * 20}))
    assert (found.answer, found.why) == ("INCONCLUSIVE", "memory was read 7 times of 8 needed")
    assert memory(of(memory_bytes={})).answer == "NOT JUDGED"


@pytest.mark.parametrize(
    ("told", "answer"), [("pass", "PASS"), ("fail", "FAIL"), ("inconclusive", "INCONCLUSIVE")]
)
def test_the_comparison_of_answers_is_taken_as_it_is(told: Standing, answer: str) -> None:
    found = quality(asked(evidence(quality=Quality(told, ("perplexity ratio 1.4", "and more")))))
    assert (found.answer, found.why) == (answer, "perplexity ratio 1.4; and more")


def test_answers_that_had_to_be_compared_and_were_not_are_no_pass() -> None:
    assert quality(asked(evidence(quality=None))).answer == "INCONCLUSIVE"
    assert quality(asked(evidence(quality=None), quality=False)).answer == "NOT JUDGED"
