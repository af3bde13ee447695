from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any

import pytest
from pydantic import TypeAdapter

from loadgen.schedule import arrivals, stage_of, stream
from loadgen.workload_arrivals import Arrival

S = 1_000_000_000


def make(process: str, **keys: Any) -> Arrival:
    return TypeAdapter(Arrival).validate_python({"process": process, **keys})


def times(arrival: Arrival, seed: int = 1) -> list[int]:
    planned = arrivals(arrival, stream(seed, "arrivals"))
    assert all(time is not None for time in planned)
    return [time for time in planned if time is not None]


def cv(moments: list[int]) -> float:
    gaps = [b - a for a, b in pairwise(moments)]
    return pstdev(gaps) / fmean(gaps)


def dispersion(moments: list[int], window_ns: int = S) -> float:
    """Variance over mean of the counts in windows: 0 for constant, 1 for Poisson arrivals."""
    counts = [0] * (moments[-1] // window_ns)
    for moment in moments:
        if moment // window_ns < len(counts):
            counts[moment // window_ns] += 1
    return pstdev(counts) ** 2 / fmean(counts)


def test_constant_arrivals_start_at_zero_have_equal_gaps_and_end_before_the_duration() -> None:
    assert times(make("constant", rate="4/s", duration="1s")) == [0, 250_000_000, 500_000_000, 750_000_000]


def test_constant_arrivals_do_not_drift() -> None:
    # 100,000 sums of 1/3 s would be off by microseconds; the last must be exact to a rounding.
    assert times(make("constant", rate="3/s", requests=300_001))[-1] == 100_000_000_000_000


def test_constant_arrivals_have_no_spread() -> None:
    moments = times(make("constant", rate="50/s", duration="20s"))
    assert cv(moments) < 1e-6
    assert dispersion(moments) == 0


def test_poisson_arrivals_have_the_rate_asked_for() -> None:
    # 10,000 expected; the standard deviation of a Poisson count is its root, 100: four of them.
    assert len(times(make("poisson", rate="100/s", duration="100s"))) == pytest.approx(10_000, abs=400)


def test_poisson_gaps_are_exponential() -> None:
    moments = times(make("poisson", rate="50/s", requests=20_000))
    # CV 1 within 4 standard errors of an exponential sample's CV, about 1 / sqrt(n).
    assert cv(moments) == pytest.approx(1.0, abs=0.03)
    # A share of exp(-1) of exponential gaps is longer than the mean.
    longer = sum(b - a > 20_000_000 for a, b in pairwise(moments)) / len(moments)
    assert longer == pytest.approx(0.3679, abs=0.015)


def test_poisson_counts_in_windows_have_an_index_of_dispersion_of_one() -> None:
    assert dispersion(times(make("poisson", rate="20/s", duration="1000s"))) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("burstiness", [0.25, 0.5, 4.0])
def test_gamma_gaps_have_the_rate_and_the_spread_of_their_shape(burstiness: float) -> None:
    moments = times(make("gamma", rate="50/s", burstiness=burstiness, requests=40_000))
    spread = 1 / math.sqrt(burstiness)  # CV of a gamma variate of this shape
    assert fmean(b - a for a, b in pairwise(moments)) == pytest.approx(S / 50, rel=4 * spread / 200)
    assert cv(moments) == pytest.approx(spread, rel=0.06)
    # Over long windows the index of dispersion of a renewal process is the square of its CV.
    assert dispersion(moments, 4 * S) == pytest.approx(spread**2, rel=0.35)


def test_a_number_of_requests_ends_an_open_loop_before_its_duration() -> None:
    assert len(times(make("constant", rate="10/s", duration="60s", requests=7))) == 7


@pytest.mark.parametrize("process", ["poisson", "gamma"])
def test_the_same_seed_gives_the_same_times_and_another_gives_others(process: str) -> None:
    keys = {"burstiness": 0.5} if process == "gamma" else {}
    arrival = make(process, rate="10/s", requests=50, **keys)
    assert times(arrival, seed=1) == times(arrival, seed=1)
    assert set(times(arrival, seed=1)).isdisjoint(times(arrival, seed=2))


def test_streams_of_one_seed_are_independent_by_name() -> None:
    a, b = stream(1, "arrivals"), stream(1, "prompt/0")
    pairs = [(a.random(), b.random()) for _ in range(5000)]
    mean_a, mean_b = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    covariance = fmean((x - mean_a) * (y - mean_b) for x, y in pairs)
    assert abs(covariance * 12) < 0.06  # correlation: a uniform variate has variance 1/12


def test_a_closed_loop_has_requests_and_no_times() -> None:
    assert arrivals(make("closed", concurrency=2, requests=3), stream(1, "arrivals")) == (None, None, None)


def stages(*rows: dict[str, Any], **keys: Any) -> Arrival:
    return make("stages", stages=list(rows), **keys)


def test_constant_stages_follow_each_other_and_a_pause_sends_nothing() -> None:
    arrival = stages(
        {"rate": "2/s", "duration": "1s"},
        {"rate": "0/s", "duration": "3s"},
        {"rate": "4/s", "duration": "1s"},
        gaps="constant",
    )
    expected = [0, 0.5, 4.0, 4.25, 4.5, 4.75]
    assert times(arrival) == [round(t * S) for t in expected]


def test_a_constant_ramp_reaches_each_count_when_its_rate_has_summed_up_to_it() -> None:
    # The rate t/s from 0 for 4 s sums up to t**2 / 2: requests 0..7 at sqrt(2 n).
    arrival = stages({"from_rate": "0/s", "to_rate": "4/s", "duration": "4s"}, gaps="constant")
    assert times(arrival) == [round(math.sqrt(2 * n) * S) for n in range(8)]


def test_a_falling_ramp_is_the_mirror_of_a_rising_one() -> None:
    rising = times(stages({"from_rate": "1/s", "to_rate": "5/s", "duration": "10s"}, gaps="constant"))
    falling = times(stages({"from_rate": "5/s", "to_rate": "1/s", "duration": "10s"}, gaps="constant"))
    # 30 requests in all: the n-th from the begin of one is the n-th from the end of the other.
    assert len(rising) == len(falling) == 30
    mirrored = [10 * S - moment for moment in reversed(falling)]
    assert mirrored == pytest.approx([*rising[1:], 10 * S], abs=2)


def test_poisson_stages_have_the_rate_of_each_stage_and_a_spread_of_one() -> None:
    arrival = stages(
        {"rate": "20/s", "duration": "200s"}, {"from_rate": "20/s", "to_rate": "100/s", "duration": "200s"}
    )
    moments = times(arrival)
    first = sum(moment < 200 * S for moment in moments)
    assert first == pytest.approx(4_000, abs=4 * math.sqrt(4_000))
    assert len(moments) - first == pytest.approx(12_000, abs=4 * math.sqrt(12_000))
    # In the second half of the ramp the rate is 60 to 100, 80 at the mean.
    late = sum(moment >= 300 * S for moment in moments)
    assert late == pytest.approx(8_000, abs=4 * math.sqrt(8_000))


def test_each_time_belongs_to_its_stage() -> None:
    arrival = stages({"rate": "1/s", "duration": "2s"}, {"rate": "1/s", "duration": "3s"})
    assert [stage_of(arrival, t * S) for t in (0, 1, 2, 4)] == [0, 0, 1, 1]
    assert stage_of(arrival, None) is None
    assert stage_of(make("poisson", rate="1/s", requests=1), 0) is None


def test_closed_stages_prepare_two_requests_a_second_for_each_slot() -> None:
    arrival = stages({"concurrency": 2, "duration": "5s"}, {"concurrency": 4, "duration": "5s"})
    assert arrivals(arrival, stream(1, "arrivals")) == (None,) * 60


def test_a_trace_is_played_at_its_speed_and_ends_where_it_is_told() -> None:
    rows = [0.0, 0.5, 2.0, 7.0]

    def played(**keys: Any) -> list[float]:
        return [t / S for t in arrivals(make("trace", **keys), stream(1, "a"), trace_s=rows) if t is not None]

    assert played() == rows
    assert played(speed=2.0) == [0.0, 0.25, 1.0, 3.5]
    assert played(duration="2s") == [0.0, 0.5]
    assert played(requests=3) == [0.0, 0.5, 2.0]
