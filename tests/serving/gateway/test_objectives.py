"""What counts for which objective, on outcomes made by hand."""

from __future__ import annotations

import pytest

from serving.gateway.objectives import Objectives, judged
from serving.gateway.outcome import Outcome

S = 1_000_000_000
# A stream: head at 10 s, first byte after 0.2 s, 5 tokens, the last after 1.0 s, so TPOT = 0.8 / 4 = 0.2 s.
STREAM = Outcome(
    request_id="r", path="/v1/chat/completions", kind="ok", status=200, revision="main", backend="http://b",
    streamed=True, accepted_ns=10 * S, upstream_sent_ns=10 * S, first_byte_ns=10 * S + S // 5,
    last_byte_ns=11 * S, ended_ns=11 * S, bytes_in=1, bytes_out=1, tokens_out=5,
)  # fmt: skip
ALL = Objectives(ttft_s=0.2, tpot_s=0.2, e2e_s=1.0)
UNANSWERED = STREAM._replace(first_byte_ns=None, last_byte_ns=None, tokens_out=None)


def verdicts(outcome: Outcome, objectives: Objectives = ALL) -> dict[str, bool]:
    return dict(judged(outcome, objectives))


def test_a_bound_itself_is_still_met() -> None:
    assert verdicts(STREAM) == {"availability": True, "ttft": True, "tpot": True, "e2e": True}


def test_each_objective_is_missed_by_itself() -> None:
    tight = Objectives(ttft_s=0.19, tpot_s=0.19, e2e_s=0.99)
    assert verdicts(STREAM, tight) == {"availability": True, "ttft": False, "tpot": False, "e2e": False}


def test_without_latency_objectives_only_availability_is_judged() -> None:
    assert verdicts(STREAM, Objectives()) == {"availability": True}


@pytest.mark.parametrize("path", ["/v1/models", "/tokenize", "/health/live"])
def test_requests_that_make_no_engine_work_are_not_judged(path: str) -> None:
    assert verdicts(STREAM._replace(path=path)) == {}


def test_answers_thrown_away_are_not_judged() -> None:
    assert verdicts(STREAM._replace(traffic="shadow")) == {}


def test_a_client_that_left_after_longer_than_the_objective_counts_as_too_slow_and_not_as_unavailable() -> (
    None
):
    gone = UNANSWERED._replace(kind="client_gone", status=None, ended_ns=10 * S + S // 2)
    assert verdicts(gone) == {"ttft": False}


def test_a_client_that_left_at_once_says_nothing() -> None:
    gone = UNANSWERED._replace(kind="client_gone", status=None, ended_ns=10 * S + S // 10)
    assert verdicts(gone) == {}


def test_a_failure_at_once_is_unavailable_and_says_nothing_of_speed() -> None:
    failed = UNANSWERED._replace(kind="upstream_error", status=502, ended_ns=10 * S + S // 100)
    assert verdicts(failed) == {"availability": False}


def test_a_time_out_is_unavailable_and_too_slow() -> None:
    timed_out = UNANSWERED._replace(kind="timeout", status=504, ended_ns=40 * S)
    assert verdicts(timed_out) == {"availability": False, "ttft": False, "e2e": False}


def test_a_wrong_request_is_not_held_against_the_service_but_a_full_queue_is() -> None:
    refused = UNANSWERED._replace(kind="rejected", streamed=False, ended_ns=10 * S + S // 1000)
    assert verdicts(refused._replace(status=400)) == {}
    assert verdicts(refused._replace(status=429)) == {}
    assert verdicts(refused._replace(status=503)) == {"availability": False}


def test_an_answer_in_one_piece_has_no_ttft_and_no_tpot() -> None:
    whole = STREAM._replace(streamed=False, first_byte_ns=11 * S)
    assert verdicts(whole) == {"availability": True, "e2e": True}


@pytest.mark.parametrize("tokens", [None, 0, 1])
def test_tpot_needs_two_tokens_that_the_engine_counted(tokens: int | None) -> None:
    assert "tpot" not in verdicts(STREAM._replace(tokens_out=tokens))


def test_targets_are_of_the_objectives_that_there_are() -> None:
    objectives = Objectives(tpot_s=0.05, latency_target_ratio=0.9, availability_target_ratio=0.999)
    assert objectives.targets() == {"availability": 0.999, "tpot": 0.9}
    assert objectives.thresholds_s() == {"tpot": 0.05}
    assert objectives.bounds_s() == (0.05,)
