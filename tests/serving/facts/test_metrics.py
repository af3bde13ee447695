"""Metric rows."""

from __future__ import annotations

import pytest

from serving.facts.metrics import parse_metrics

ROW = {"name": "vllm:x_total", "type": "counter", "unit": "tokens", "since": "0.32.0", "source": "here"}


def test_a_row_becomes_a_metric_with_its_labels_in_order() -> None:
    metric = parse_metrics({"x": {**ROW, "labels": ["engine", "model_name"]}})["x"]
    assert (metric.name, metric.type, metric.labels) == ("vllm:x_total", "counter", ("engine", "model_name"))


def test_a_label_of_few_words_has_them_all() -> None:
    metric = parse_metrics({"x": {**ROW, "labels": ["met"], "values": {"met": ["true", "false"]}}})["x"]
    assert metric.values == {"met": ("true", "false")}


def test_a_row_without_a_unit_is_refused() -> None:
    with pytest.raises(TypeError, match="unit"):
        parse_metrics({"x": {key: value for key, value in ROW.items() if key != "unit"}})
