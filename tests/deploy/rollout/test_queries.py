"""The counts that a gate asks for: those of the boards, and the same of Prometheus as of an exposition."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes.exposed import catalogue
from fakes.promtool import needs_promtool, queries_give
from prometheus_client.parser import text_string_to_metric_families

from dashboards.promql import Scope
from dashboards.samples import Sample
from dashboards.slis import SLIS
from deploy.rollout.queries import COUNTS, Count, read_exposed, read_prometheus

CAPTURE = Path(__file__).parents[2] / "golden" / "metrics" / "vllm-0.32.0.txt"
SELECTOR = re.compile(r'([a-zA-Z_:][\w:]*)\{((?:[^}"]|"[^"]*")*)\}')
MATCHER = re.compile(r'\w+(?:=~|!=|=)"[^"]*"')
ROWS = {count.key: count for count in COUNTS}
CHAT, EMBED = "/v1/chat/completions", "/v1/models"


def selectors(expression: str) -> dict[str, set[str]]:
    """Each metric of an expression, and what it is narrowed by."""
    return {name: set(MATCHER.findall(inner)) for name, inner in SELECTOR.findall(expression)}


@pytest.mark.parametrize("count", [c for c in COUNTS if c.sli is not None], ids=lambda c: c.key)
def test_a_count_is_of_the_requests_that_its_indicator_on_the_boards_is_made_of(count: Count) -> None:
    assert count.sli is not None
    whose = ('deployment="d"', 'revision="r"')
    engines = ('role!="prefill"',) if count.metric.startswith("vllm:") else ()
    board = selectors(SLIS[count.sli].query(Scope((*whose, *engines))))
    ((metric, narrowed),) = selectors(count.promql("d", "r")).items()
    # The boards take a mean by `_count`, which is the bucket of +Inf.
    drawn = board.get(metric) or board[re.sub(r"_bucket$", "_count", metric).replace("_sum", "_bucket")]
    assert narrowed <= drawn
    assert {re.split(r"=|!", matcher)[0] for matcher in drawn - narrowed} <= set(count.keep)


@pytest.mark.parametrize("count", COUNTS, ids=lambda c: c.key)
def test_a_count_asks_for_metrics_and_labels_that_are_exposed(count: Count) -> None:
    series = catalogue()[count.metric]
    for _, narrowed in selectors(count.promql("d", "r")).items():
        assert {re.split(r"=|!", matcher)[0] for matcher in narrowed} <= series.labels
    assert set(count.keep) <= series.labels


def test_a_query_can_be_read_by_a_person() -> None:
    assert ROWS["judged"].promql("demo", "v2") == (
        'sum by (slo, met) (teapot_slo_requests_total{deployment="demo", revision="v2"})'
    )
    assert ROWS["targets"].promql("demo", "v2") == (
        'min by (slo) (teapot_slo_target_ratio{deployment="demo"})'
    )


def told(name: str, value: float, **labels: str) -> Sample:
    return Sample({"__name__": name, "deployment": "d", "revision": "v2", **labels}, 0.0, value)


REQUESTS, FINISHED = "teapot_gateway_requests_total", "vllm:request_success_total"
EXPOSED = (
    told(REQUESTS, 5, path=CHAT, outcome="ok", traffic="client", code="200", backend="a"),
    told(REQUESTS, 2, path=CHAT, outcome="ok", traffic="client", code="206", backend="b"),
    told(REQUESTS, 1, path=CHAT, outcome="timeout", traffic="client", backend="b"),
    told(REQUESTS, 7, path=CHAT, outcome="ok", traffic="shadow", backend="a"),
    told(REQUESTS, 9, path=EMBED, outcome="ok", traffic="client", backend="a"),
    told("teapot_gateway_time_to_first_byte_seconds_bucket", 3, path=CHAT, streamed="true", role="any",
         traffic="client", backend="b", le="0.5"),
    Sample({"__name__": REQUESTS, "deployment": "d", "revision": "main", "path": CHAT, "outcome": "ok",
            "traffic": "client"}, 0.0, 99.0),
    told(FINISHED, 4, finished_reason="stop", role="decode", instance="a"),
    told(FINISHED, 3, finished_reason="stop", role="any", instance="b"),
    told(FINISHED, 8, finished_reason="length", role="prefill", instance="c"),
    Sample({"__name__": "teapot_slo_target_ratio", "deployment": "d", "slo": "ttft"}, 0.0, 0.99),
    told("teapot_engine_memory_bytes", 100, role="any", backend="a"),
    Sample({"__name__": "teapot_engine_memory_bytes", "deployment": "d", "revision": "main",
            "backend": "g"}, 0.0, 50.0),
    told("teapot_engine_failures_total", 2, role="any", backend="b"),
    told("teapot_gateway_backend_ready", 1, role="any", backend="a"),
    told("teapot_gateway_backend_ready", 0, role="any", backend="b"),
)  # fmt: skip
EXPECTED = {
    "requests": {f"{CHAT}|ok": 7.0, f"{CHAT}|timeout": 1.0},
    "engine_requests": {f"a|{CHAT}|ok": 5.0, f"b|{CHAT}|ok": 2.0, f"b|{CHAT}|timeout": 1.0},
    "first_byte_bucket": {"0.5": 3.0},
    "engine_first_byte_bucket": {"b|0.5": 3.0},
    "failures": {"b": 2.0},
    "finished": {"stop": 7.0},
    "targets": {"ttft": 0.99},
    "memory": {"a": 100.0},
    "ready": {"": 1.0},
}


def test_an_exposition_is_counted_as_it_would_be_by_hand() -> None:
    found = read_exposed(EXPOSED, "v2", 12.0)
    assert found.counts == EXPECTED
    assert (found.revision, found.at_s) == ("v2", 12.0)


@pytest.mark.slow
@needs_promtool
def test_prometheus_counts_the_same() -> None:
    series = {}
    for sample in EXPOSED:
        labels = ", ".join(f'{k}="{v}"' for k, v in sample.labels.items() if k != "__name__")
        series[f"{sample.labels['__name__']}{{{labels}}}"] = f"{sample.value}x10"
    expected = {}
    for key, values in EXPECTED.items():
        count = ROWS[key]
        rows = []
        for labels, value in values.items():
            parts = dict(zip(count.keep, labels.split("|"), strict=True)) if count.keep else {}
            rows.append(("{" + ", ".join(f'{k}="{v}"' for k, v in parts.items()) + "}", value))
        expected[count.promql("d", "v2")] = rows
    queries_give(series, "5m", expected)


def test_prometheus_is_asked_for_each_count_at_one_moment() -> None:
    asked: list[tuple[str, float]] = []

    def ask(expression: str, at_s: float) -> tuple[Sample, ...]:
        asked.append((expression, at_s))
        if "teapot_slo_requests_total" not in expression:
            return ()
        return (
            Sample({"slo": "ttft", "met": "false"}, at_s, 3.0),
            Sample({"slo": "e2e", "met": "true"}, at_s, None),
        )

    found = read_prometheus(ask, "d", "v2", 77.0)
    assert found.counts == {"judged": {"ttft|false": 3.0}}
    assert [at_s for _, at_s in asked] == [77.0] * len(COUNTS)


def test_a_real_engines_exposition_tells_lengths_and_reasons() -> None:
    families = text_string_to_metric_families(CAPTURE.read_text(encoding="utf-8"))
    target = {"revision": "v2", "role": "any", "job": "engine", "instance": "http://e"}
    samples = [
        Sample({**s.labels, **target, "__name__": s.name}, 0.0, s.value) for f in families for s in f.samples
    ]
    counts = read_exposed(samples, "v2", 0.0).counts
    assert counts["prompt_tokens_bucket"]["200.0"] == 42.0
    assert counts["prompt_tokens_bucket"]["100.0"] == 2.0
    assert counts["answer_tokens_bucket"]["50.0"] == 1.0
    assert counts["asked_tokens_bucket"]["+Inf"] == 42.0


def test_a_matcher_that_cannot_be_read_is_a_mistake_of_ours() -> None:
    row = Count(key="x", metric="m", matchers=("path>3",))
    with pytest.raises(ValueError, match="'path>3' is no matcher"):
        row.select([Sample({"__name__": "m", "revision": "v2"}, 0.0, 1.0)], "v2")
