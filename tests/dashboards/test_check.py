"""All panels of a board against a scripted Prometheus, and a run against what it tells of the same time."""

from __future__ import annotations

from fakes.prometheus_api import Script, matrix, serving, vector

from dashboards.agreement import ClientView, Distribution, Percentile
from dashboards.check import agreement, check
from dashboards.panels import Board, Panel, Query, Row, Variable
from dashboards.query import Prometheus
from dashboards.steps import Span

SPAN = Span(1000.0, 1300.0, 5.0)


def panel(key: str, expr: str, **changes) -> Panel:
    settings = {"title": key.title(), "kind": "timeseries", "unit": "ratio", "help": "h"}
    return Panel(**{**settings, "key": key, "queries": (Query(expr=expr),), **changes})


BOARD = Board(
    uid="teapot-x", title="X", help="h",
    variables=(Variable(name="deployment", title="Deployment", query="label_values(up, deployment)"),),
    rows=(
        Row("One", (panel("usage", 'vllm:kv{d="$deployment"}'), panel("gone", "vllm:gone"))),
        Row("Two", (panel("drafts", "vllm:drafts", optional="only with speculation"),)),
    ),
)  # fmt: skip


def test_every_panel_of_every_row_is_judged_in_its_order():
    script = Script(
        {
            'vllm:kv{d="demo"}': matrix(({"instance": "i"}, [(1000, "0.25"), (1005, "0.5")])),
            "/api/v1/label/deployment/values": ["demo"],
            "/api/v1/label/__name__/values": ["up", "vllm:kv"],
        }
    )
    seen: list[str] = []
    with serving(script) as url:
        (report,) = check(Prometheus(url), [BOARD], SPAN, {}, seen.append)
    assert report.values == {"deployment": "demo"}
    assert [(v.panel, v.status) for v in report.verdicts] == [
        ("usage", "alive"), ("gone", "dead"), ("drafts", "not in use"),
    ]  # fmt: skip
    assert seen == ["X: Usage", "X: Gone", "X: Drafts"]


VIEW = ClientView(
    run="r", began_s=1000.0, measured_s=1010.0, sent=64, paths=("/v1/chat/completions",),
    ends_s=(1020.0, 1060.0),
    latencies={"ttft": Distribution(0.15, (Percentile(0.5, 0.13, 0.11, 0.16),))},
)  # fmt: skip


class Told(dict):
    """Answers by a part of the expression and the time."""

    def __init__(self, rules) -> None:
        self.rules = rules

    def get(self, expression, default=None):
        return next((answer for part, answer in self.rules if part in expression), default)


def test_a_run_is_compared_by_count_mean_and_bucket():
    rules = [
        ("count by (le)", vector(*(({"le": le}, "3") for le in ("0.1", "0.25", "+Inf")))),
        ("teapot_load", vector()),
        ("vllm:", vector(({}, "0.2"))),
        ("histogram_quantile", vector(({}, "0.18"))),
        ("teapot_gateway_requests_total", vector(({}, "64"))),
        ("teapot_gateway_time_to_first_byte_seconds_sum", vector(({}, "0.152"))),
    ]
    with serving(Script(Told(rules))) as url:
        found = {(c.what, c.where): c for c in agreement(Prometheus(url), VIEW, "d", 5.0)}
    assert found["TTFT mean", "gateway"].agrees is True
    assert found["TTFT p50", "gateway"].agrees is True
    assert found["TTFT p50", "gateway"].server == "0.1 .. 0.25 s"
    assert found["TTFT mean", "engines"].agrees is False
    assert found["TTFT mean", "load generator"].agrees is None


def test_what_was_counted_before_the_run_is_not_the_runs():
    class Growing(dict):
        def get(self, expression, default=None):
            if "teapot_gateway_requests_total" not in expression:
                return default
            before = script.asked[-1][1]["time"] == "1000.000"
            return vector(({}, "36" if before else "100"))

    script = Script(Growing())
    with serving(script) as url:
        requests = next(iter(agreement(Prometheus(url), VIEW, "d", 5.0)))
    assert (requests.what, requests.server, requests.agrees) == ("requests", "64 requests", True)
