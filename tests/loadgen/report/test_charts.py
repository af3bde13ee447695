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


def test_the_timeline_shows_waiting_then_streaming_for_each_request(answer):
    # 0..104 ms would be the scale of 100 ms: sent 0, first token 40, end 60 ms.
    html = charts.timeline([answer(0)], start_ns=0, end_s=0.1)
    (wait,), (stream,) = drawn(html, "wait"), drawn(html, "stream")

    assert (float(wait.get("x", "")), float(wait.get("width", ""))) == pytest.approx((0, 384.6), abs=0.1)
    assert (float(stream.get("x", "")), float(stream.get("width", ""))) == pytest.approx(
        (384.6, 192.3), abs=0.1
    )
    assert float(wait.get("height", "")) < float(stream.get("height", ""))


def test_a_failed_request_is_told_apart_by_more_than_colour(answer):
    html = charts.timeline([answer(0), answer(1, outcome="failed", output_ns=())], start_ns=0, end_s=0.2)

    assert len(drawn(html, "stop")) == 1
    assert len(drawn(html, "bad")) == 1
    assert "2 requests over 200.00 ms: at most 1 at once, 1 failed or cut" in html


def test_concurrency_reaches_as_high_as_requests_overlapped(answer):
    records = [answer(0), answer(1, t_sent_ns=20_000_000, t_end_ns=50_000_000)]

    assert "at most 2" in charts.concurrency(records, start_ns=0, end_s=0.1)


def test_ttft_over_time_has_a_dot_for_each_answer_and_counts_those_above_the_objective(answer):
    late = answer(1, output_ns=(100_000_000 + 70_000_000,))
    html = charts.ttft_over_time([answer(0), late], start_ns=0, end_s=1.0, slo_s=0.050)

    assert drawn(html, "dots")[0].get("d", "").count("h0") == 2
    assert "TTFT over time of 2 answers, 1 above the SLO of 50 ms" in html


def test_ttft_over_time_of_nothing_is_words(answer):
    assert "No answer has a TTFT" in charts.ttft_over_time([], start_ns=0, end_s=1.0, slo_s=None)
