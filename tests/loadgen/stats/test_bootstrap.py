import random

import pytest

from loadgen.stats.bootstrap import Blocked, block_length, differences, tail_interval
from loadgen.stats.quantiles import sample_quantile


def test_a_weighted_quantile_is_that_of_the_sample_written_out():
    sample = Blocked.of([(0, 5.0), (1, 1.0), (2, 4.0), (3, 2.0)], 2)

    # Blocks (5, 1) and (4, 2), the first three times, the second once.
    written_out = sorted([5.0, 1.0] * 3 + [4.0, 2.0])
    assert sample.quantiles([3, 1], [50, 90]) == [sample_quantile(written_out, p) for p in (50, 90)]


def test_a_draw_without_any_value_has_no_quantile():
    assert Blocked.of([(0, 5.0)], 1).quantiles([0, 2], [50]) is None
    assert Blocked.of([], 1).quantiles([1], [50]) is None


@pytest.mark.parametrize(
    ("n", "time", "length"), [(1, 1.0, 1), (125, 1.0, 5), (1000, 8.0, 14), (80, 50.0, 10)]
)
def test_blocks_grow_with_the_sample_and_with_how_long_neighbours_are_alike(n, time, length):
    assert block_length(n, time) == length


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    rng = random.Random(1)
    a, b = (Blocked.of([(i, rng.random()) for i in range(50)], 3) for _ in range(2))

    def drawn(seed):
        return differences(a, b, [50], blocks=17, paired=True, seed=seed, resamples=50)

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_what_both_samples_share_cancels_when_drawn_together():
    rng = random.Random(2)
    prompts = [rng.lognormvariate(0, 1) for _ in range(200)]
    a = Blocked.of(list(enumerate(prompts)), 6)
    b = Blocked.of([(i, value + 0.1) for i, value in enumerate(prompts)], 6)

    (together,) = differences(a, b, [50], blocks=34, paired=True, seed=1, resamples=200)
    (apart,) = differences(a, b, [50], blocks=34, paired=False, seed=1, resamples=200)

    assert together == pytest.approx([0.1] * 200)
    assert apart[-1] - apart[0] > 0.2


def test_an_interval_leaves_out_as_much_at_each_end():
    ordered = [float(i) for i in range(100)]

    assert tail_interval(ordered, 0.05) == (5.0, 94.0)
    assert tail_interval(ordered, 0.005) is None
