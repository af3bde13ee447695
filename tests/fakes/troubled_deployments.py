"""Deployments in every trouble that an alert is for, as pages of metrics; and what is to be said, by hand.

Owns: the pages, the targets, and the expected words. Knows nothing about the rules under test. Each trouble
stands beside something healthy that looks alike, and must not be named: an engine beside an engine, a
deployment beside a deployment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fakes.stepping_pages import Line, Page

FULL, STUCK, FINE, DEAD = (f"http://127.0.0.1:{port}" for port in (4000, 4001, 4002, 4003))
"""The engines of `demo`. The gateway's own figures of all are good but for FULL."""
CLOUD = "https://cloud.example/v1"


def _counter(series: str, well: float, badly: float | None) -> Line:
    return Line(series, well, badly, adds=True)


def _judged(slo: str, url: str, *, met: tuple[float, float], missed: tuple[float, float]) -> Iterator[Line]:
    of = f'slo="{slo}",revision="main",role="any",backend="{url}"'
    yield _counter(f'teapot_slo_requests_total{{{of},met="true"}}', *met)
    yield _counter(f'teapot_slo_requests_total{{{of},met="false"}}', *missed)


def _objectives(url: str, missed: tuple[float, float], slos: tuple[str, ...] = ()) -> Iterator[Line]:
    for slo in slos or ("availability", "ttft", "tpot", "e2e"):
        yield Line(f'teapot_slo_target_ratio{{slo="{slo}"}}', 0.99, 0.99)
        yield from _judged(slo, url, met=(10, 10 - missed[1]), missed=missed)


def _backend(
    url: str, *, ready: tuple[float, float] = (1, 1), failures: tuple[float, float | None] = (0, 0)
) -> Iterator[Line]:
    of = f'revision="main",role="any",backend="{url}"'
    yield Line(f"teapot_gateway_backend_ready{{{of}}}", *ready)
    yield Line(f"teapot_engine_failures_total{{{of}}}", *failures)


def _requests(url: str, refused: tuple[float, float]) -> Iterator[Line]:
    of = f'path="/v1/chat/completions",revision="main",role="any",backend="{url}",traffic="client"'
    yield _counter(f'teapot_gateway_requests_total{{{of},outcome="ok",code="200"}}', 9, 9)
    yield _counter(f'teapot_gateway_requests_total{{{of},outcome="rejected",code="503"}}', *refused)


def _engine(
    *,
    running: tuple[float, float] = (2, 2),
    waiting: tuple[float, float] = (0, 0),
    usage: tuple[float, float] = (0.5, 0.5),
    preempted: tuple[float, float] = (0, 0),
    tokens: tuple[float, float] = (50, 50),
    finished: tuple[float, float] = (5, 5),
    accepted: tuple[float, float] = (60, 60),
) -> Page:
    of = 'model_name="m",engine="0"'
    return Page(
        [
            Line(f"vllm:num_requests_running{{{of}}}", *running),
            Line(f'vllm:num_requests_waiting_by_reason{{{of},reason="capacity"}}', *waiting),
            Line(f'vllm:num_requests_waiting_by_reason{{{of},reason="deferred"}}', 3, 3),
            Line(f"vllm:kv_cache_usage_perc{{{of}}}", *usage),
            _counter(f"vllm:num_preemptions_total{{{of}}}", *preempted),
            _counter(f"vllm:generation_tokens_total{{{of}}}", *tokens),
            _counter(f"vllm:spec_decode_num_drafts_total{{{of}}}", 100, 100),
            _counter(f"vllm:spec_decode_num_accepted_tokens_total{{{of}}}", *accepted),
            _counter(f'vllm:request_success_total{{{of},finished_reason="length"}}', *finished),
        ]
    )


def pages() -> dict[str, Page]:
    """Every target's page, by its path."""
    demo = [
        *_objectives(FINE, missed=(0, 5)),
        *_requests(FINE, refused=(0, 1)),
        *_backend(FULL, ready=(1, 0), failures=(0, 3)),
        *_backend(FINE),
        Line('teapot_mode_in_effect{kind="speculative"}', 1, 0),
        Line('teapot_mode_in_effect{kind="prefix_cache"}', 1, 1),
        _counter('teapot_gateway_prefill_leg_seconds_count{revision="main"}', 20, 20),
        _counter('teapot_gateway_fallbacks_total{reason="prefill_failed",revision="main"}', 0, 1),
        _counter('teapot_gateway_fallbacks_total{reason="transfer_failed",revision="main"}', 0, 1),
    ]
    calm = [
        *_objectives(FINE, missed=(0, 0)),
        *_requests(FINE, refused=(0, 0)),
        *_backend(FINE),
        Line('teapot_mode_in_effect{kind="speculative"}', 1, None),
    ]
    elsewhere = [*_objectives(CLOUD, missed=(0, 0), slos=("availability",)), *_backend(CLOUD)]
    return {
        "/demo": Page(demo),
        "/demo/full": _engine(usage=(0.5, 0.97), preempted=(0, 1), waiting=(0, 4)),
        "/demo/stuck": _engine(tokens=(50, 0), finished=(5, 0)),
        "/demo/fine": _engine(),
        "/demo/dead": Page([], deaf=True),
        "/unready": Page(list(_backend(FINE, ready=(1, 0)))),
        "/silent": Page(list(_backend(FINE)), deaf=True),
        "/gone": Page(list(_backend(FINE))),
        "/blind": Page([*_backend(FINE), *_judged("availability", FINE, met=(5, 0), missed=(0, 0))]),
        "/blind/engine": _engine(),
        "/drafting": Page([*_backend(FINE), *_judged("availability", FINE, met=(5, 5), missed=(0, 0))]),
        "/drafting/engine": _engine(accepted=(60, 0)),
        "/calm": Page(calm),
        "/calm/engine": _engine(),
        "/elsewhere": Page(elsewhere),
    }


def targets(address: str, job: str, *, without: str = "") -> list[dict[str, Any]]:
    """The target file of a job, all pages at one address; `without` a deployment."""
    urls = {"full": FULL, "stuck": STUCK, "fine": FINE, "dead": DEAD, "engine": FINE}
    found = []
    for path in pages():
        _, deployment, *engine = path.split("/")
        if bool(engine) != (job == "engine") or deployment == without:
            continue
        labels = {"deployment": deployment, "__metrics_path__": path, "instance": f"{deployment}:8001"}
        if engine:
            labels |= {"revision": "main", "role": "any", "instance": urls[engine[0]]}
        found.append({"targets": [address], "labels": labels})
    return found


@dataclass(frozen=True, slots=True)
class Trouble:
    """An alert that is to fire."""

    alert: str
    says: str
    """A pattern of its whole summary."""
    labels: Mapping[str, str]
    """All of them."""
    waits: bool = True
    """It is pending before it fires."""

    @property
    def key(self) -> frozenset[tuple[str, str]]:
        """What tells it from others."""
        return frozenset({"alertname": self.alert, **self.labels}.items())


def _burns(alert: str, slo: str, spenders: str) -> Iterator[Trouble]:
    for severity, long, short in (("critical", "1h", "5m"), ("warning", "6h", "30m")):
        labels = {"deployment": "demo", "slo": slo, "severity": severity}
        windows = {"long_window": long, "short_window": short}
        says = rf"demo: {spenders} spend the budget \d+\.\d times too fast \(over {long}\)"
        yield Trouble(alert, says, labels | windows)


_WARNING, _CRITICAL = {"severity": "warning"}, {"severity": "critical"}
_FULL, _STUCK, _DEAD = (
    {"deployment": "demo", "revision": "main", "role": "any", "instance": url} for url in (FULL, STUCK, DEAD)
)
_FAILING = {"deployment": "demo", "revision": "main", "role": "any", "backend": FULL}
_AT = re.escape
TROUBLES: tuple[Trouble, ...] = (
    *_burns("TeapotAvailabilityBurn", "availability", "failed requests"),
    *_burns("TeapotTtftBurn", "ttft", "late first tokens"),
    *_burns("TeapotTpotBurn", "tpot", "slow streams"),
    *_burns("TeapotE2eBurn", "e2e", "late answers"),
    Trouble(
        "TeapotNothingReady",
        "unready: no engine may be given requests",
        {"deployment": "unready", **_CRITICAL},
    ),
    Trouble(
        "TeapotGatewayRefuses",
        "demo: [0-9.]+% of the requests that ended were refused",
        {"deployment": "demo", **_WARNING},
    ),
    Trouble(
        "TeapotQueueByCapacity",
        rf"demo: 4 or more requests wait for capacity at {_AT(FULL)} \(main, any\)",
        _FULL | _WARNING,
    ),
    Trouble(
        "TeapotKvCacheFull",
        f"demo: the KV cache of {_AT(FULL)} reaches 97% and running requests lose their blocks",
        _FULL | _WARNING,
    ),
    Trouble(
        "TeapotEngineFailed",
        rf"demo: failures of {_AT(FULL)} \(main\) in 15 minutes: \d+",
        _FAILING | _WARNING,
        waits=False,
    ),
    Trouble(
        "TeapotEngineKeepsFailing",
        rf"demo: failures of {_AT(FULL)} \(main\) in an hour: \d+",
        _FAILING | _CRITICAL,
        waits=False,
    ),
    Trouble(
        "TeapotNoTokens",
        rf"demo: {_AT(STUCK)} \(main\) runs 2 requests and has made no token for 5 minutes",
        _STUCK | _CRITICAL,
    ),
    Trouble(
        "TeapotModeNotInEffect",
        "demo: speculative was asked for and is not in effect",
        {"deployment": "demo", "kind": "speculative", **_WARNING},
    ),
    Trouble(
        "TeapotPrefillFallback",
        r"demo: [0-9.]+% of the divided requests of main were answered by one engine alone",
        {"deployment": "demo", "revision": "main", **_WARNING},
    ),
    Trouble(
        "TeapotDraftsWasted",
        r"drafting: with its drafts main makes only 1\.0\d tokens a step",
        {"deployment": "drafting", "revision": "main", **_WARNING},
    ),
    Trouble(
        "TeapotGatewayDown",
        "silent: the gateway at silent:8001 does not answer Prometheus",
        {"deployment": "silent", "job": "gateway", "instance": "silent:8001", **_CRITICAL},
    ),
    Trouble(
        "TeapotTargetDown",
        f"demo: the engine at {_AT(DEAD)} does not answer Prometheus",
        _DEAD | {"job": "engine"} | _WARNING,
    ),
    Trouble(
        "TeapotGatewayGone",
        "gone: its gateway is no longer a target of Prometheus",
        {"deployment": "gone", **_WARNING},
    ),
    Trouble(
        "TeapotObjectivesBlind",
        r"blind: engines finished \d+ requests in 15 minutes and the gateway judged none",
        {"deployment": "blind", **_WARNING},
    ),
)
NOTHING_WATCHED = Trouble(
    "TeapotNothingWatched", "Prometheus has neither a gateway nor an engine among its targets", _WARNING
)
"""Fires alone, while there are no targets."""
