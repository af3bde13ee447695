import re
from xml.etree import ElementTree

import pytest

from loadgen.report import over_time
from loadgen.report.over_time import TimeAxis
from loadgen.server_metrics import ServerSample

S = 1_000_000_000


def svg_of(html: str) -> ElementTree.Element:
    """The drawing, which must be well-formed XML."""
    (svg,) = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    return ElementTree.fromstring(svg)


def drawn(html: str, css: str) -> list[ElementTree.Element]:
    return [element for element in svg_of(html).iter() if css in element.get("class", "").split()]


def test_the_timeline_shows_waiting_then_streaming_for_each_request(answer):
    # 0..104 ms would be the scale of 100 ms: sent 0, first token 40, end 60 ms.
    html = over_time.timeline([answer(0)], TimeAxis(0, 0.1))
    (wait,), (stream,) = drawn(html, "wait"), drawn(html, "stream")

    assert (float(wait.get("x", "")), float(wait.get("width", ""))) == pytest.approx((0, 384.6), abs=0.1)
    assert (float(stream.get("x", "")), float(stream.get("width", ""))) == pytest.approx(
        (384.6, 192.3), abs=0.1
    )
    assert float(wait.get("height", "")) < float(stream.get("height", ""))


def test_a_failed_request_is_told_apart_by_more_than_colour(answer):
    html = over_time.timeline([answer(0), answer(1, outcome="failed", output_ns=())], TimeAxis(0, 0.2))

    assert len(drawn(html, "stop")) == 1
    assert len(drawn(html, "bad")) == 1
    assert "2 requests over 200.00 ms: at most 1 at once, 1 failed or cut" in html


def test_concurrency_reaches_as_high_as_requests_overlapped(answer):
    records = [answer(0), answer(1, t_sent_ns=20_000_000, t_end_ns=50_000_000)]

    assert "at most 2" in over_time.concurrency(records, TimeAxis(0, 0.1))


def test_ttft_over_time_has_a_dot_for_each_answer_and_counts_those_above_the_objective(answer):
    late = answer(1, output_ns=(100_000_000 + 70_000_000,))
    html = over_time.ttft_over_time([answer(0), late], TimeAxis(0, 1.0), slo_s=0.050)

    assert drawn(html, "dots")[0].get("d", "").count("h0") == 2
    assert "TTFT over time of 2 answers, 1 above the SLO of 50 ms" in html


def test_ttft_over_time_of_nothing_is_words(answer):
    assert "No answer has a TTFT" in over_time.ttft_over_time([], TimeAxis(0, 1.0), slo_s=None)


def sample(at_s, url="http://a", **series):
    return ServerSample(int(at_s * S), url, {f"vllm:{name}": value for name, value in series.items()})


def test_what_the_engines_had_to_do_is_drawn_under_the_same_axis():
    # The phase begins at 5 s and lasts 10: 0 to 10.4 s are the plot, so 5 s lie at 480.8.
    samples = [
        sample(2, num_requests_running=99.0),
        sample(5, num_requests_running=2.0, num_requests_waiting=0.0),
        sample(10, num_requests_running=4.0, num_requests_waiting=3.0),
    ]
    html = over_time.server_load(samples, TimeAxis(5 * S, 10.0))

    running, waiting = drawn(html, "line")
    assert running.get("d", "").startswith("M0.0 519.2H480.8V38.5")
    assert "waiting" in waiting.get("class", "")
    assert "at most 4 running, 3 waiting" in html


def test_engines_read_in_the_same_second_are_added_and_the_fullest_cache_counts():
    samples = [
        sample(1.1, "http://a", num_requests_running=2.0, kv_cache_usage_perc=0.5),
        sample(1.4, "http://b", num_requests_running=3.0, kv_cache_usage_perc=0.25),
    ]
    axis = TimeAxis(0, 10.0)

    assert "at most 5 running" in over_time.server_load(samples, axis)
    assert "at most 50.0 %" in over_time.kv_usage(samples, axis)


def test_a_server_that_was_not_read_has_no_chart():
    assert over_time.server_load([], TimeAxis(0, 10.0)) == ""
    assert over_time.kv_usage([sample(1, num_requests_running=1.0)], TimeAxis(0, 10.0)) == ""


def test_stages_are_marked_on_every_chart(answer):
    axis = TimeAxis(0, 0.1, ((0.0, "2/s"), (0.05, "2/s to 8/s")))
    samples = [sample(0, num_requests_running=1.0, kv_cache_usage_perc=0.1)]
    charts = (
        over_time.timeline([answer(0)], axis),
        over_time.concurrency([answer(0)], axis),
        over_time.ttft_over_time([answer(0)], axis, slo_s=None),
        over_time.server_load(samples, axis),
        over_time.kv_usage(samples, axis),
    )

    for html in charts:
        assert len(drawn(html, "stage")) == 2
        assert "2/s to 8/s" in html
