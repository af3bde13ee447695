from loadgen.report.table import table
from loadgen.stats.plan import RunPlan
from loadgen.stats.summarize import summarize

EXPECTED = """\
                    unit        n       mean        p50        p95        p99
TTFT                  ms       99      40.00      40.00      40.00          -
TTFT from intended    ms       99      40.00      40.00      40.00          -
TPOT                  ms       99      10.00      10.00      10.00          -
ITL                   ms      198      10.00      10.00      10.00          -
E2E                   ms       99      60.00      60.00      60.00          -
- n too small for a 95 % interval: p99 needs 473

requests    100 intended, 100 sent, 99 ok, 1 failed, 0 cut
rate        10.0/s asked, 10.0/s in the timetable, 10.0/s sent; lag p50 0.00 ms, max 0.00 ms
goodput     99.0 % of the intended requests (95 % interval 94.6 % to 99.8 %), 9.94/s
              99.0 % TTFT <= 50 ms
              99.0 % TPOT <= 20 ms
throughput  9.94 requests/s, 29.8 output tokens/s over 9.960 s, 1.00 tokens per chunk
server      TTFT mean 38.00 ms by its own account, client minus server 2.00 ms
error       1 x <script>alert('no')</script>

valid       yes
note        ITL equals the inter-chunk gap: the server did not tell tokens by event"""


def test_the_table_is_this(summary):
    assert table(summary) == EXPECTED


def test_no_line_is_wider_than_100_columns(records, plan, answer):
    long = answer(100, outcome="failed", error="word " * 200)
    text = table(summarize([*records, long], plan=plan))

    assert max(map(len, text.splitlines())) <= 100


def test_an_invalid_run_says_so_with_every_reason(records, plan):
    text = table(summarize(records[:50], plan=plan))

    assert "valid       NO, do not use these numbers" in text
    assert "            - 50 of 100 intended requests were sent: off by more than 2%" in text


def test_a_closed_loop_has_no_row_from_intended_and_no_asked_rate(answer):
    plan = RunPlan(arrival="closed", intended=None, duration_s=1.0, concurrency=2)

    text = table(summarize([answer(i, t_intended_ns=None) for i in range(10)], plan=plan))

    assert "TTFT from intended" not in text
    assert "rate        closed loop of 2, 10.0/s sent" in text
    assert "goodput     no SLO was given" in text


def test_an_empty_run_has_dashes_and_names_what_each_percentile_needs():
    text = table(summarize([], plan=RunPlan(arrival="closed", intended=None)))

    assert "TTFT                  ms        0          -          -          -          -" in text
    assert "p50 needs 6, p95 needs 93, p99 needs 473" in text


def test_an_error_text_cannot_move_the_cursor_or_break_the_line(records, plan, answer):
    evil = answer(100, outcome="failed", error="one\ntwo\x1b[2Jthree")

    text = table(summarize([*records, evil], plan=plan))

    assert "\x1b" not in text
    assert "1 x one two [2Jthree" in text
