"""The drawing in a terminal."""

from __future__ import annotations

from fakes.planning import plan, shape

from serving.planner.picture import ASCII, WIDTH, capacity_chart, capacity_points, memory_bar, memory_parts


def test_the_parts_fill_the_device() -> None:
    found = plan()
    assert sum(size for _, size in memory_parts(found)) == found.budget.total_bytes
    _, bar, legend = memory_bar(found)
    assert bar.index("|") == WIDTH
    assert "weights 14.96  " in legend
    assert legend.endswith("of 79.19")


def test_the_bar_and_its_legend_have_room_in_a_terminal_of_80_columns_and_the_bar_in_fewer() -> None:
    for found in (plan(), plan(shape("meta-llama/Meta-Llama-3.1-70B"))):
        assert max(map(len, memory_bar(found))) <= 80
        assert len(memory_bar(found, 40)[1]) <= 42


def test_signs_that_a_terminal_lacks_have_others() -> None:
    drawn = "\n".join(memory_bar(plan()) + capacity_chart(plan())).translate(ASCII)
    assert drawn.isascii()
    assert "\n############===---" in drawn


def test_what_exceeds_the_memory_is_told_beyond_the_bar() -> None:
    _, bar, legend = memory_bar(plan(shape("meta-llama/Meta-Llama-3.1-70B")))
    assert bar == "█" * WIDTH + "|█"
    assert legend.endswith("of 79.19, 61.74 beyond")


def test_a_small_part_is_seen_and_the_bar_has_no_hole() -> None:
    _, bar, legend = memory_bar(plan(shape("Qwen/Qwen3-0.6B"), kv_cache_bytes=2**27))
    assert set(bar[:WIDTH]) == {"█", "░", "·"}  # given bytes leave no overhead to draw
    assert "KV cache 0.12" in legend


def test_where_nobody_fits_no_chart_is_drawn() -> None:
    [line] = capacity_chart(plan(shape("meta-llama/Meta-Llama-3.1-70B")))
    assert line.endswith("none, at any length")


def test_capacity_falls_with_context_to_the_longest() -> None:
    points = capacity_points(plan())
    assert points[-1] == (8192, 54)
    assert len(capacity_chart(plan())) == len(points) + 1
