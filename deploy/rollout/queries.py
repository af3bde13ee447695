"""What is counted of a revision, one row a count: as a query for Prometheus, and on an exposition itself.

Owns: the rows. Knows nothing about who asks, when, or what a count means for a verdict. Metrics, labels and
matchers are those of the indicators on the boards (`dashboards/slis.py`), so that both see the same requests;
a test holds each row to its indicator.

A query asks for a counter as it is at one moment. The gate subtracts the two ends of its window: whole
numbers, which a person can ask for again, and which tests can take as counts. `rate` and `increase` are
extrapolated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dashboards.boards.choices import ANSWERING
from dashboards.gateway_slis import WORK
from dashboards.promql import Scope, series, total
from dashboards.samples import Sample
from dashboards.sli import own, vllm
from deploy.rollout.evidence import Reading

CLIENT = {"traffic": "client"}
_MATCHER = re.compile(r'(?P<label>\w+)(?P<how>=~|!=|=)"(?P<value>[^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """One count of one revision (or of the whole deployment, where the metric knows no revision)."""

    key: str
    metric: str
    keep: tuple[str, ...] = ()
    """Labels that are kept apart."""
    labels: Mapping[str, str] = field(default_factory=dict)
    matchers: tuple[str, ...] = ()
    sli: str | None = None
    """The indicator on the boards that is made of the same requests."""
    of_revision: bool = True
    how: str = "sum"

    def promql(self, deployment: str, revision: str) -> str:
        """The query."""
        whose = (f'deployment="{deployment}"', *((f'revision="{revision}"',) if self.of_revision else ()))
        scope = Scope((*whose, *self.matchers), self.keep)
        return total(series(self.metric, scope, **self.labels), scope, self.how)

    def select(self, exposed: Iterable[Sample], revision: str) -> dict[str, float]:
        """The same of samples that carry their metric's name as the label `__name__`."""
        found: dict[str, float] = {}
        for sample in exposed:
            if sample.labels.get("__name__") != self.metric or sample.value is None:
                continue
            if self.of_revision and sample.labels.get("revision") != revision:
                continue
            if any(sample.labels.get(label, "") != value for label, value in self.labels.items()):
                continue
            if all(_matches(matcher, sample.labels) for matcher in self.matchers):
                key = _key(sample.labels, self.keep)
                found[key] = _REDUCE[self.how](found[key], sample.value) if key in found else sample.value
        return found


def _histogram(
    key: str,
    metric: str,
    sli: str,
    labels: Mapping[str, str] | None = None,
    *,
    matchers: tuple[str, ...] = (),
    by: tuple[str, ...] = (),
) -> Iterator[Count]:
    for part, keep in (("bucket", (*by, "le")), ("sum", by)):
        yield Count(
            key=f"{key}_{part}",
            metric=f"{metric}_{part}",
            keep=keep,
            labels=labels or {},
            matchers=matchers,
            sli=sli,
        )


STREAMED = {**CLIENT, "streamed": "true"}
_BY_ENGINE = ("backend",)
COUNTS: tuple[Count, ...] = (
    Count(
        key="requests", metric=own("gateway_requests"), keep=("path", "outcome"), labels=CLIENT,
        matchers=(WORK,), sli="errors",
    ),
    Count(key="failed_tries", metric=own("gateway_failed_tries")),
    Count(key="judged", metric=own("slo_requests"), keep=("slo", "met"), sli="ttft_met"),
    *_histogram("first_byte", own("gateway_first_byte"), "ttft_p95", STREAMED),
    *_histogram("tpot", own("gateway_tpot"), "tpot_p95", CLIENT),
    Count(
        key="finished", metric=vllm("requests_finished"), keep=("finished_reason",), matchers=(ANSWERING,),
        sli="finished_length",
    ),
    *_histogram("prompt_tokens", vllm("request_prompt_tokens"), "prompt_length", matchers=(ANSWERING,)),
    *_histogram("answer_tokens", vllm("request_generation_tokens"), "output_length", matchers=(ANSWERING,)),
    *_histogram("asked_tokens", vllm("request_max_tokens"), "asked_length", matchers=(ANSWERING,)),
    Count(
        key="engine_requests", metric=own("gateway_requests"), keep=("backend", "path", "outcome"),
        labels=CLIENT, matchers=(WORK,), sli="errors",
    ),
    Count(key="engine_failed_tries", metric=own("gateway_failed_tries"), keep=("backend",)),
    *_histogram("engine_first_byte", own("gateway_first_byte"), "ttft_p95", STREAMED, by=_BY_ENGINE),
    *_histogram("engine_tpot", own("gateway_tpot"), "tpot_p95", CLIENT, by=_BY_ENGINE),
    Count(key="failures", metric=own("engine_failures"), keep=("backend",), sli="engine_failures"),
    Count(key="ready", metric=own("gateway_backend_ready"), sli="ready"),
    Count(key="memory", metric=own("engine_memory"), keep=("backend",), how="max"),
    Count(key="targets", metric=own("slo_target"), keep=("slo",), of_revision=False, how="min"),
)  # fmt: skip


def read_prometheus(
    ask: Callable[[str, float], Iterable[Sample]], deployment: str, revision: str, at_s: float
) -> Reading:
    """All counts at a Unix time; `ask` evaluates an expression then. Raises: what `ask` raises."""
    counts = {}
    for count in COUNTS:
        samples = ask(count.promql(deployment, revision), at_s)
        told = {_key(s.labels, count.keep): s.value for s in samples if s.value is not None}
        if told:
            counts[count.key] = told
    return Reading(at_s, revision, counts)


def read_exposed(exposed: Iterable[Sample], revision: str, at_s: float) -> Reading:
    """All counts from the expositions of the gateway and of this revision's engines.

    Engines do not know their `job`, `revision`, `role` and `instance`: whoever asked them adds these labels,
    as Prometheus does for its targets.
    """
    samples = tuple(exposed)
    counts = {count.key: told for count in COUNTS if (told := count.select(samples, revision))}
    return Reading(at_s, revision, counts)


def _key(labels: Mapping[str, str], keep: tuple[str, ...]) -> str:
    return "|".join(labels.get(label, "") for label in keep)


def _matches(matcher: str, labels: Mapping[str, str]) -> bool:
    told = _MATCHER.fullmatch(matcher)
    if told is None:
        raise ValueError(f"'{matcher}' is no matcher")
    value = labels.get(told["label"], "")
    if told["how"] == "=~":
        return re.fullmatch(told["value"], value) is not None
    return (value == told["value"]) == (told["how"] == "=")


_REDUCE: Mapping[str, Callable[[float, float], float]] = {
    "sum": lambda a, b: a + b,
    "max": max,
    "min": min,
}
