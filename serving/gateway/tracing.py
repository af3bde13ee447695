"""One OpenTelemetry span a request, sent by OTLP over HTTP: the client's trace goes on through to the engine.

Owns: what a span says (route, status, outcome, revision, tokens; no prompt, key or address). Knows nothing
about how requests are served. The packages are an extra (`teapot-serving[otel]`), imported only if asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from serving.errors import UsageError
from serving.gateway.outcome import Outcome
from serving.gateway.settings import Tracing

PARENT_HEADERS = ("Traceparent", "Tracestate")
SERVICE = "teapot-gateway"


class Span(Protocol):
    """One request's span while it runs."""

    def headers(self) -> Mapping[str, str]:
        """What tells the engine that it works for this span."""

    def end(self, outcome: Outcome) -> None:
        """Say how the request went."""


class Tracer(Protocol):
    """Makes spans."""

    def start(self, method: str, path: str, headers: Mapping[str, str]) -> Span:
        """Begin a request's span, below the client's if its headers name one."""

    def close(self) -> None:
        """Send what is left."""


def make_tracer(tracing: Tracing, deployment: str) -> Tracer:
    """The tracer of a deployment. Raises: UsageError if the packages are not installed."""
    try:
        return _OtelTracer(tracing, deployment)
    except ImportError as error:
        raise UsageError(
            f"tracing needs OpenTelemetry, which is not installed (no module {error.name})",
            where="gateway.tracing",
            fix="install it: pip install 'teapot-serving[otel]', or leave gateway.tracing out",
        ) from error


def attributes(outcome: Outcome) -> dict[str, str | int | bool]:
    """What a span says of a request, by OpenTelemetry's names where it has one."""
    found: dict[str, str | int | bool | None] = {
        "http.route": outcome.path,
        "http.response.status_code": outcome.status,
        "gen_ai.usage.input_tokens": outcome.tokens_in,
        "gen_ai.usage.output_tokens": outcome.tokens_out,
        "teapot.request_id": outcome.request_id,
        "teapot.outcome": outcome.kind,
        "teapot.revision": outcome.revision,
        "teapot.caller": outcome.caller.name,
        "teapot.streamed": outcome.streamed,
    }
    return {name: value for name, value in found.items() if value is not None}


def failed(outcome: Outcome) -> bool:
    """Whether a span counts as an error of the server; a client's mistake does not."""
    return outcome.kind in ("upstream_error", "timeout", "error") or (outcome.status or 0) >= 500


class _OtelTracer:
    def __init__(self, tracing: Tracing, deployment: str) -> None:
        # By name, because they are not installed where they are not asked for.
        self._trace: Any = import_module("opentelemetry.trace")
        sdk: Any = import_module("opentelemetry.sdk.trace")
        export: Any = import_module("opentelemetry.sdk.trace.export")
        sampling: Any = import_module("opentelemetry.sdk.trace.sampling")
        resources: Any = import_module("opentelemetry.sdk.resources")
        otlp: Any = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        propagation: Any = import_module("opentelemetry.trace.propagation.tracecontext")
        sampler = sampling.ParentBased(sampling.TraceIdRatioBased(tracing.ratio))
        resource = resources.Resource.create({"service.name": SERVICE, "teapot.deployment": deployment})
        self._provider: Any = sdk.TracerProvider(sampler=sampler, resource=resource)
        exporter = otlp.OTLPSpanExporter(endpoint=f"{tracing.endpoint.rstrip('/')}/v1/traces")
        # Exported by a thread of its own, in batches; what cannot be sent in time is dropped.
        self._provider.add_span_processor(export.BatchSpanProcessor(exporter))
        self._tracer: Any = self._provider.get_tracer("teapot.gateway")
        self._propagator: Any = propagation.TraceContextTextMapPropagator()

    def start(self, method: str, path: str, headers: Mapping[str, str]) -> Span:
        carrier = {name.lower(): headers[name] for name in PARENT_HEADERS if name in headers}
        span = self._tracer.start_span(
            f"{method} {path}",
            context=self._propagator.extract(carrier),
            kind=self._trace.SpanKind.SERVER,
            attributes={"http.request.method": method},
        )
        return _OtelSpan(span, self._trace, self._propagator)

    def close(self) -> None:
        self._provider.shutdown()


class _OtelSpan:
    def __init__(self, span: Any, trace: Any, propagator: Any) -> None:
        self._span = span
        self._trace = trace
        self._propagator = propagator

    def headers(self) -> Mapping[str, str]:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, self._trace.set_span_in_context(self._span))
        return {name.title(): value for name, value in carrier.items()}

    def end(self, outcome: Outcome) -> None:
        self._span.set_attributes(attributes(outcome))
        if failed(outcome):
            self._span.set_status(self._trace.StatusCode.ERROR, outcome.kind)
        self._span.end()
