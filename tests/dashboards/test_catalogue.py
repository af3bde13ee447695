"""What is exposed, from a small page and small rows."""

from __future__ import annotations

from dashboards.catalogue import captured, declared, missing
from serving.facts.metrics import parse_metrics

PAGE = """# TYPE vllm:hits_total counter
vllm:hits_total{engine="0",reason="capacity"} 1.0
vllm:hits_total{engine="0",reason="deferred"} 1.0
# TYPE vllm:hits_created gauge
vllm:hits_created{engine="0",reason="capacity"} 1.7e9
# TYPE vllm:use gauge
vllm:use{engine="0"} 0.5
# TYPE vllm:wait_seconds histogram
vllm:wait_seconds_bucket{engine="0",le="1.0"} 1.0
vllm:wait_seconds_bucket{engine="0",le="+Inf"} 1.0
vllm:wait_seconds_count{engine="0"} 1.0
vllm:wait_seconds_sum{engine="0"} 0.5
# TYPE vllm:config_info gauge
vllm:config_info{engine="0",block_size="128"} 1.0
"""
FOUND = captured(PAGE, "engine")


def test_a_counter_has_its_name_with_total_and_the_values_of_its_words() -> None:
    hits = FOUND["vllm:hits_total"]
    assert hits.type == "counter"
    assert hits.values["reason"] == {"capacity", "deferred"}
    assert "vllm:hits" not in FOUND


def test_labels_are_the_engine_s_and_those_of_its_target() -> None:
    expected = {"engine", "job", "deployment", "instance", "revision", "role"}
    assert FOUND["vllm:use"].labels == expected


def test_a_histogram_is_three_growing_series() -> None:
    parts = [FOUND[f"vllm:wait_seconds{part}"] for part in ("_bucket", "_sum", "_count")]
    assert {part.type for part in parts} == {"counter"}
    assert "le" in parts[0].labels
    assert "le" not in parts[1].labels


def test_when_a_series_was_born_is_no_series_to_ask_for() -> None:
    assert "vllm:hits_created" not in FOUND


def test_facts_told_as_labels_may_have_any_value() -> None:
    assert FOUND["vllm:config_info"].values == {}


def test_rows_of_the_facts_give_the_same_as_a_page() -> None:
    row = {"name": "t_seconds", "type": "histogram", "unit": "seconds", "since": "1", "source": "here"}
    rows = parse_metrics({"t": {**row, "labels": ["slo"], "values": {"slo": ["ttft"]}}})
    made = declared(rows.values(), "gateway")
    assert made["t_seconds_bucket"].labels == {"slo", "le", "job", "deployment", "instance"}
    assert made["t_seconds_count"].values == {"slo": {"ttft"}}


def test_a_bare_counter_s_name_is_told_the_one_on_the_wire() -> None:
    assert missing("vllm:hits", FOUND).endswith("did you mean vllm:hits_total?")


def test_a_histogram_s_bare_name_is_told_its_parts() -> None:
    assert "ask for vllm:wait_seconds_bucket" in missing("vllm:wait_seconds", FOUND)
