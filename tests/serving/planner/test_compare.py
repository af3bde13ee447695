"""Comparisons: order, prices, and where a cache overtakes the weights."""

from __future__ import annotations

from dataclasses import replace

from fakes.planning import ask, cache_of, shape

from serving.facts.load import gpus, overheads
from serving.planner.compare import Variant, caches, compare, overtakes
from serving.planner.picture import CONTEXTS
from serving.planner.weights import Ranks


def test_most_users_a_device_come_first() -> None:
    variants = [
        Variant("one", ask()),
        Variant("fp8", ask(cache=cache_of("fp8"))),
        Variant("two", ask(ranks=Ranks(2))),
    ]
    rows = compare(variants, overheads())
    assert [row.label for row in rows] == ["fp8", "two", "one"]
    assert rows[0].document()["users_per_device"] == rows[0].users


def test_where_all_have_prices_the_cheapest_user_comes_first() -> None:
    h100, h200 = gpus()["h100-sxm"], gpus()["h200"]
    dear = Variant("h200", ask(gpu=h200, memory_bytes=h200.memory_bytes), price_per_hour=100.0)
    rows = compare([dear, Variant("h100", ask(gpu=h100), price_per_hour=2.7)], overheads())
    assert [row.label for row in rows] == ["h100", "h200"]
    assert rows[0].cost_per_user_hour == 2.7 / 54


def test_what_has_a_price_comes_before_what_has_none() -> None:
    h200 = gpus()["h200"]
    free = Variant("h200", ask(gpu=h200, memory_bytes=h200.memory_bytes))
    more = Variant("two", ask(ranks=Ranks(2)), price_per_hour=2.7)
    rows = compare([free, Variant("h100", ask(), price_per_hour=2.7), more], overheads())
    # Two hold 121 users for twice the price, one 54.
    assert [row.label for row in rows] == ["two", "h100", "h200"]


def test_what_cannot_be_split_is_a_row_with_its_reason() -> None:
    (row,) = compare([Variant("three", ask(ranks=Ranks(3)))], overheads())
    assert (row.users, row.blocked_by) == (0, "split")
    assert "cannot be shared" in row.document()["limits"][0]


def test_the_cache_overtakes_the_weights_where_they_are_equal() -> None:
    # 16,060,522,496 / 131,072 = 122,532.0...: one token more.
    assert overtakes(16_060_522_496, cache_of(), shape()) == 122_533
    assert overtakes(131072 * 10, cache_of(), shape()) == 11


def test_a_cache_that_levels_off_never_overtakes() -> None:
    windows = shape("google/gemma-3-27b-it")
    only = replace(windows, layers=tuple(layer for layer in windows.layers if layer.kv.window))
    assert overtakes(10**12, cache_of(), only) is None


def test_caches_are_told_for_each_model_and_format() -> None:
    v3 = shape("deepseek-ai/DeepSeek-V3")
    rows = caches(
        [(shape(), 2**34), (v3, 2**40)], {"bf16": cache_of(), "4 bit": cache_of("int4_per_token_head")}
    )
    assert rows[0].at_32k == 32768 * 131072
    assert len(rows[0].by_context) == len(CONTEXTS)
    assert rows[3].at_32k is None
    assert rows[0].document()["kv_bytes_by_context"]["1024"] == 1024 * 131072


def test_a_row_names_what_keeps_it_from_fitting() -> None:
    large = ask(shape("meta-llama/Meta-Llama-3.1-70B"))
    rows = compare(
        [Variant("fits", ask()), Variant("large", large), Variant("many", ask(users=60))], overheads()
    )
    assert {row.label: row.blocked_by for row in rows} == {"fits": "", "large": "weights", "many": "kv_cache"}
