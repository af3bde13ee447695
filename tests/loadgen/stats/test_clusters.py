import random

import pytest

from loadgen.stats.clusters import clustered, effective_n
from loadgen.stats.quantiles import distribution


def answers(rng, *, number, gaps, between):
    """Gaps of 10 ms with noise of 1 ms within an answer and of `between` ms from answer to answer."""
    means = [10.0 + rng.gauss(0, between) for _ in range(number)]
    return [[mean + rng.gauss(0, 1.0) for _ in range(gaps)] for mean in means]


def test_the_whole_sample_is_described_whatever_the_clusters():
    found = clustered([[3.0, 1.0], [], [2.0]])

    assert (found.n, found.max) == (3, 3.0)
    assert found.mean == pytest.approx(2.0)
    assert found.percentiles[50] is None


def test_nothing_is_unknown():
    assert clustered([]) == distribution([])


def test_answers_of_one_gap_are_independent_values():
    rng = random.Random(2)
    values = [rng.random() for _ in range(400)]

    found, independent = clustered([[value] for value in values]), distribution(values)

    assert found.percentiles[95] == independent.percentiles[95]
    assert found.ci95[50] == pytest.approx(independent.ci95[50], abs=0.02)


def test_gaps_that_are_all_alike_in_an_answer_count_once_each():
    rng = random.Random(3)
    clusters = [[rng.random()] * 50 for _ in range(60)]

    assert effective_n(clusters, sorted(v for c in clusters for v in c), 50) <= 60


def test_gaps_that_do_not_hang_together_count_nearly_fully():
    clusters = answers(random.Random(4), number=200, gaps=50, between=0.0)

    assert effective_n(clusters, sorted(v for c in clusters for v in c), 50) > 5_000


def test_a_p99_that_few_answers_cannot_carry_is_withheld():
    clusters = answers(random.Random(5), number=40, gaps=100, between=3.0)

    found = clustered(clusters)

    assert found.n == 4_000
    assert found.percentiles[50] is not None
    assert (found.percentiles[99], found.ci95[99]) == (None, None)


def holds(interval, truth):
    assert interval is not None
    return interval[0] <= truth <= interval[1]


@pytest.mark.slow
@pytest.mark.parametrize("percent", [50, 90])
def test_the_intervals_cover_the_truth_where_those_for_independent_values_do_not(percent):
    rng = random.Random(6)
    # Gap = 10 + N(0, 2^2) + N(0, 1): normal with variance 5. p50 is 10, p90 is 10 + 1.2816 * sqrt(5).
    truth = 10.0 + {50: 0.0, 90: 1.2816}[percent] * 5**0.5
    covered = naive = 0
    for _ in range(200):
        clusters = answers(rng, number=80, gaps=12, between=2.0)
        covered += holds(clustered(clusters).ci95[percent], truth)
        naive += holds(distribution(value for cluster in clusters for value in cluster).ci95[percent], truth)

    # 95 % of 200 is 190, three standard deviations are 9.
    assert covered >= 181
    assert naive < 160
