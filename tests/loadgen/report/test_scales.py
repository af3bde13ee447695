import pytest

from loadgen.report.scales import Scale, fitting, linear


def test_a_linear_scale_spreads_evenly():
    scale = Scale(0.0, 50.0)

    assert [scale.at(value) for value in (0, 25, 50)] == [0, 500, 1000]


def test_a_logarithmic_scale_gives_every_decade_the_same_room():
    scale = Scale(1.0, 100.0, log=True)

    assert [scale.at(value) for value in (1, 10, 100)] == pytest.approx([0, 500, 1000])


@pytest.mark.parametrize("log", [False, True])
def test_values_outside_are_put_on_the_border(log):
    scale = Scale(1.0, 10.0, log=log)

    assert (scale.at(-5.0), scale.at(99.0)) == pytest.approx((0.0, 1000.0))


def test_ticks_are_round_and_inside():
    assert Scale(0.0, 62.0).ticks() == (0, 10, 20, 30, 40, 50, 60)
    assert Scale(0.0, 0.52).ticks() == pytest.approx((0, 0.1, 0.2, 0.3, 0.4, 0.5))
    assert Scale(0.03, 1.5, log=True).ticks() == pytest.approx((0.05, 0.1, 0.2, 0.5, 1.0))


def test_a_range_of_four_decades_has_one_tick_a_decade():
    assert Scale(0.001, 10.0, log=True).ticks() == pytest.approx((0.001, 0.01, 0.1, 1.0, 10.0))


def test_scales_are_logarithmic_only_where_values_differ_much():
    assert not fitting(1.0, 20.0).log
    assert fitting(1.0, 100.0).log
    assert not fitting(0.0, 100.0).log


def test_a_range_of_nothing_is_still_a_range():
    assert linear(0.0).at(0.0) == 0.0
    assert linear(0.0).high > 0
