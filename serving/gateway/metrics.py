"""The gateway's metrics, in a registry of their own.

Owns: what each outcome adds to which metric, and the buckets. Knows nothing about requests in progress: it is
told of each once, at its end. What is true at this moment (in flight, modes) is read when Prometheus asks, so
there is no second count that could drift. Names, labels and words are data (`serving/facts/metrics.toml`).
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from serving.facts.load import own_metrics
from serving.gateway.objectives import Objectives, judged
from serving.gateway.outcome import Outcome
from serving.gateway.rollout_metrics import RolloutMetrics
from serving.gateway.series import OFTEN_COUNTED, OFTEN_TIMED, Alike, Families, Series
from serving.gateway.state import GatewayState
from serving.gateway.tallies import Counts, Timings
from serving.modes.mode import Verdict

# From an error answered at once to the longest generation; dense where objectives for TTFT lie.
BUCKETS_S = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75,
    1.0, 1.5, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0,
)  # fmt: skip
NONE = "none"
"""The code of a request whose client left before it was answered, and the revision, role and backend of one
that was refused before it had any."""

_Where = tuple[str, str, str, str]
"""Revision, role, backend, traffic."""


def bucket_bounds(slos_s: Iterable[float]) -> tuple[float, ...]:
    """The buckets' upper bounds, with the deployment's objectives among them: then shares are exact."""
    return tuple(sorted({*BUCKETS_S, *(slo for slo in slos_s if slo > 0)}))


class GatewayMetrics:
    """The metrics of one gateway."""

    def __init__(self, state: GatewayState, objectives: Objectives | None = None) -> None:
        self.registry = CollectorRegistry()
        self.objectives = objectives or Objectives()
        self._bounds_s = bucket_bounds(self.objectives.bounds_s())
        self.gap_bounds_ns = tuple(round(bound * 1e9) for bound in self._bounds_s)
        """Where `Gaps` of this gateway's answers are to be divided."""
        self.registry.register(_Now(state, self))
        self.registry.register(RolloutMetrics(state))
        self._series: dict[Alike, Series] = {}
        self._families = Families(
            {key: self._counts(key) for key in OFTEN_COUNTED},
            {key: self._timings(key) for key in OFTEN_TIMED},
        )
        self._judged = self._counts("slo_requests")
        self._failed = self._counts("gateway_failed_tries")
        self._fallbacks = self._counts("gateway_fallbacks")
        self._lent = self._counts("gateway_lent")
        self._prefill = self._timings("gateway_prefill_leg")

    def observe(self, outcome: Outcome) -> None:
        """Count a request that has ended."""
        where = (outcome.revision or NONE, outcome.role or NONE, outcome.backend or NONE, outcome.traffic)
        code = NONE if outcome.status is None else str(outcome.status)
        alike = Alike(outcome.path, outcome.kind, code, "true" if outcome.streamed else "false", *where)
        series = self._series.get(alike)
        if series is None:
            series = self._series[alike] = Series(self._families, alike)
        accepted_ns = outcome.accepted_ns
        series.requests.inc()
        series.duration.observe((outcome.ended_ns - accepted_ns) / 1e9)
        if outcome.admitted_ns is not None:
            series.queue.observe((outcome.admitted_ns - accepted_ns) / 1e9)
        if outcome.first_byte_ns is not None:
            series.first_byte.observe((outcome.first_byte_ns - accepted_ns) / 1e9)
            self._observe_pieces(outcome, series)
        if outcome.reused is not None:
            (series.reused if outcome.reused else series.connected).inc()
        self._observe_ways(outcome, where)
        for slo, met in judged(outcome, self.objectives):
            self._judged.at(slo, "true" if met else "false", *where[:3]).inc()

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def expect(self, places: Iterable[tuple[str, str, str]]) -> None:
        """Count judgements of these (revision, role, backend) from 0 on.

        `rate` does not see the events that a counter is born with: an outage would begin unseen.
        """
        for place in places:
            for slo in self.objectives.targets():
                for met in ("true", "false"):
                    self._judged.at(slo, met, *place)

    def _observe_pieces(self, outcome: Outcome, series: Series) -> None:
        if outcome.first_byte_ns is None or outcome.last_byte_ns is None:
            return
        between_s = (outcome.last_byte_ns - outcome.first_byte_ns) / 1e9
        if outcome.tokens_in is not None:
            series.prompt_tokens.inc(outcome.tokens_in)
        if outcome.tokens_out is not None:
            series.output_tokens.inc(outcome.tokens_out)
            if outcome.streamed and outcome.tokens_out > 1:
                series.tpot.observe(between_s / (outcome.tokens_out - 1))
        if outcome.streamed and outcome.gaps is not None:
            series.gaps.add(outcome.gaps.counts, between_s)

    def _observe_ways(self, outcome: Outcome, where: _Where) -> None:
        for missed in outcome.missed:
            self._failed.at(*missed).inc()
        if outcome.fallback is not None:
            self._fallbacks.at(outcome.fallback, where[0]).inc()
        if outcome.lent:
            self._lent.at(where[0]).inc()
        if outcome.prefill_s is not None:
            self._prefill.at(where[0]).observe(outcome.prefill_s)

    def _counts(self, key: str) -> Counts:
        counts = Counts(own_metrics()[key])
        self.registry.register(counts)
        return counts

    def _timings(self, key: str) -> Timings:
        timings = Timings(own_metrics()[key], self._bounds_s)
        self.registry.register(timings)
        return timings


class _Now(Collector):
    """What is true at this moment."""

    def __init__(self, state: GatewayState, metrics: GatewayMetrics) -> None:
        self._state = state
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        yield _gauge("gateway_in_flight", [((), self._state.in_flight)])
        yield _gauge("gateway_queued", [((), self._state.queued())])
        backends = [((b.revision, b.role, b.url), b) for b in self._state.backends]
        self._metrics.expect([(NONE, NONE, NONE), *(labels for labels, _ in backends)])
        yield _gauge("gateway_backend_in_flight", [(labels, b.in_flight) for labels, b in backends])
        yield _gauge("gateway_backend_ready", [(labels, b.state == "ready") for labels, b in backends])
        revisions = self._state.backends.revisions()
        yield _gauge("gateway_revision_weight", [((r.name,), r.weight) for r in revisions])
        yield _count("engine_failures", [(labels, b.failures) for labels, b in backends])
        memory = [(labels, b.memory_bytes) for labels, b in backends if b.memory_bytes is not None]
        yield _gauge("engine_memory", memory)
        objectives = self._metrics.objectives
        yield _gauge("slo_threshold", [((slo,), s) for slo, s in objectives.thresholds_s().items()])
        yield _gauge("slo_target", [((slo,), share) for slo, share in objectives.targets().items()])
        yield _gauge("mode_in_effect", _modes(self._state.judged()))
        yield _gauge("build", [((_version(),), 1)])


def _modes(verdicts: Iterable[Verdict]) -> Iterable[tuple[tuple[str], float]]:
    """One sample a kind: a mode that is missing in one engine is not in effect."""
    by_kind: dict[str, bool] = {}
    for verdict in verdicts:
        if verdict.in_effect is not None:
            by_kind[verdict.kind] = by_kind.get(verdict.kind, True) and verdict.in_effect
    return [((kind,), in_effect) for kind, in_effect in by_kind.items()]


def _gauge(key: str, samples: Iterable[tuple[tuple[str, ...], float]]) -> GaugeMetricFamily:
    row = own_metrics()[key]
    family = GaugeMetricFamily(row.name, row.help, labels=row.labels)
    for labels, value in samples:
        family.add_metric(labels, float(value))
    return family


def _count(key: str, samples: Iterable[tuple[tuple[str, ...], float]]) -> CounterMetricFamily:
    row = own_metrics()[key]
    family = CounterMetricFamily(row.name, row.help, labels=row.labels)
    for labels, value in samples:
        family.add_metric(labels, float(value))
    return family


def _version() -> str:
    try:
        return version("teapot-serving")
    except PackageNotFoundError:
        return "unknown"
