"""Where the gate's numbers come from: a Prometheus, or the counters themselves where there is none.

Owns: asking either, and telling both apart in words. Knows nothing about windows or verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException
from typing import Protocol
from urllib.request import ProxyHandler, build_opener

from prometheus_client.parser import text_string_to_metric_families

from dashboards.query import Prometheus
from dashboards.samples import Sample
from deploy.rollout.client import Admin
from deploy.rollout.evidence import Reading
from deploy.rollout.plan import Plan
from deploy.rollout.queries import COUNTS, read_exposed, read_prometheus
from deploy.rollout.seen import Engine, Seen
from serving.errors import Failed

TIMEOUT_S = 10.0
POINTS = 32
"""Of memory, over a window."""
Memory = Mapping[str, tuple[float, ...]]


class Source(Protocol):
    """Who knows what was counted. Every method raises Failed while that is away."""

    name: str
    """For people."""

    def read(self, seen: Seen, revision: str, at_s: float) -> Reading:
        """All counts of a revision at a time, or now where it only knows now."""

    def memory(self, start_s: float, end_s: float) -> Memory:
        """What the canary's engines held over a window, oldest first, evenly."""


class FromPrometheus:
    """A Prometheus that scrapes the gateway and the engines."""

    def __init__(self, url: str, plan: Plan) -> None:
        self.name = f"Prometheus at {url}"
        self._prometheus = Prometheus(url, timeout_s=TIMEOUT_S)
        self._plan = plan

    def read(self, seen: Seen, revision: str, at_s: float) -> Reading:
        """At that time. Raises: Failed."""

        def ask(expression: str, when_s: float) -> tuple[Sample, ...]:
            return self._prometheus.query(expression, at_s=when_s)

        return read_prometheus(ask, self._plan.deployment, revision, at_s)

    def memory(self, start_s: float, end_s: float) -> Memory:
        """By the same row as the counts. Raises: Failed."""
        if end_s <= start_s:
            return {}
        row = next(count for count in COUNTS if count.key == "memory")
        found = self._prometheus.query_range(
            row.promql(self._plan.deployment, self._plan.canary),
            start_s=start_s,
            end_s=end_s,
            step_s=(end_s - start_s) / POINTS,
        )
        return {
            series.labels.get("backend", ""): tuple(value for _, value in series.finite()) for series in found
        }


class FromCounters:
    """The gateway's and the engines' own counters, as they are now."""

    def __init__(self, admin: Admin, plan: Plan, fetch: Callable[[str], str] | None = None) -> None:
        self.name = "the counters themselves (no Prometheus is running)"
        self._admin = admin
        self._plan = plan
        self._fetch = fetch or fetch_text
        self._held: list[tuple[float, Mapping[str, float]]] = []

    def read(self, seen: Seen, revision: str, at_s: float) -> Reading:
        """Now. Raises: Failed."""
        row = seen.row(revision)
        samples = list(exposed(self._admin.exposition()))
        for engine in row.engines if row is not None else ():
            told = self._told(engine)
            samples += exposed(told, _target(engine, revision)) if told is not None else ()
        reading = read_exposed(samples, revision, at_s)
        if revision == self._plan.canary:
            self._held.append((at_s, reading.counts.get("memory", {})))
        return reading

    def memory(self, start_s: float, end_s: float) -> Memory:
        """What was seen at the readings of this process."""
        rows = [held for at_s, held in self._held if start_s <= at_s <= end_s]
        names = {name for held in rows for name in held}
        return {name: tuple(held[name] for held in rows if name in held) for name in names}

    def _told(self, engine: Engine) -> str | None:
        try:
            return self._fetch(f"{engine.url}/metrics")
        except Failed:
            if engine.ready:
                raise
            return None


def source(seen: Seen, admin: Admin, plan: Plan) -> Source:
    """The Prometheus that the status names, else the counters."""
    return FromCounters(admin, plan) if seen.prometheus is None else FromPrometheus(seen.prometheus, plan)


def exposed(text: str, more: Mapping[str, str] | None = None) -> Iterator[Sample]:
    """The samples of an exposition, each with its name as `__name__`, and the labels that a target adds."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = {**sample.labels, **(more or {}), "__name__": sample.name}
            yield Sample(labels, 0.0, float(sample.value))


def fetch_text(url: str) -> str:
    """What is there. Raises: Failed."""
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(url, timeout=TIMEOUT_S) as answer:
            body: bytes = answer.read()
            return body.decode()
    except (OSError, HTTPException, UnicodeDecodeError) as error:
        raise Failed(f"an engine does not tell its metrics ({error})", where=url) from error


def _target(engine: Engine, revision: str) -> Mapping[str, str]:
    return {"job": "engine", "revision": revision, "role": engine.role, "instance": engine.url}
