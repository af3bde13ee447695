import re
from xml.etree import ElementTree

import pytest

from loadgen.report import charts
from loadgen.stats.quantiles import distribution


def svg_of(html: str) -> ElementTree.Element:
    """The drawing, which must be well-formed XML."""
    (svg,) = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    return ElementTree.fromstring(svg)


def drawn(html: str, css: str) -> list[ElementTree.Element]:
    return [element for element in svg_of(html).iter() if css in element.get("class", "").split()]


def ends(element: ElementTree.Element, command: str) -> list[float]:
    return [float(number) for number in re.findall(rf"{command}([\d.]+)", element.get("d", ""))]


def cdf(values, *, slo_s=None):
    return charts.cdf("TTFT", values, distribution(values).as_dict(), slo_s=slo_s)


def test_a_cdf_rises_at_each_value_by_its_share():
    # 0 to 104 ms: 25, 50 and 100 ms lie at 240.4, 480.8 and 961.5; y counts from the top.
    (line,) = drawn(cdf([0.1, 0.025, 0.05, 0.05]), "line")

    assert ends(line, "H") == pytest.approx([240.4, 480.8, 480.8, 961.5, 1000.0], abs=0.1)
    assert ends(line, "V") == [750.0, 500.0, 250.0, 0.0]


def test_a_cdf_marks_the_percentiles_that_n_allows_and_the_objective():
    html = cdf([i / 1000 for i in range(1, 101)], slo_s=0.08)

    assert len(drawn(html, "p50")) == len(drawn(html, "p95")) == len(drawn(html, "slo")) == 1
    assert drawn(html, "p99") == []
    assert "p50 50.50 ms" in html
    assert "SLO 80 ms" in html


def test_a_cdf_says_in_words_what_it_shows():
    label = svg_of(cdf([i / 1000 for i in range(1, 11)])).get("aria-label")

    assert label == "Cumulative distribution of TTFT of 10 answers: p50 5.50 ms, maximum 10.00 ms"


def test_a_cdf_of_very_different_values_is_logarithmic_and_says_so():
    assert "TTFT, s, logarithmic" in cdf([0.01, 0.1, 1.0])
    assert "TTFT, ms" in cdf([0.01, 0.02, 0.03])


def test_a_cdf_of_many_values_stays_small_and_ends_at_all():
    html = cdf([i / 1e6 for i in range(1, 50_001)])

    assert len(html) < 20_000
    assert ends(drawn(html, "line")[0], "V")[-1] == 0.0


def test_a_cdf_of_one_value_and_of_none_can_be_drawn():
    assert drawn(cdf([0.02]), "line")
    assert cdf([]) == '<p class="empty">No answer has a TTFT.</p>'
