"""The load generator's own `/metrics`, on loopback, while a run is on.

Owns: the page and its server. Knows nothing about what the metrics are (`loadgen.load_metrics`) or who
fills in the run: that is a function that comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Metric, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from loadgen.live import Live, Tally
from loadgen.load_metrics import COUNTS, LABELS, LATENCIES, NO_STAGE, WHOLES, Count, Latency
from serving.errors import UsageError

ADDRESS = "127.0.0.1"
Family = CounterMetricFamily | GaugeMetricFamily
_FAMILIES = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}


class LoadCollector(Collector):
    """Makes the page anew for each scrape, from the run as it is."""

    def __init__(self, live: Callable[[], Live], *, run: str, workload: str) -> None:
        self._live, self._run, self._workload = live, run, workload

    def collect(self) -> Iterable[Metric]:
        """Every metric of `loadgen.load_metrics`."""
        live = self._live()
        stages = {self._stage(stage): tally for stage, tally in live.by_stage().items()}
        for latency in LATENCIES:
            yield self._histogram(latency, stages)
        yield from self._counts(stages)
        for whole in WHOLES:
            family = _FAMILIES[whole.kind](whole.name, whole.help, labels=LABELS)
            family.add_metric(self._labels(NO_STAGE), whole.of(live))
            yield family

    def _histogram(self, latency: Latency, stages: Mapping[str, Tally]) -> Metric:
        family = HistogramMetricFamily(latency.name, latency.help, labels=LABELS)
        for stage, tally in stages.items():
            histogram = latency.of(tally)
            counts = histogram.counts_at_most(latency.bounds_s)
            buckets = [(str(bound), count) for bound, count in zip(latency.bounds_s, counts, strict=True)]
            buckets.append(("+Inf", histogram.n))
            family.add_metric(self._labels(stage), buckets, sum_value=histogram.sum_ns / 1e9)
        return family

    def _counts(self, stages: Mapping[str, Tally]) -> Iterator[Metric]:
        by_name: dict[str, list[Count]] = {}
        for count in COUNTS:
            by_name.setdefault(count.name, []).append(count)
        for name, counts in by_name.items():
            labels = (*LABELS, "outcome") if counts[0].outcome else LABELS
            family: Family = _FAMILIES[counts[0].kind](name, counts[0].help, labels=labels)
            for count in counts:
                more = [count.outcome] if count.outcome else []
                for stage, tally in stages.items():
                    value = count.of(tally)
                    if value is not None:
                        family.add_metric([*self._labels(stage), *more], value)
            yield family

    def _labels(self, stage: str) -> list[str]:
        return [self._run, stage, self._workload]

    @staticmethod
    def _stage(stage: int | None) -> str:
        return NO_STAGE if stage is None else str(stage)


@contextmanager
def exported(
    collector: LoadCollector, port: int | None, *, unless_taken: Callable[[str], None] | None = None
) -> Iterator[int | None]:
    """Serve the collector's page for the length of a `with`; gives the port. None: no page.

    With `unless_taken`, a port that is taken is only said. Raises: UsageError else.
    """
    if port is None:
        yield None
        return
    registry = CollectorRegistry()
    registry.register(collector)
    try:
        server, thread = start_http_server(port, addr=ADDRESS, registry=registry)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        told = f"port {port} cannot be opened for the generator's own metrics: {why}"
        if unless_taken is None:
            fix = "give another port, or 0 for any free one"
            raise UsageError(told, where="--exporter-port", fix=fix) from error
        unless_taken(told)
        yield None
        return
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
