"""The page: whole by itself."""

from __future__ import annotations

from fakes.planning import facts, plan, shape

from serving.facts.load import overheads
from serving.planner.advise import advise
from serving.planner.figure import Figure
from serving.planner.page import capacity_svg, memory_svg, plan_page
from serving.planner.speculation import Drafting


def test_the_page_needs_nothing_from_elsewhere() -> None:
    made = plan_page(plan(), overheads(), advise(plan(), facts().choices, overheads()))
    assert made.startswith("<!doctype html>")
    assert "src=" not in made
    assert "href=" not in made
    assert made.count("<svg") == 2
    assert "kv_cache_tokens" in made


def test_the_page_tells_what_was_asked_and_figures_as_people_say_them() -> None:
    made = plan_page(plan(), overheads(), ())
    assert "1 x NVIDIA H100 SXM 80 GB, tensor 1" in made
    assert "14.96 GiB</td><td>16,060,522,496 bytes" in made
    assert "0.92</td>" in made
    assert "Nothing that is tried" in made
    assert "no change that is tried" in plan_page(
        plan(shape("meta-llama/Meta-Llama-3.1-70B")), overheads(), ()
    )


def test_names_are_escaped() -> None:
    from dataclasses import replace

    evil = replace(shape(), name="<script>alert(1)</script>")
    assert "<script>" not in plan_page(plan(evil), overheads(), ())


def test_where_nobody_fits_nothing_is_drawn() -> None:
    assert capacity_svg(plan(shape("meta-llama/Meta-Llama-3.1-70B"))) == "<p>Nobody fits.</p>"


def test_what_a_run_measured_stands_on_the_page_too() -> None:
    seen = {"tpot_measured_s": Figure(0.009, "s", "measured", "runs/x: p50")}
    made = plan_page(plan(), overheads(), (), seen)
    assert "tpot_measured_s</td><td class=n>9.000 ms" in made


def test_advice_is_in_the_words_of_who_asks() -> None:
    found = advise(plan(), facts().choices, overheads())
    assert "<th>flags<th" in plan_page(plan(), overheads(), found)
    by_keys = plan_page(plan(), overheads(), found, by_keys=True)
    assert "<th>keys<th" in by_keys
    assert "modes: [{kind: quantized_kv, format: fp8}]" in by_keys


def test_the_gains_of_speculation_stand_on_the_page() -> None:
    drafted = plan_page(plan(drafting=Drafting(tokens=4, alpha=0.7)), overheads(), ())
    # 1 + 0.7 + 0.49 + 0.343 + 0.2401
    assert "2.77 tokens a step" in drafted
    assert "Speculation" not in plan_page(plan(), overheads(), ())


def test_the_end_of_a_device_is_marked_where_more_is_needed() -> None:
    """131.42 GiB of weights and 9.5 of overhead in 72.86 of 79.19 GiB: the end is inside the bar."""
    drawn = memory_svg(plan(shape("meta-llama/Meta-Llama-3.1-70B")))
    assert "the device ends at 79.19 GiB" in drawn
    assert "<line" not in memory_svg(plan())


def test_labels_of_points_that_are_near_do_not_cover_each_other() -> None:
    """8,192 and 8,704 tokens are a few pixels apart on a scale of powers of two."""
    drawn = capacity_svg(plan(max_model_len=8704))
    assert drawn.count("<circle") == 5
    assert ">8k<" in drawn
    assert ">8.5k<" not in drawn
    assert ">9.0k<" not in drawn
    assert ">12.2k<" in capacity_svg(plan(max_model_len=12500))
