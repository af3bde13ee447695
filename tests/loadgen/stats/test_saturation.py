"""Queues of which it is known whether they pile up: arrivals and services are drawn, not measured."""

import heapq
import random

import pytest

from loadgen.records import RequestRecord
from loadgen.stats.plan import RunPlan
from loadgen.stats.saturation import saturation
from loadgen.stats.steady import steady_span

SERVERS = 8
PLAN = RunPlan(arrival="poisson", intended=None)


def queue(*, load, n, seed, tail=False):
    """n Poisson arrivals at `load` of the capacity of eight servers; first come, first served."""
    rng = random.Random(seed)
    free, now, records = [0.0] * SERVERS, 0.0, []
    for index in range(n):
        now += rng.expovariate(load * SERVERS)
        service = rng.lognormvariate(-0.5, 1.0) if tail else rng.expovariate(1.0)
        begin = max(now, heapq.heappop(free))
        heapq.heappush(free, begin + service)
        sent, first, last = (round(t * 1e9) for t in (now, begin + 0.02 * service, begin + service))
        records.append(
            RequestRecord(
                index, "measure", "any", "ok", sent, sent, last, output_ns=(first, last), output_tokens=9
            )
        )
    return records


def verdict(records):
    found = saturation(records, PLAN, steady_span(records, PLAN))
    assert found is not None
    return found.verdict


@pytest.mark.slow
@pytest.mark.parametrize(("load", "tail"), [(0.4, False), (0.7, False), (0.7, True), (0.8, False)])
def test_a_server_that_keeps_up_is_called_saturated_in_at_most_one_run_of_twenty(load, tail):
    alarms = sum(verdict(queue(load=load, n=300, seed=seed, tail=tail)) == "growing" for seed in range(60))

    assert alarms <= 3


@pytest.mark.slow
@pytest.mark.parametrize(("load", "n"), [(1.5, 150), (1.3, 300), (1.2, 600)])
def test_an_overloaded_server_is_called_saturated(load, n):
    caught = sum(verdict(queue(load=load, n=n, seed=seed)) == "growing" for seed in range(40))

    assert caught >= 36


def test_the_evidence_is_told(record):
    # Ten a second arrive, each stays for half of the time since the begin: they pile up by design.
    records = [
        record(150 * i + 10, sent=100 * i, intended=100 * i, end=150 * i + 10, index=i) for i in range(200)
    ]

    found = saturation(records, PLAN, steady_span(records, PLAN))

    assert found is not None
    assert found.verdict == "growing"
    assert found.in_flight_p == pytest.approx(0.0, abs=1e-5)
    # In flight at t: those sent since t / 1.5, t / 3 * 10/s. The middles of the parts lie 0.9 span apart.
    span_s = steady_span(records, PLAN).length_s
    assert found.in_flight_growth == pytest.approx(0.9 * span_s / 3 * 10, rel=0.05)
    assert found.ttft_p == pytest.approx(0.0, abs=1e-5)
    assert found.arrived_per_s == pytest.approx(10, rel=0.02)
    assert found.ended_per_s == pytest.approx(10 / 1.5, rel=0.05)


def test_a_few_requests_more_are_not_saturation_however_orderly(record):
    # From one in flight to two.
    records = [record(100 * i + 100 + i, sent=100 * i, intended=100 * i, index=i) for i in range(100)]

    assert verdict(records) == "steady"


def test_too_few_requests_tell_nothing(record):
    assert verdict(queue(load=1.5, n=29, seed=1)) == "unknown"
    assert saturation([], PLAN, None).verdict == "unknown"


@pytest.mark.parametrize("arrival", ["closed", "stages", "trace"])
def test_a_load_of_no_even_rate_is_not_judged(arrival):
    records = queue(load=1.5, n=100, seed=1)

    assert saturation(records, RunPlan(arrival=arrival, intended=None), steady_span(records, PLAN)) is None
