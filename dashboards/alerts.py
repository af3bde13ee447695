"""The alerts: when somebody has to look, how urgent it is, and what is said then.

Owns: which alerts there are, their conditions and words. Knows nothing about who is told (Alertmanager does)
or about one deployment: every alert is for all of them, and names the one it is about.

What to look at and what to do is in docs/alerts.md, under the alert's name.
"""

from __future__ import annotations

from dashboards.alert import BACKEND, DEPLOYMENT, ENGINE, REVISION, Alert, both
from dashboards.burns import burn_alerts
from dashboards.promql import increase, over_time, rate, series, total
from dashboards.rules import rule_file
from dashboards.slis import SLIS, own, vllm

_USERS = (
    *burn_alerts(),
    Alert(
        name="TeapotNothingReady",
        expr=total(
            series(own("gateway_backend_ready"), DEPLOYMENT.only('role!="prefill"')), DEPLOYMENT, "max"
        )
        + " == 0",
        hold="5m",
        severity="critical",
        summary="{{ $labels.deployment }}: no engine may be given requests",
        advice="Ask `teapot status` why: it starts, it failed, or a mode could not be proven.",
    ),
    Alert(
        name="TeapotGatewayRefuses",
        expr=both(
            f"{SLIS['refused'].query(DEPLOYMENT.over('5m'))} > 0.01",
            f"{SLIS['refusals'].query(DEPLOYMENT.over('5m'))} >= 5",
        ),
        hold="5m",
        severity="warning",
        summary="{{ $labels.deployment }}: {{ $value | humanizePercentage }} of the requests "
        "that ended were refused",
        advice="The gateway's queue is full, or no engine is ready. Add engines or limit callers; "
        "a longer queue only lets them wait longer.",
    ),
)
_GROWTH = f"changes({vllm('kv_cache_usage')}[2m])"
"""All that moves while an engine reads a long prompt."""
_STEADY = over_time("min", own("gateway_backend_ready"), BACKEND.over("30m"))
"""1 if an engine has been ready for half an hour without a break: then what it did before is over."""
_ENGINES = (
    Alert(
        name="TeapotQueueByCapacity",
        expr=f"{SLIS['waiting_capacity'].query(ENGINE.over('5m'))} > 0",
        hold="5m",
        severity="warning",
        summary="{{ $labels.deployment }}: {{ $value }} or more requests wait for capacity at "
        "{{ $labels.instance }} ({{ $labels.revision }}, {{ $labels.role }})",
        advice="More comes in than this engine works off. See what binds: batch slots, KV blocks or compute.",
    ),
    Alert(
        name="TeapotKvCacheFull",
        expr=both(
            f"{total(over_time('max', vllm('kv_cache_usage'), ENGINE.over('5m')), ENGINE, 'max')} > 0.9",
            f"{SLIS['preemptions'].query(ENGINE.over('5m'))} > 0",
        ),
        hold="5m",
        severity="warning",
        summary="{{ $labels.deployment }}: the KV cache of {{ $labels.instance }} reaches "
        "{{ $value | humanizePercentage }} and running requests lose their blocks",
        advice="Every preemption computes a request again. Run fewer at once (max_num_seqs), "
        "give the cache more memory, or quantize it.",
    ),
    Alert(
        name="TeapotEngineFailed",
        expr=f"{SLIS['engine_failures'].query(BACKEND.over('15m'))} > 0",
        severity="warning",
        summary="{{ $labels.deployment }}: failures of {{ $labels.backend }} ({{ $labels.revision }}) in "
        '15 minutes: {{ $value | printf "%.0f" }}',
        advice="It is started again by itself. `teapot status` has the cause, the engine's log the rest.",
    ),
    Alert(
        name="TeapotEngineKeepsFailing",
        expr=both(
            f"{SLIS['engine_failures'].query(BACKEND.over('1h'))} >= 3",
            f"{total(_STEADY, BACKEND, 'min')} == 0",
        ),
        severity="critical",
        summary="{{ $labels.deployment }}: failures of {{ $labels.backend }} ({{ $labels.revision }}) in "
        'an hour: {{ $value | printf "%.0f" }}',
        advice="Starting it again does not help. Read why in `teapot status`; take back the last change.",
    ),
    Alert(
        name="TeapotNoTokens",
        expr=both(
            f"{total(over_time('min', vllm('requests_running'), ENGINE.over('2m')), ENGINE)} > 0",
            f"{total(rate(vllm('generation_tokens'), ENGINE.over('2m')), ENGINE)} == 0",
            f"{total(_GROWTH, ENGINE)} == 0",
        ),
        hold="3m",
        severity="critical",
        summary="{{ $labels.deployment }}: {{ $labels.instance }} ({{ $labels.revision }}) runs {{ $value }} "
        "requests and has made no token for 5 minutes",
        advice="It hangs. teapot ends a stuck engine and starts it again; if it did not, end it.",
    ),
    Alert(
        name="TeapotModeNotInEffect",
        expr=f"{SLIS['mode_in_effect'].query(DEPLOYMENT.split('kind'))} == 0",
        hold="1m",
        severity="warning",
        summary="{{ $labels.deployment }}: {{ $labels.kind }} was asked for and is not in effect",
        advice="`teapot status` has the evidence. It serves without what it was sized for.",
    ),
    Alert(
        name="TeapotPrefillFallback",
        expr=both(
            f"{SLIS['prefill_fallbacks'].query(REVISION.over('15m'))} > 0.05",
            f"{total(increase(own('gateway_fallbacks'), REVISION.over('15m')), REVISION)} >= 5",
        ),
        hold="5m",
        severity="warning",
        summary="{{ $labels.deployment }}: {{ $value | humanizePercentage }} of the divided requests of "
        "{{ $labels.revision }} were answered by one engine alone",
        advice="Decoding engines prefill too, so TTFT and TPOT grow. See who prefills, and KV transfer.",
    ),
    Alert(
        name="TeapotDraftsWasted",
        expr=both(
            # A draft cannot gain more than the tokens that it adds to a step.
            f"{SLIS['acceptance_length'].query(REVISION.over('30m'))} < 1.1",
            f"{total(increase(vllm('spec_decode_drafts'), REVISION.over('30m')), REVISION)} >= 1000",
        ),
        hold="15m",
        severity="warning",
        summary="{{ $labels.deployment }}: with its drafts {{ $labels.revision }} makes only "
        '{{ $value | printf "%.2f" }} tokens a step',
        advice="Drafting and checking cost more than that gains. Draft otherwise, or turn speculation off.",
    ),
)
_OURS = DEPLOYMENT.only('job=~"gateway|engine"')
_OTHERS = DEPLOYMENT.only('job!~"gateway|load"', 'deployment!=""')
"""Without load generators, which come and go with their runs, and without what is not ours."""
_WATCHED = total(series("up", job="gateway"), DEPLOYMENT, "count")
_SEEN = total(over_time("present", "up", DEPLOYMENT.over("6h"), job="gateway"), DEPLOYMENT, "count")
_SIGHT = (
    Alert(
        name="TeapotGatewayDown",
        expr=f"{series('up', job='gateway')} == 0",
        hold="1m",
        severity="critical",
        summary="{{ $labels.deployment }}: the gateway at {{ $labels.instance }} does not answer Prometheus",
        advice="See whether it serves: ask its /health/ready. Nothing is judged until it is back.",
    ),
    Alert(
        name="TeapotTargetDown",
        expr=f"{series('up', _OTHERS)} == 0",
        hold="10m",
        severity="warning",
        summary="{{ $labels.deployment }}: the {{ $labels.job }} at {{ $labels.instance }} does not answer "
        "Prometheus",
        advice="An engine that starts does not answer either; ten minutes are long, even for a large model.",
    ),
    Alert(
        name="TeapotGatewayGone",
        expr=f"{_SEEN}\nunless {_WATCHED}",
        hold="5m",
        severity="warning",
        summary="{{ $labels.deployment }}: its gateway is no longer a target of Prometheus",
        advice="Was that on purpose? If not, its target file is missing, and no other alert sees it.",
    ),
    Alert(
        name="TeapotNothingWatched",
        expr=f"absent({series('up', _OURS)})",
        hold="5m",
        severity="warning",
        summary="Prometheus has neither a gateway nor an engine among its targets",
        advice="Without targets no other alert can fire. See the target files and Prometheus' list of them.",
    ),
    Alert(
        name="TeapotObjectivesBlind",
        expr=f"{SLIS['finished'].query(DEPLOYMENT.over('15m'))} >= 10\n"
        f"and {_WATCHED}\n"
        f"unless {total(increase(own('slo_requests'), DEPLOYMENT.over('15m')), DEPLOYMENT)} > 0",
        hold="15m",
        severity="warning",
        summary='{{ $labels.deployment }}: engines finished {{ $value | printf "%.0f" }} requests in 15 '
        "minutes and the gateway judged none",
        advice="Clients go round the gateway, or its metrics do not come. What nobody sees looks fine.",
    ),
)
GROUPS = {"teapot-users": _USERS, "teapot-engines": _ENGINES, "teapot-sight": _SIGHT}
ALERTS: tuple[Alert, ...] = tuple(alert for group in GROUPS.values() for alert in group)


def alerts_text() -> str:
    """The rule file with all alerts."""
    groups = {name: [alert.rule() for alert in alerts] for name, alerts in GROUPS.items()}
    return rule_file(groups, source="dashboards/alerts.py")
