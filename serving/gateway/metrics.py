"""The gateway's metrics, in a registry of their own.

Owns: their names, labels and buckets (`SPECS`, `BUCKETS_S`). Knows nothing about requests in progress: it is
told of each once, at its end. What is true at this moment (in flight, modes) is read when Prometheus asks,
so there is no second count that could drift.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from serving.gateway.outcome import Outcome
from serving.gateway.state import GatewayState
from serving.modes.mode import Verdict

# From an error answered at once to the longest generation; dense where objectives for TTFT lie.
BUCKETS_S = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75,
    1.0, 1.5, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0,
)  # fmt: skip
NO_STATUS = "none"
"""The code of a request whose client left before it was answered."""
NO_REVISION = "none"
"""The revision of a request that was refused before a backend was chosen."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One metric as it is exposed."""

    name: str
    help: str
    labels: tuple[str, ...]


REQUESTS = Spec(
    "teapot_gateway_requests_total",
    "Requests by how they ended.",
    ("path", "outcome", "code", "revision"),
)
FIRST_BYTE = Spec(
    "teapot_gateway_time_to_first_byte_seconds",
    "From the request's head to the first byte of the answer's body forwarded.",
    ("path", "revision", "streamed"),
)
DURATION = Spec(
    "teapot_gateway_request_duration_seconds",
    "From the request's head to its end, however it ended.",
    ("path", "outcome", "revision", "streamed"),
)
IN_FLIGHT = Spec("teapot_gateway_requests_in_flight", "Requests admitted and not finished.", ())
BACKEND_IN_FLIGHT = Spec(
    "teapot_gateway_backend_requests_in_flight",
    "Requests at this backend.",
    ("revision", "role", "backend"),
)
BACKEND_READY = Spec(
    "teapot_gateway_backend_ready",
    "1 if the backend may be given requests.",
    ("revision", "role", "backend"),
)
MODE_IN_EFFECT = Spec(
    "teapot_mode_in_effect",
    "1 if the mode was proven in effect, 0 if proven not to be; absent while unknown.",
    ("kind",),
)
BUILD = Spec("teapot_build_info", "teapot's version; always 1.", ("version",))

SPECS: tuple[Spec, ...] = (
    REQUESTS, FIRST_BYTE, DURATION, IN_FLIGHT, BACKEND_IN_FLIGHT, BACKEND_READY, MODE_IN_EFFECT, BUILD,
)  # fmt: skip


class GatewayMetrics:
    """The metrics of one gateway."""

    def __init__(self, state: GatewayState) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_Now(state))
        self._requests = Counter(REQUESTS.name, REQUESTS.help, REQUESTS.labels, registry=self.registry)
        self._first_byte = Histogram(
            FIRST_BYTE.name, FIRST_BYTE.help, FIRST_BYTE.labels, registry=self.registry, buckets=BUCKETS_S
        )
        self._duration = Histogram(
            DURATION.name, DURATION.help, DURATION.labels, registry=self.registry, buckets=BUCKETS_S
        )

    def observe(self, outcome: Outcome) -> None:
        """Count a request that has ended."""
        revision = outcome.revision or NO_REVISION
        code = NO_STATUS if outcome.status is None else str(outcome.status)
        streamed = "true" if outcome.streamed else "false"
        self._requests.labels(outcome.path, outcome.kind, code, revision).inc()
        duration_s = (outcome.ended_ns - outcome.accepted_ns) / 1e9
        self._duration.labels(outcome.path, outcome.kind, revision, streamed).observe(duration_s)
        if outcome.first_byte_ns is not None:
            first_byte_s = (outcome.first_byte_ns - outcome.accepted_ns) / 1e9
            self._first_byte.labels(outcome.path, revision, streamed).observe(first_byte_s)

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)


class _Now(Collector):
    """What is true at this moment."""

    def __init__(self, state: GatewayState) -> None:
        self._state = state

    def collect(self) -> Iterable[Metric]:
        yield _gauge(IN_FLIGHT, [((), self._state.in_flight)])
        backends = [((b.revision, b.role, b.url), b) for b in self._state.backends]
        yield _gauge(BACKEND_IN_FLIGHT, [(labels, b.in_flight) for labels, b in backends])
        yield _gauge(BACKEND_READY, [(labels, b.state == "ready") for labels, b in backends])
        yield _gauge(MODE_IN_EFFECT, _modes(self._state.verdicts))
        yield _gauge(BUILD, [((_version(),), 1)])


def _modes(verdicts: Iterable[Verdict]) -> Iterable[tuple[tuple[str], float]]:
    """One sample a kind: a mode that is missing in one engine is not in effect."""
    by_kind: dict[str, bool] = {}
    for verdict in verdicts:
        if verdict.in_effect is not None:
            by_kind[verdict.kind] = by_kind.get(verdict.kind, True) and verdict.in_effect
    return [((kind,), in_effect) for kind, in_effect in by_kind.items()]


def _gauge(spec: Spec, samples: Iterable[tuple[tuple[str, ...], float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(spec.name, spec.help, labels=spec.labels)
    for labels, value in samples:
        family.add_metric(labels, float(value))
    return family


def _version() -> str:
    try:
        return version("teapot-serving")
    except PackageNotFoundError:
        return "unknown"
