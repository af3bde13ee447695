from pathlib import Path

import pytest

from loadgen.stats.metrics import DEFAULT, METRICS, chosen, parse_floor
from serving.errors import UsageError


def metric(name):
    return chosen((name,), {})[0]


def test_the_larger_floor_counts():
    ttft = metric("ttft.p50")  # 5 % or 5 ms

    assert ttft.floor(1.0) == pytest.approx(0.050)
    assert ttft.floor(0.010) == pytest.approx(0.005)


def test_a_limit_is_never_below_the_floor():
    wide = chosen(("ttft.p50",), {"ttft.p50": (0.5, 0.0)})[0]

    assert wide.floor(1.0) == wide.limit(1.0) == 0.5


def test_metrics_come_in_the_order_of_the_table_whatever_was_asked_first():
    assert [found.name for found in chosen(("failed", "ttft.p95", "ttft.p50"), {})] == [
        "ttft.p50",
        "ttft.p95",
        "failed",
    ]


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match="'ttft' is no metric"):
        chosen(("ttft",), {})
    with pytest.raises(UsageError, match=r"choose from ttft\.p50"):
        chosen(("ttft.p50",), {"nonsense": (0.1, 0.1)})


def test_every_default_is_a_metric_and_every_name_is_used_once():
    names = [found.name for found in METRICS]

    assert set(DEFAULT) <= set(names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("text", "name", "floors"),
    [
        ("ttft.p50=5%,5ms", "ttft.p50", (0.05, 0.005)),
        ("goodput=0%,2.5%", "goodput", (0.0, 0.025)),
        ("output_tokens_per_s = 10%, 30/min", "output_tokens_per_s", (0.1, 0.5)),
    ],
)
def test_floors_are_read_in_the_units_of_their_metric(text, name, floors):
    found, both = parse_floor(text)

    assert found == name
    assert both == pytest.approx(floors)


@pytest.mark.parametrize(
    "text", ["ttft.p50=5%", "ttft.p50=5,5ms", "ttft.p50=5%,5", "ttft.p50", "ttft.p50=5%%,5ms"]
)
def test_a_floor_that_cannot_be_read_is_refused_with_an_example(text):
    with pytest.raises(UsageError, match=r"write it as ttft\.p50=5%,5ms"):
        parse_floor(text)


def test_a_floor_of_an_unknown_metric_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match="'tfft' is no metric"):
        parse_floor("tfft=5%,5ms")


def test_the_documentation_lists_every_metric():
    text = (Path(__file__).parents[3] / "docs" / "load-compare.md").read_text(encoding="utf-8")

    assert [metric.name for metric in METRICS if f"`{metric.name}`" not in text] == []
