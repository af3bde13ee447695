import pytest

from loadgen.stats.metrics import METRICS
from loadgen.stats.plan import RunPlan, Slo
from loadgen.stats.sides import Run, hits, latencies, paired_hits, throughput_parts, value

METRIC = {metric.name: metric for metric in METRICS}


def run(records, *, intended=None, slo=None, **plan):
    fields = {"arrival": "constant", "intended": intended, "slo": slo or Slo()}
    return Run(tuple(records), RunPlan(**(fields | plan)))


def test_a_percentile_is_over_the_complete_answers_of_all_runs_of_the_side(record):
    runs = [run([record(10 * i, index=i) for i in range(1, 4)]), run([record(40), record(50), record(60)])]

    assert value(METRIC["ttft.p50"], runs) == pytest.approx(0.035)
    assert value(METRIC["ttft.p50"], runs[:1]) is None
    assert value(METRIC["ttft.p95"], runs) is None


def test_latencies_come_in_the_order_of_the_timetable(record):
    found = latencies(
        METRIC["ttft.p50"], run([record(30, index=2), record(10, index=1), record(index=0, outcome="failed")])
    )

    assert [index for index, _ in found] == [1, 2]
    assert [latency for _, latency in found] == pytest.approx([0.010, 0.030])


def test_requests_that_were_never_sent_failed_and_were_not_good(record):
    side = [run([record(10, index=1), record(90, index=0)], intended=4, slo=Slo(ttft_s=0.050))]

    assert hits(METRIC["goodput"], side[0]) == [0, 1, 0, 0]
    assert hits(METRIC["failed"], side[0]) == [0, 0, 1, 1]
    assert (value(METRIC["goodput"], side), value(METRIC["failed"], side)) == (0.25, 0.5)


def test_requests_are_paired_by_their_place_in_the_timetable(record):
    slo = Slo(ttft_s=0.050)
    a = run([record(10, index=3), record(90, index=1)], intended=4, slo=slo)
    b = run([record(20, index=1), record(30, index=2)], intended=4, slo=slo)

    # Requests 1, 2, 3 and one that neither sent.
    assert paired_hits(METRIC["goodput"], a, b) == ([0, 0, 1, 0], [1, 1, 0, 0])
    assert paired_hits(METRIC["failed"], a, b) == ([0, 1, 0, 1], [0, 0, 1, 1])


def test_a_goodput_without_objectives_is_unknown(record):
    assert paired_hits(METRIC["goodput"], run([record(10)]), run([record(10)])) is None
    assert value(METRIC["goodput"], [run([record(10)])]) is None


def test_throughput_is_that_of_the_steady_parts(record):
    # One user, four answers of 10 tokens one after the other, 100 ms each.
    answers = [record(100 * i + 50, 100 * i + 100, sent=100 * i, output_tokens=10, index=i) for i in range(4)]
    closed = run(answers, arrival="closed", concurrency=1)

    # From 0 to 400 ms; the event at 400 ms itself is outside: 35 tokens.
    assert value(METRIC["output_tokens_per_s"], [closed]) == pytest.approx(35 / 0.4)
    assert sum(throughput_parts([closed])) * 0.4 / 20 == pytest.approx(35)


def test_throughput_is_unknown_where_one_run_has_no_steady_part(record):
    runs = [
        run([record(50, 100, output_tokens=10)], arrival="closed", concurrency=1),
        run([], arrival="closed", concurrency=1),
    ]

    assert value(METRIC["output_tokens_per_s"], runs) is None
