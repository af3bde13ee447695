"""What is asked of a scripted Prometheus for a board, and with which values."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from fakes.prometheus_api import Script, matrix, serving, vector

from dashboards.answers import answer, chosen, span_until
from dashboards.panels import Board, Panel, Query, Variable
from dashboards.query import Prometheus
from dashboards.steps import Span
from serving.errors import Failed, UsageError

SPAN = Span(1000.0, 1300.0, 5.0)
NAMES = "/api/v1/label/deployment/values"
DEPLOYMENT = Variable(name="deployment", title="Deployment", query="label_values(up, deployment)")


def board(*variables: Variable) -> Board:
    return Board(uid="u", title="B", help="h", rows=(), variables=variables)


def choose(script: Script, *variables: Variable, **given: str):
    with serving(script) as url:
        return chosen(Prometheus(url), board(*variables), SPAN, given)


def test_the_only_deployment_is_chosen():
    assert choose(Script({NAMES: ["demo"]}), DEPLOYMENT) == {"deployment": "demo"}


def test_of_several_deployments_one_has_to_be_given():
    with pytest.raises(UsageError, match=r"\(demo, prod\).*--deployment NAME"):
        choose(Script({NAMES: ["prod", "demo"]}), DEPLOYMENT)
    assert choose(Script({NAMES: ["prod", "demo"]}), DEPLOYMENT, deployment="prod") == {"deployment": "prod"}


def test_a_prometheus_that_watches_nothing_of_ours_is_told_to_be_that():
    with pytest.raises(Failed, match="has the label 'deployment'"):
        choose(Script({NAMES: []}), DEPLOYMENT)


def test_a_variable_of_many_is_all_and_a_text_box_its_default():
    many = Variable(name="role", title="Role", query="label_values(up, role)", many=True)
    price = Variable(name="price", title="Price", default="2.5")
    assert choose(Script(), many, price) == {"role": ".*", "price": "2.5"}


@pytest.mark.parametrize(("last_first", "value"), [(False, "v1"), (True, "v2")])
def test_a_single_choice_is_the_first_or_the_last_of_what_its_series_have(last_first, value):
    script = Script({NAMES: ["d"], "/api/v1/label/revision/values": ["v2", "v1"]})
    query = 'label_values(up{job="engine", deployment="$deployment"}, revision)'
    one = Variable(name="base", title="Base", query=query, last_first=last_first)
    assert choose(script, DEPLOYMENT, one)["base"] == value
    asked = parse_qs(script.asked[-1][0].partition("?")[2])
    assert asked == {
        "match[]": ['up{job="engine", deployment="d"}'], "start": ["1000.000"], "end": ["1300.000"],
    }  # fmt: skip


def panel(*queries: Query) -> Panel:
    return Panel(key="k", title="T", kind="timeseries", unit="count", queries=queries, help="h")


def test_a_panel_is_asked_with_all_variables_put_in():
    script = Script({'rate(x{d="demo"}[20s])': matrix(({"a": "b"}, [(1000, "1")]))})
    with serving(script) as url:
        query = Query(expr='rate(x{d="$deployment"}[$__rate_interval])')
        (found,) = answer(Prometheus(url), panel(query), {"deployment": "demo"}, SPAN)
    assert found.expression == 'rate(x{d="demo"}[20s])'
    assert [series.finite() for series in found.series] == [((1000.0, 1.0),)]
    assert script.asked[0][1]["step"] == "5.000"


def test_an_instant_query_is_asked_at_the_end_and_has_one_point_a_series():
    script = Script({"up": vector(({"job": "a"}, "1"), ({"job": "b"}, "0"))})
    with serving(script) as url:
        (found,) = answer(Prometheus(url), panel(Query(expr="up", instant=True)), {}, SPAN)
    assert [len(series.points) for series in found.series] == [1, 1]
    assert script.asked[0][1]["time"] == "1300.000"


def test_a_query_that_prometheus_refuses_does_not_stop_the_others():
    refused = (422, {"status": "error", "errorType": "execution", "error": "many-to-many"})
    script = Script({"bad": refused, "good": matrix(({}, [(1000, "1")]))})
    with serving(script) as url:
        bad, good = answer(Prometheus(url), panel(Query(expr="bad"), Query(expr="good")), {}, SPAN)
    assert "many-to-many" in (bad.error or "")
    assert (good.error, len(good.series)) == (None, 1)


def test_the_scrape_interval_is_that_of_the_slowest_target():
    targets = [
        {"labels": {"job": "x"}, "scrapeUrl": "http://h/m", "health": "up", "scrapeInterval": interval}
        for interval in ("1s", "15s")
    ]
    with serving(Script({"/api/v1/targets": {"activeTargets": targets}})) as url:
        assert span_until(Prometheus(url), 2000.0, 600.0) == Span(1400.0, 2000.0, 15.0)


def test_a_prometheus_without_targets_is_told_to_scrape_nothing():
    with (
        serving(Script({"/api/v1/targets": {"activeTargets": []}})) as url,
        pytest.raises(Failed, match="nothing"),
    ):
        span_until(Prometheus(url), 2000.0, 600.0)
