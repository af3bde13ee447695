import pytest

from loadgen.stats.goodput import goodput, is_good, verdicts
from loadgen.stats.plan import Slo

BOTH = Slo(ttft_s=0.050, tpot_s=0.015)


def test_a_good_request_meets_every_objective(record):
    assert is_good(record(40, 50, 60, output_tokens=3), BOTH)


def test_a_limit_that_is_just_reached_is_met(record):
    assert verdicts(record(50, 65, output_tokens=2), BOTH) == {"ttft": True, "tpot": True}


@pytest.mark.parametrize(
    ("output", "missed"), [((60, 70, 80), "ttft"), ((40, 60, 80), "tpot")], ids=["late", "slow"]
)
def test_one_missed_objective_is_enough_to_be_bad(record, output, missed):
    answer = record(*output, output_tokens=3)

    assert not is_good(answer, BOTH)
    assert verdicts(answer, BOTH)[missed] is False


def test_e2e_can_be_an_objective(record):
    assert is_good(record(40, 80, output_tokens=2), Slo(e2e_s=0.080))
    assert not is_good(record(40, 81, output_tokens=2), Slo(e2e_s=0.080))


def test_a_one_token_answer_is_judged_by_the_other_objectives(record):
    # vLLM's bench has TPOT 0 here and passes it.
    assert is_good(record(40, output_tokens=1), BOTH)
    assert not is_good(record(60, output_tokens=1), BOTH)


def test_a_one_token_answer_is_not_good_where_tpot_is_the_only_objective(record):
    found = goodput([record(40, output_tokens=1)], intended=1, slo=Slo(tpot_s=0.015))

    assert (found.good, found.intended) == (0, 1)
    assert found.by_slo["tpot"].as_dict() == {
        "limit_s": 0.015,
        "met": 0,
        "tested": 0,
        "undefined": 1,
        "ratio": None,
    }


@pytest.mark.parametrize("outcome", ["failed", "cut"])
def test_a_request_that_did_not_complete_meets_nothing_however_early_it_began(record, outcome):
    broken = record(10, 20, output_tokens=2, outcome=outcome)

    assert verdicts(broken, BOTH) == {"ttft": False, "tpot": False}
    assert not is_good(broken, BOTH)


def test_a_one_token_answer_that_failed_is_no_undefined_tpot(record):
    assert verdicts(record(10, output_tokens=1, outcome="failed"), BOTH)["tpot"] is False


def test_an_answer_without_a_token_count_does_not_pass_tpot(record):
    assert verdicts(record(10, 20), BOTH)["tpot"] is False


def test_failed_cut_and_never_sent_requests_are_in_the_denominator(record):
    records = [
        record(40, 50, output_tokens=2),
        record(40, 50, output_tokens=2, outcome="failed"),
        record(40, 50, output_tokens=2, outcome="cut"),
    ]

    found = goodput(records, intended=4, slo=BOTH).as_dict(window_s=2.0)

    assert found["ratio"] == 1 / 4
    assert found["good"] == 1
    assert found["requests_per_s"] == 0.5
    assert found["by_slo"]["ttft"] == {"limit_s": 0.05, "met": 1, "tested": 4, "undefined": 0, "ratio": 0.25}


def test_the_ratio_has_wilsons_interval(record):
    # 0 of 20: 0 to 0.1611 (Newcombe 1998).
    found = goodput([record(60, 70, output_tokens=2)] * 20, intended=20, slo=BOTH).as_dict(window_s=1.0)

    assert found["ratio"] == 0.0
    assert found["ci95"] == pytest.approx([0.0, 0.1611], abs=5e-5)


def test_without_objectives_nothing_is_good_or_bad(record):
    found = goodput([record(40, 50, output_tokens=2)], intended=1, slo=Slo()).as_dict(window_s=1.0)

    assert found.pop("by_slo") == {}
    assert set(found.values()) == {None}


def test_good_tokens_are_those_of_the_good_requests_only(record):
    records = [
        record(40, 50, 60, output_tokens=3),
        record(40, 50, output_tokens=2),
        record(90, 95, output_tokens=7),
        record(40, 50, output_tokens=9, outcome="failed"),
    ]

    found = goodput(records, intended=4, slo=BOTH).as_dict(window_s=2.0)

    assert (found["good"], found["output_tokens_per_s"]) == (2, 2.5)


def test_good_tokens_are_unknown_where_a_good_answer_is_uncounted(record):
    found = goodput([record(40, 50)], intended=1, slo=Slo(ttft_s=0.050)).as_dict(window_s=2.0)

    assert (found["good"], found["output_tokens_per_s"]) == (1, None)


def test_nothing_intended_gives_no_ratio():
    assert goodput([], intended=0, slo=BOTH).as_dict(window_s=None)["ratio"] is None
