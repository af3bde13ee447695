"""The whole page, from a hand-made study."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fakes.study_page import OTHER, SMALL, an_arm, design, planned_start, summary

from deploy.study.report.catalogue import footprints
from deploy.study.report.look import LOOK
from deploy.study.report.page import CHARTS, page
from deploy.study.report.view import View
from serving.facts.load import kv_formats, public_models, weight_storage

VOID = {"meta", "path", "br", "img", "input"}


class Balanced(HTMLParser):
    """Raises where a tag is closed that is not the last one open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for key, value in attrs if key == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def catalogue():
    return footprints(public_models(), kv_formats(), weight_storage())


@pytest.mark.slow
def test_the_page_is_well_formed_and_no_id_is_used_twice(view, catalogue):
    parser = Balanced()
    parser.feed(page(view, catalogue))
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))


def test_it_needs_no_network(view, catalogue):
    text = page(view, catalogue)
    assert not re.findall(r'(?:src|href)="(?!#)', text)
    assert "url(" not in text
    assert "@import" not in text


def test_summary_first_then_charts_then_what_failed_then_how_it_was_run(view, catalogue):
    text = page(view, catalogue)
    places = [
        text.index(mark)
        for mark in (
            "FP8 KV doubled",
            'id="charts"',
            'id="missing"',
            'id="figures"',
            'id="models"',
            'id="manifest"',
        )
    ]
    assert places == sorted(places)


def test_every_chart_of_the_table_is_drawn_from_a_study_that_has_everything(view):
    text = page(view)
    assert [chart.id for chart in CHARTS if f'<figure id="{chart.id}-0">' not in text] == []


def test_every_chart_has_its_definition_and_its_numbers(view):
    text = page(view)
    figures = text.count("<figure id=")
    assert (
        text.count('role="tooltip"') == text.count("<summary>the numbers</summary>") == figures >= len(CHARTS)
    )


def test_models_can_be_chosen_where_there_are_several(view):
    text = page(view)
    assert f"<option>{SMALL}</option><option>{OTHER}</option>" in text
    assert f'<section data-model="{OTHER}">' in text


def test_one_model_needs_no_choice():
    made = View(
        design=design(arms=(an_arm("plain"),), starts=(planned_start(1, "plain"),)), summary=summary()
    )
    text = page(made)
    assert "<option>" not in text
    assert '<figure id="kv-capacity">' in text


def test_charts_without_data_are_named_with_what_they_need():
    arms = (an_arm("plain"),)
    made = View(design=design(arms=arms, starts=(planned_start(1, "plain"),)), summary=summary(quality=()))
    text = page(made)
    assert "Fidelity of answers: needs quality: true." in text
    assert "Acceptance against k: needs one method of speculation at two values of k." in text


def test_a_study_of_which_nothing_came_is_still_a_page(view):
    text = page(
        replace(view, summary=summary(rows=(), ratios=(), predictions=(), quality=(), words=()), starts=())
    )
    assert "Nothing was measured" in text
    assert "not complete" in text


def test_names_from_files_are_escaped(view):
    made = replace(view, summary=summary(title="<script>alert(1)</script>"))
    assert "<script>alert" not in page(made)


def test_projected_and_measured_are_tagged(view, catalogue):
    text = page(view, catalogue)
    for tag in ("measured", "projected", "calibrated"):
        assert f'<span class="tag {tag}">{tag}</span>' in text


def test_the_documentation_names_every_chart_and_what_it_needs():
    told = (Path(__file__).parents[4] / "docs" / "study-page.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.+) \| (.+) \|$", told, flags=re.MULTILINE)
    charts = [(chart.id, chart.title, chart.inputs) for chart in CHARTS]
    assert rows[: len(charts)] == charts


@pytest.mark.parametrize("number", range(8))
def test_every_look_has_a_colour(number):
    assert f".look{number} {{ color:" in LOOK
