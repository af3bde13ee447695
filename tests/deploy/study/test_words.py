from __future__ import annotations

from dataclasses import replace

from fakes.study_summaries import figure, summary

from deploy.study.results import Prediction, Row
from deploy.study.words import percent, times, words


def test_each_lever_is_a_sentence_with_before_after_and_what_was_predicted():
    assert words(summary()) == (
        "fp8 doubled capacity: 93,184 -> 186,368 tokens; predicted 2.00x (projected): it held.",
        "fp8 under chat: output tokens/s 1.10x [1.02, 1.19], better; predicted 1.50x (calibrated): it was off"
        " by -27 %.",
        "tensor-2: not started: 9 heads.",
        "1 cell missing: 009-fp8-chat (not reached).",
    )


def test_a_change_that_chance_could_make_is_called_that():
    one = summary()
    told = [replace(r, better=None) if r.measure == "output_tokens_per_s" else r for r in one.ratios]
    said = words(replace(one, ratios=tuple(told)))
    assert any("1.10x [1.02, 1.19] (not told from chance)" in each for each in said)


def test_a_latency_that_did_not_change_is_not_spoken_of_and_one_that_did_is():
    one = summary()
    assert not any("TTFT" in each for each in words(one))
    told = [replace(r, better=False) if r.measure == "ttft_p50_s" else r for r in one.ratios]
    assert any(
        "TTFT p50 1.01x [0.90, 1.10], worse." in each for each in words(replace(one, ratios=tuple(told)))
    )


def test_an_arm_of_a_stack_tells_what_it_adds_to_the_arm_below_it():
    one = summary()
    arms = (*one.arms[:2], replace(one.arms[1], name="more", on="fp8"))
    above = replace(one.ratios[1], arm="more", over="fp8", figure=figure(1.3, 1.2, 1.4))
    said = words(replace(one, arms=arms, ratios=(*one.ratios, above)))
    assert "more under chat, over fp8 alone: output tokens/s 1.30x [1.20, 1.40], better." in said


def test_a_prediction_that_failed_is_told_whatever_it_is_of():
    one = summary()
    wrong = replace(one.predictions[1], measure="tpot_mean_s", predicted=0.67, error_ratio=0.64)
    said = words(replace(one, predictions=(wrong,)))
    assert (
        "fp8 under chat: TPOT mean 1.10x [1.02, 1.19]; predicted 0.67x (calibrated): it was off by +64 %."
        in said
    )


def test_an_interval_that_holds_the_prediction_and_no_effect_decides_nothing():
    one = summary()
    wide = replace(one.predictions[1], measured=figure(1.1, 0.5, 2.4), held=True)
    told = replace(one.ratios[1], better=True)
    said = words(replace(one, predictions=(wide,), ratios=(told,)))
    assert any("predicted 1.50x (calibrated): not contradicted, nor is no effect." in each for each in said)


def test_one_repeat_is_said_to_be_one():
    one = summary()
    told = [replace(r, figure=figure(1.1), better=None) for r in one.ratios if r.workload]
    assert any("1.10x (one repeat: no interval)" in each for each in words(replace(one, ratios=tuple(told))))


def test_acceptance_is_told_with_tokens_a_pass():
    more = (
        Row(arm="fp8", workload="chat", measure="acceptance_ratio", figure=figure(0.59, 0.55, 0.62, "ratio")),
        Row(arm="fp8", workload="chat", measure="tokens_per_pass", figure=figure(2.345, 2.2, 2.5, "tokens")),
    )
    said = words(replace(summary(), rows=(*summary().rows, *more)))
    assert "fp8 under chat: 59 % [55, 62] of drafted tokens accepted, 2.35 tokens a pass." in said


def test_quality_is_told_beside_the_control_itself():
    row = {
        "arm": "fp8",
        "against": {
            "perplexity_ratio": {"value": 1.004, "low": 1.001, "high": 1.007},
            "exact_match": {"value": 0.91, "low": 0.84, "high": 0.95},
        },
        "itself": {"exact_match": {"value": 0.97, "low": 0.9, "high": 0.99}},
    }
    said = words(replace(summary(), quality=(row,)))
    matched = "greedy answers matched in 91 % [84, 95] against 97 % in the control."
    assert f"fp8: perplexity 1.004x [1.001, 1.007]; {matched}" in said


def test_more_users_are_told_within_their_arm():
    one = Prediction(
        arm="plain", over="plain", workload="users-8", over_workload="users-1", measure="output_tokens_per_s",
        predicted=7.0, measured=figure(3.5, 3.0, 4.0), tag="projected", formula="f", error_ratio=-0.5,
        held=False,
    )  # fmt: skip
    said = words(replace(summary(), predictions=(one,)))
    gave = "plain: users-8 gave 3.50x [3.00, 4.00] the output of users-1"
    assert f"{gave}; predicted 7.00x (projected): it was off by -50 %." in said


def test_numbers_are_shown_with_their_interval_where_they_have_one():
    assert times(figure(1.318, 1.2, 1.449)) == "1.32x [1.20, 1.45]"
    assert times(figure(1.318)) == "1.32x"
    assert percent(figure(0.5)) == "50 %"
