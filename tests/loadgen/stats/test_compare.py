"""Sides of which it is known whether they differ: latencies are drawn, not measured."""

import math
import random

import pytest

from loadgen.records import RequestRecord
from loadgen.stats.compare import Change, Settings, compare, overall
from loadgen.stats.metrics import DEFAULT, METRICS, chosen
from loadgen.stats.plan import RunPlan, Slo
from loadgen.stats.sides import Run

PLAN = RunPlan(arrival="constant", intended=None, slo=Slo(ttft_s=0.150))
FEW = chosen(("ttft.p50", "tpot.p50", "e2e.p95", "goodput", "failed"), {})


def drawn(n, seed, *, slow=1.0, alike=0.0, between_runs=0.0):
    """Answers to the same n prompts: lognormal TTFT and TPOT, neighbours `alike` by an AR(1) process."""
    rng, prompts = random.Random(f"{seed}"), random.Random(1)
    factor = slow * math.exp(rng.gauss(0, between_runs))
    records, noise = [], rng.gauss(0, 1)
    for index in range(n):
        noise = alike * noise + math.sqrt(1 - alike**2) * rng.gauss(0, 1)
        ttft = 0.1 * factor * prompts.lognormvariate(0, 0.3) * math.exp(0.3 * noise)
        tpot = 0.02 * factor * math.exp(0.1 * rng.gauss(0, 1))
        sent = index * 250_000_000
        first, last = (sent + round(seconds * 1e9) for seconds in (ttft, ttft + 32 * tpot))
        records.append(
            RequestRecord(
                index, "measure", "any", "ok", sent, sent, last, output_ns=(first, last), output_tokens=33
            )
        )
    return Run(tuple(records), PLAN)


def verdict(a, b, *, metrics=FEW, resamples=400, **other):
    return overall(compare(a, b, Settings(metrics=metrics, resamples=resamples, **other)))


def share_of(wanted, *, times, n, runs=1, slow=1.0, **noise):
    found = [
        verdict(
            [drawn(n, f"a{i}-{r}", **noise) for r in range(runs)],
            [drawn(n, f"b{i}-{r}", slow=slow, **noise) for r in range(runs)],
        )
        for i in range(times)
    ]
    return found.count(wanted) / times


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.6])
def test_two_equal_sides_are_a_regression_in_at_most_one_comparison_of_twenty(alike):
    # 5 % of 40 is 2; P(more than 5) is below 2 % then.
    assert share_of("regression", times=40, n=120, alike=alike) <= 5 / 40


@pytest.mark.slow
def test_repeated_runs_that_differ_from_each_other_are_no_regression():
    assert share_of("regression", times=40, n=60, runs=3, between_runs=0.05) <= 5 / 40


@pytest.mark.slow
def test_a_slow_down_of_20_percent_is_caught():
    assert share_of("regression", times=15, n=120, slow=1.2) == 1.0


@pytest.mark.slow
def test_a_slow_down_of_20_percent_is_caught_in_runs_that_differ_by_2_percent():
    assert share_of("regression", times=20, n=100, runs=3, slow=1.2, between_runs=0.02) >= 0.9


def test_equal_sides_with_many_requests_pass():
    metrics = chosen(("ttft.p50", "tpot.p50", "e2e.p50"), {})

    assert verdict([drawn(400, "a")], [drawn(400, "b")], metrics=metrics) == "no regression"


def test_a_side_against_itself_passes_and_all_is_the_same():
    side = [drawn(150, "a")]

    changes = compare(side, side, Settings(metrics=FEW, resamples=100))

    assert {change.verdict for change in changes} == {"same"}
    assert all(change.a == change.b for change in changes)


def test_an_improvement_is_called_one_and_is_no_regression():
    changes = compare([drawn(150, "a")], [drawn(150, "b", slow=0.7)], Settings(metrics=FEW, resamples=400))

    assert {change.metric.name: change.verdict for change in changes}["tpot.p50"] == "better"
    assert overall(changes) == "no regression"


def test_what_is_certain_and_too_small_to_matter_is_no_regression():
    # 2 % of TPOT is certain with 400 answers and below the floor of 5 %.
    (change,) = compare(
        [drawn(400, "a")],
        [drawn(400, "a", slow=1.02)],
        Settings(metrics=chosen(("tpot.p50",), {}), resamples=400),
    )

    assert change.wide is not None
    assert change.wide[0] > 0
    assert change.verdict == "same"


def test_a_floor_of_the_users_own_makes_the_same_change_a_regression():
    metrics = chosen(("tpot.p50",), {"tpot.p50": (0.01, 0.0)})

    assert verdict([drawn(400, "a")], [drawn(400, "a", slow=1.02)], metrics=metrics) == "regression"


def test_too_few_requests_are_inconclusive_and_not_a_pass():
    found = compare([drawn(12, "a")], [drawn(12, "b")], Settings(metrics=FEW, resamples=400))

    assert overall(found) == "inconclusive"
    assert {change.metric.name: change.verdict for change in found}["e2e.p95"] == "not judged"


def test_where_nothing_can_be_judged_nothing_passes():
    found = compare([drawn(3, "a")], [drawn(3, "a")], Settings(metrics=chosen(("ttft.p50",), {})))

    assert found[0].why == "n of 3 is too small for a p50"
    assert overall(found) == "inconclusive"


def test_failures_are_a_regression():
    whole = drawn(200, "a")
    broken = [
        RequestRecord(r.index, "measure", "any", "failed", r.t_intended_ns, r.t_sent_ns, r.t_end_ns)
        if r.index % 5 == 0
        else r
        for r in whole.records
    ]

    assert verdict([whole], [Run(tuple(broken), PLAN)], metrics=chosen(("failed",), {})) == "regression"


def test_the_same_seed_gives_the_same_comparison():
    sides = [drawn(60, "a")], [drawn(60, "b")]

    def found(seed):
        return compare(*sides, Settings(metrics=FEW, resamples=400, seed=seed))

    assert found(1) == found(1)
    assert found(1) != found(2)


def test_pairing_makes_intervals_narrower_where_prompts_differ_much():
    sides = [drawn(200, "a")], [drawn(200, "b")]

    def width(paired):
        (change,) = compare(*sides, Settings(metrics=chosen(("ttft.p50",), {}), resamples=400, paired=paired))
        assert change.interval is not None
        return change.interval[1] - change.interval[0]

    assert width(True) < width(False)


def test_throughput_of_a_closed_loop_is_judged_by_the_parts_of_its_steady_span():
    def closed(tpot_ns, seed):
        rng, now, records = random.Random(seed), 0, []
        for index in range(100):
            stamps = [now + 50_000_000]
            for _ in range(19):
                stamps.append(stamps[-1] + round(tpot_ns * rng.uniform(0.9, 1.1)))
            records.append(
                RequestRecord(
                    index,
                    "measure",
                    "any",
                    "ok",
                    None,
                    now,
                    stamps[-1],
                    output_ns=tuple(stamps),
                    output_tokens=20,
                )
            )
            now = stamps[-1]
        return [Run(tuple(records), RunPlan(arrival="closed", intended=100, concurrency=1))]

    metrics = chosen(("output_tokens_per_s",), {})
    assert verdict(closed(20_000_000, 1), closed(20_000_000, 2), metrics=metrics) == "no regression"
    assert verdict(closed(20_000_000, 1), closed(25_000_000, 2), metrics=metrics) == "regression"


def test_one_worse_metric_outweighs_all_others():
    def change(verdict):
        return Change(METRICS[0], 1.0, 1.0, verdict, "")

    assert overall([change("same"), change("inconclusive"), change("worse")]) == "regression"
    assert overall([change("same"), change("inconclusive")]) == "inconclusive"
    assert overall([change("same"), change("not judged"), change("better")]) == "no regression"
    assert overall([change("not judged")]) == "inconclusive"
    assert len(DEFAULT) == 8
