"""The page: whole by itself."""

from __future__ import annotations

from fakes.planning import facts, plan, shape

from serving.facts.load import overheads
from serving.planner.advise import advise
from serving.planner.page import capacity_svg, plan_page


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
