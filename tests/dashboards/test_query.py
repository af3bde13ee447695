"""The client against scripted answers, in the shapes that a real Prometheus 2.42 gave."""

from __future__ import annotations

import socket

import pytest
from fakes.prometheus_api import Script, matrix, serving, vector

from dashboards.query import Prometheus, QueryRefused
from dashboards.samples import Metadata, Point, Sample, Series, Target
from serving.errors import Failed, UsageError

TARGETS = {
    "activeTargets": [
        {
            "labels": {"instance": "127.0.0.1:9", "job": "gone"}, "scrapeUrl": "http://127.0.0.1:9/metrics",
            "lastError": "connection refused", "health": "down", "scrapeInterval": "1m30s",
        },
        {
            "labels": {"instance": "127.0.0.1:8", "job": "engine", "revision": "r1"},
            "scrapeUrl": "http://127.0.0.1:8/metrics", "lastError": "", "health": "up",
            "scrapeInterval": "5s",
        },
    ]
}  # fmt: skip


def test_an_instant_query_gives_a_sample_a_series():
    up = {"__name__": "up", "job": "a"}
    with serving(Script({"up": vector((up, "1"), ({"job": "b"}, "NaN"))})) as url:
        assert Prometheus(url).query("up") == (Sample(up, 1000.5, 1.0), Sample({"job": "b"}, 1000.5, None))


def test_no_series_is_an_empty_answer_and_no_error():
    with serving(Script()) as url:
        assert Prometheus(url).query("nothing") == ()


def test_a_range_gives_points_in_their_order():
    answer = matrix(({"job": "a"}, [(10, "1"), (15, "NaN"), (20, "2.5")]))
    script = Script({"up": answer})
    with serving(script) as url:
        found = Prometheus(url).query_range("up", start_s=10, end_s=20.25, step_s=5)
    assert found == (Series({"job": "a"}, (Point(10, 1.0), Point(15, None), Point(20, 2.5))),)
    ((path, form),) = script.asked
    assert path == "/api/v1/query_range"
    assert (form["start"], form["end"], form["step"]) == ("10.000", "20.250", "5.000")


def test_the_time_and_the_limit_are_told_to_prometheus():
    script = Script()
    with serving(script) as url:
        Prometheus(url + "/", timeout_s=4).query("up", at_s=12.5)
    assert script.asked == [("/api/v1/query", {"query": "up", "time": "12.500", "timeout": "3600ms"})]


@pytest.mark.parametrize(("start_s", "end_s", "step_s"), [(5, 4, 1), (0, 10, 0), (0, 11_000, 1)])
def test_a_range_that_prometheus_would_refuse_is_not_asked(start_s, end_s, step_s):
    with pytest.raises(ValueError, match="is not a range"):
        Prometheus("http://127.0.0.1:9").query_range("up", start_s=start_s, end_s=end_s, step_s=step_s)


def test_targets_tell_their_labels_health_and_interval():
    with serving(Script({"/api/v1/targets": TARGETS})) as url:
        engine, gone = Prometheus(url).targets()
    labels = {"instance": "127.0.0.1:8", "job": "engine", "revision": "r1"}
    assert engine == Target("engine", labels, "http://127.0.0.1:8/metrics", True, None, 5.0)
    assert (gone.job, gone.up, gone.error, gone.scrape_interval_s) == (
        "gone",
        False,
        "connection refused",
        90.0,
    )


def test_metadata_is_by_family():
    rows = {"vllm:num_preemptions": [{"type": "counter", "help": "Preemptions.", "unit": ""}]}
    with serving(Script({"/api/v1/metadata": rows})) as url:
        found = Prometheus(url).metadata()
    assert found == {"vllm:num_preemptions": Metadata("vllm:num_preemptions", "counter", "Preemptions.")}


@pytest.mark.parametrize("status", [400, 422])
def test_a_wrong_expression_is_told_with_what_prometheus_says(status):
    said = {"status": "error", "errorType": "bad_data", "error": "1:4: parse error: unexpected end of input"}
    with serving(Script({"up{": (status, said)})) as url, pytest.raises(QueryRefused) as told:
        Prometheus(url).query("up{")
    (problem,) = told.value.problems
    assert "1:4: parse error" in problem.what
    assert problem.where == f"{url}/api/v1/query"
    assert problem.fix == "correct the expression: up{"


def test_a_range_vector_is_no_answer_to_an_instant_query():
    with serving(Script({"up[5m]": matrix()})) as url, pytest.raises(QueryRefused, match="gives a matrix"):
        Prometheus(url).query("up[5m]")


def test_a_query_that_took_too_long_is_not_a_wrong_expression():
    said = {"status": "error", "errorType": "timeout", "error": "query timed out"}
    with serving(Script({"up": (503, said)})) as url, pytest.raises(Failed, match="shorter range") as told:
        Prometheus(url).query("up")
    assert not isinstance(told.value, QueryRefused)


@pytest.mark.parametrize(
    "answer",
    [b"<html>", b"[]", b'{"status": "success"}', b'{"status": "success", "data": {}}', (404, b"404 page"),
     (502, b""), {"resultType": "vector", "result": [{}]}],
    ids=str,
)  # fmt: skip
def test_something_else_than_prometheus_is_told_to_be_that(answer):
    with (
        serving(Script({"up": answer})) as url,
        pytest.raises(Failed, match="does not answer like Prometheus") as told,
    ):
        Prometheus(url).query("up")
    assert not isinstance(told.value, QueryRefused)


def test_nobody_listening_is_told_with_what_to_do():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Failed, match="cannot be reached") as told:
            Prometheus(url).query("up")
    assert "teapot serve" in str(told.value)


def test_one_that_hangs_is_given_up():
    with serving(Script(delay_s=0.5)) as url, pytest.raises(Failed, match=r"within 0\.05 s"):
        Prometheus(url, timeout_s=0.05).query("up")


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:9090", "ftp://h", "http://", "http://h:99999", "http://h?x=1", "http://me:pw@h:9090"],
)
def test_what_is_no_address_is_refused_before_anything_is_asked(url):
    with pytest.raises(UsageError, match=r"http://127\.0\.0\.1:9090"):
        Prometheus(url)
