"""Dashboards read the generator's metrics in the facts, and must not import it: here the two are compared."""

from __future__ import annotations

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from loadgen.exporter import LoadCollector
from loadgen.live import Live, Tally
from loadgen.records import RequestRecord
from loadgen.stats.plan import Slo
from serving.facts.load import load_metrics

RECORD = RequestRecord(0, "measure", "any", "ok", -1, 0, 9, output_ns=(4, 6), output_tokens=3)


def exposed() -> list[Metric]:
    run = Live(sent=1)
    run.add(("any", 0), Tally.of(RECORD, Slo(ttft_s=0.1)))
    registry = CollectorRegistry()
    registry.register(LoadCollector(lambda: run, run="r1", workload="chat"))
    return list(registry.collect())


def test_every_metric_of_the_generator_is_in_the_facts_under_its_name_and_type() -> None:
    told = {row.name.removesuffix("_total"): row.type for row in load_metrics().values()}
    assert {family.name: family.type for family in exposed()} == told


def test_every_metric_of_the_generator_has_the_labels_that_the_facts_say() -> None:
    told = {row.name.removesuffix("_total"): set(row.labels) for row in load_metrics().values()}
    for family in exposed():
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == told[family.name], sample
