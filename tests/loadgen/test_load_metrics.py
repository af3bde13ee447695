from __future__ import annotations

import re

from loadgen.load_metrics import COUNTS, LATENCIES, WHOLES


def test_names_have_the_prefix_and_base_units() -> None:
    names = [metric.name for metric in (*LATENCIES, *COUNTS, *WHOLES)]
    assert all(re.fullmatch(r"teapot_load_[a-z0-9_]+", name) for name in names)
    assert all(latency.name.endswith("_seconds") for latency in LATENCIES)


def test_buckets_go_up() -> None:
    for latency in LATENCIES:
        assert list(latency.bounds_s) == sorted(set(latency.bounds_s))


def test_a_name_is_one_metric_with_one_help_and_kind() -> None:
    for name in {count.name for count in COUNTS}:
        same = [count for count in COUNTS if count.name == name]
        assert len({(count.kind, count.help) for count in same}) == 1
        assert len({count.outcome for count in same}) == len(same)
