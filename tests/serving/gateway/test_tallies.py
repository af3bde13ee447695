"""Counts and times against Prometheus' text format, written by hand."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.registry import Collector

from serving.facts.load import own_metrics
from serving.gateway.tallies import Counts, Timings

FAILED = own_metrics()["gateway_failed_tries"]
PREFILL = own_metrics()["gateway_prefill_leg"]


def samples(collector: Collector) -> list[str]:
    """The lines that are no comments."""
    registry = CollectorRegistry()
    registry.register(collector)
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def test_a_count_is_shown_with_its_labels() -> None:
    failed = Counts(FAILED)
    failed.at("main", "any", "http://e").inc()
    failed.at("main", "any", "http://e").inc(2)
    failed.at("canary", "any", "http://f").inc()
    name = "teapot_gateway_failed_tries_total"
    assert samples(failed) == [
        f'{name}{{backend="http://e",revision="main",role="any"}} 3.0',
        f'{name}{{backend="http://f",revision="canary",role="any"}} 1.0',
    ]


def test_what_was_asked_for_is_there_from_0_on() -> None:
    failed = Counts(FAILED)
    failed.at("main", "any", "http://e")
    assert [line.rpartition(" ")[2] for line in samples(failed)] == ["0.0"]


def test_a_bucket_holds_all_times_up_to_its_bound_and_the_bound_itself() -> None:
    prefill = Timings(PREFILL, (0.25, 1.0))
    for took_s in (0.125, 0.25, 0.5, 4.0):
        prefill.at("main").observe(took_s)
    name = "teapot_gateway_prefill_leg_seconds"
    assert samples(prefill) == [
        f'{name}_bucket{{le="0.25",revision="main"}} 2.0',
        f'{name}_bucket{{le="1.0",revision="main"}} 3.0',
        f'{name}_bucket{{le="+Inf",revision="main"}} 4.0',
        f'{name}_count{{revision="main"}} 4.0',
        f'{name}_sum{{revision="main"}} 4.875',
    ]


def test_times_that_were_sorted_elsewhere_are_added() -> None:
    prefill = Timings(PREFILL, (0.25, 1.0))
    prefill.at("main").observe(0.5)
    prefill.at("main").add([3, 0, 1], 2.5)
    values = [line.rpartition(" ")[2] for line in samples(prefill)]
    assert values == ["3.0", "4.0", "5.0", "5.0", "3.0"]


def test_times_are_shown_as_the_client_library_shows_its_own() -> None:
    bounds = (0.001, 0.0025, 0.05, 1.0, 60.0, 600.0)
    registry = CollectorRegistry()
    theirs = Histogram(PREFILL.name, PREFILL.help, PREFILL.labels, registry=registry, buckets=bounds)
    ours = Timings(PREFILL, bounds)
    for took_s in (0.0005, 0.001, 0.02, 59.0, 1000.0):
        theirs.labels("main").observe(took_s)
        ours.at("main").observe(took_s)
    shown = [
        line
        for line in generate_latest(registry).decode().splitlines()
        if not line.startswith("#") and "_created" not in line
    ]
    assert samples(ours) == shown
