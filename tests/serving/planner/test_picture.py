"""The drawing in a terminal."""

from __future__ import annotations

from fakes.planning import plan, shape

from serving.planner.picture import WIDTH, capacity_chart, capacity_points, memory_bar, memory_parts


def test_the_parts_fill_the_device() -> None:
    found = plan()
    assert sum(size for _, size in memory_parts(found)) == found.budget.total_bytes
    bar, legend = memory_bar(found)
    assert bar.index("|") == WIDTH
    assert "weights 14.96 GiB" in legend


def test_what_exceeds_the_memory_is_told_beyond_the_bar() -> None:
    bar, _ = memory_bar(plan(shape("meta-llama/Meta-Llama-3.1-70B")))
    assert "GiB beyond" in bar


def test_a_small_part_is_seen_and_the_bar_has_no_hole() -> None:
    bar, legend = memory_bar(plan(shape("Qwen/Qwen3-0.6B"), kv_cache_bytes=2**27))
    assert set(bar[:WIDTH]) == {"█", "░", "·"}  # given bytes leave no overhead to draw
    assert "KV cache 0.12 GiB" in legend


def test_where_nobody_fits_no_chart_is_drawn() -> None:
    [line] = capacity_chart(plan(shape("meta-llama/Meta-Llama-3.1-70B")))
    assert line.endswith("none, at any length")


def test_capacity_falls_with_context_to_the_longest() -> None:
    points = capacity_points(plan())
    assert points[-1] == (8192, 54)
    assert len(capacity_chart(plan())) == len(points) + 1
