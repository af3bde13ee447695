from inspect import isfunction
from pathlib import Path

import pytest

from loadgen.stats import definitions as d


def test_ttft_runs_from_sent_to_the_first_output_event(record):
    assert d.ttft_s(record(130, 150, sent=100, intended=60)) == pytest.approx(0.030)


def test_ttft_from_intended_counts_the_wait_in_the_client(record):
    # The case of vllm #54101 in small: 30 ms from sent hide 70 ms from intended.
    assert d.ttft_from_intended_s(record(130, 150, sent=100, intended=60)) == pytest.approx(0.070)


def test_ttft_from_intended_is_undefined_in_a_closed_loop(record):
    assert d.ttft_from_intended_s(record(130, sent=100)) is None


def test_nothing_is_zero_when_no_output_event_came(record):
    silent = record(sent=100, end=400, output_tokens=1)

    assert (d.ttft_s(silent), d.ttft_from_intended_s(silent), d.e2e_s(silent), d.tpot_s(silent)) == (
        None,
    ) * 4
    assert d.ttfo_s(silent) is None
    assert d.tokens_per_chunk(silent) is None
    assert d.inter_chunk_gaps_s(silent) == d.itl_gaps_s(silent) == ()


def test_reasoning_starts_ttft_and_visible_content_starts_ttfo(record):
    thinking = record(120, 140, 200, sent=100, t_first_visible_ns=200_000_000)

    assert d.ttft_s(thinking) == pytest.approx(0.020)
    assert d.ttfo_s(thinking) == pytest.approx(0.100)


def test_e2e_ends_at_the_last_output_event_and_not_at_the_closing_usage_event(record):
    assert d.e2e_s(record(130, 180, sent=100, end=260)) == pytest.approx(0.080)


def test_tpot_divides_by_the_tokens_after_the_first_event(record):
    # 4 tokens in 4 events, 30 ms between the first and the last: 30 / (4 - 1) = 10 ms.
    assert d.tpot_s(record(100, 110, 120, 130, output_tokens=4)) == pytest.approx(0.010)


def test_tpot_takes_the_tokens_of_a_fat_first_event_out(record):
    # Speculation: 3 + 2 + 1 tokens. 30 / (6 - 3) = 10 ms; with k_first = 1 it would be 6 ms.
    fat = record(100, 115, 130, output_tokens=6, output_tokens_by_event=(3, 2, 1))

    assert d.tpot_s(fat) == pytest.approx(0.010)


def test_tpot_counts_tokens_and_not_chunks(record):
    # 9 tokens in 3 chunks: 40 / (9 - 1) = 5 ms, where chunks would give 20 ms.
    assert d.tpot_s(record(100, 120, 140, output_tokens=9)) == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("output", "tokens", "by_event"),
    [
        pytest.param((100,), 1, (), id="one token"),
        pytest.param((100,), 5, (), id="all tokens in one event, told or not"),
        pytest.param((100,), 5, (5,), id="all tokens in one event that tells"),
        pytest.param((100, 100), 5, (), id="all events in one read"),
        pytest.param((100, 120), 1, (), id="a second event without a token"),
        pytest.param((100, 120), 3, (3, 0), id="all tokens in the first event"),
    ],
)
def test_tpot_is_undefined_and_never_zero(record, output, tokens, by_event):
    answer = record(*output, output_tokens=tokens, output_tokens_by_event=by_event)

    assert d.tpot_s(answer) is None
    assert d.tpot_is_undefined(answer)


def test_tpot_is_unknown_rather_than_undefined_without_a_token_count(record):
    uncounted = record(100, 110, 120)

    assert d.tpot_s(uncounted) is None
    assert not d.tpot_is_undefined(uncounted)


def test_inter_chunk_gaps_are_raw_whatever_the_tokens(record):
    answer = record(100, 130, 150, output_tokens=6, output_tokens_by_event=(1, 3, 2))

    assert d.inter_chunk_gaps_s(answer) == pytest.approx((0.030, 0.020))


def test_itl_shares_a_gap_among_its_tokens_and_counts_it_once_for_each(record):
    answer = record(100, 130, 150, output_tokens=6, output_tokens_by_event=(1, 3, 2))

    assert d.itl_gaps_s(answer) == pytest.approx((0.010, 0.010, 0.010, 0.010, 0.010))


def test_itl_adds_the_gap_before_an_empty_event_to_the_next_token(record):
    answer = record(100, 110, 130, output_tokens=2, output_tokens_by_event=(1, 0, 1))

    assert d.itl_gaps_s(answer) == pytest.approx((0.030,))


def test_itl_equals_the_inter_chunk_gaps_where_tokens_by_event_are_unknown_and_says_so(record):
    answer = record(100, 130, 150, output_tokens=6)

    assert d.itl_gaps_s(answer) == pytest.approx((0.030, 0.020))
    assert not d.has_tokens_by_event(answer)


def test_tokens_by_event_that_do_not_match_the_events_are_not_trusted(record):
    answer = record(100, 130, 150, output_tokens=6, output_tokens_by_event=(4, 2))

    assert not d.has_tokens_by_event(answer)
    assert d.tpot_s(answer) == pytest.approx(0.010)


def test_tokens_per_chunk_is_tokens_by_output_events(record):
    assert d.tokens_per_chunk(record(100, 110, 120, 130, output_tokens=10)) == pytest.approx(2.5)


def test_schedule_lag_is_sent_minus_intended_and_may_be_early(record):
    assert d.schedule_lag_s(record(130, sent=103, intended=100)) == pytest.approx(0.003)
    assert d.schedule_lag_s(record(130, sent=99, intended=100)) == pytest.approx(-0.001)
    assert d.schedule_lag_s(record(130, sent=103)) is None


def test_the_documentation_names_every_definition():
    text = (Path(__file__).parents[3] / "docs" / "measurement.md").read_text(encoding="utf-8")
    functions = [
        name for name, value in vars(d).items() if isfunction(value) and value.__module__ == d.__name__
    ]
    public = [name for name in functions if not name.startswith("_")]

    assert len(public) == 11
    assert [name for name in public if f"`{name}`" not in text] == []
