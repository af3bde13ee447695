"""The gateway's indicators give what was worked out by hand, evaluated by Prometheus over made-up samples."""

from __future__ import annotations

import pytest
from fakes.promtool import needs_promtool, queries_give

from dashboards.gateway_slis import GATEWAY_SLIS, missed_ratio
from dashboards.promql import Scope

DEMO = Scope(by=("deployment",), window="10m")
QUERIES = {sli.key: sli.query for sli in GATEWAY_SLIS}
OF = 'deployment="demo", revision="main", role="any", backend="http://127.0.0.1:9", path="/v1/completions"'
OUTCOME = f'teapot_gateway_requests_total{{{OF}, traffic="%s", outcome="%s", code="%s"}}'
JUDGED = f'teapot_slo_requests_total{{{OF}, slo="%s", met="%s"}}'
REQUESTS = {
    OUTCOME % ("client", "ok", "200"): "0+6x30",
    OUTCOME % ("client", "client_gone", "none"): "0+1x30",
    OUTCOME % ("client", "upstream_error", "502"): "0+1x30",
    OUTCOME % ("client", "timeout", "504"): "0+1x30",
    OUTCOME % ("client", "rejected", "503"): "0+1x30",
    OUTCOME % ("shadow", "upstream_error", "502"): "0+50x30",
}
"""Ten of clients a minute, and shadow traffic that must not count."""
MISSED = {"availability": 0.0, "ttft": 0.2, "tpot": 0.75, "e2e": 1.0}


def histogram(name: str, labels: str) -> dict[str, str]:
    """Ten requests a minute: five up to 0.1 s, five up to 0.2 s, 1.2 s together."""
    of = f'{OF}, traffic="client"{labels}'
    return {
        f'{name}_bucket{{{of}, le="0.1"}}': "0+5x30",
        f'{name}_bucket{{{of}, le="0.2"}}': "0+10x30",
        f'{name}_bucket{{{of}, le="+Inf"}}': "0+10x30",
        f"{name}_sum{{{of}}}": "0+1.2x30",
        f"{name}_count{{{of}}}": "0+10x30",
    }


def gives(samples: dict[str, str], expected: dict[str, float]) -> None:
    """Each indicator, rounded to a millionth, twenty minutes in."""
    told = {f"round({QUERIES[key](DEMO)}, 1e-6)": [('{deployment="demo"}', v)] for key, v in expected.items()}
    queries_give(samples, "20m", told)


@pytest.mark.slow
@needs_promtool
def test_requests_are_those_of_clients_and_divided_by_outcome() -> None:
    shares = {"client_gone": 0.1, "errors": 0.2, "refused": 0.1}
    gives(REQUESTS, {"requests": 0.166667, "ended": 100, "refusals": 10, **shares})


@needs_promtool
def test_shares_of_outcomes_that_never_came_are_0() -> None:
    only_ok = {OUTCOME % ("client", "ok", "200"): "0+6x30"}
    gives(only_ok, {"client_gone": 0, "errors": 0, "refused": 0})


@pytest.mark.slow
@needs_promtool
def test_objectives_are_met_by_those_judged_and_each_by_its_own() -> None:
    samples = {
        JUDGED % ("availability", "true"): "0+9x30",
        JUDGED % ("ttft", "true"): "0+8x30",
        JUDGED % ("ttft", "false"): "0+2x30",
        JUDGED % ("tpot", "true"): "0+1x30",
        JUDGED % ("tpot", "false"): "0+3x30",
        JUDGED % ("e2e", "false"): "0+1x30",
    }
    gives(samples, {"availability": 1, "ttft_met": 0.8, "tpot_met": 0.25, "e2e_met": 0})
    each = [(f'{{deployment="demo", slo="{slo}"}}', v) for slo, v in MISSED.items()]
    queries_give(samples, "20m", {f"round({missed_ratio()(DEMO.split('slo'))}, 1e-6)": each})


@needs_promtool
@pytest.mark.parametrize(
    ("prefix", "name", "labels", "others"),
    [
        ("ttft", "teapot_gateway_time_to_first_byte_seconds", ', streamed="true"', ', streamed="false"'),
        ("tpot", "teapot_gateway_time_per_output_token_seconds", "", None),
        ("e2e", "teapot_gateway_request_duration_seconds", ', outcome="ok"', ', outcome="timeout"'),
    ],
)
def test_a_latency_has_its_quantiles_and_its_exact_mean(
    prefix: str, name: str, labels: str, others: str | None
) -> None:
    samples = histogram(name, labels)
    if others is not None:
        # Many slow ones that are not asked for.
        slow = {series: "0+1000x30" for series in histogram(name, others) if 'le="0.' not in series}
        samples |= slow
    # p95: the 9.5th of ten, nine tenths through the second bucket.
    expected = {"p50": 0.1, "p95": 0.19, "p99": 0.198, "mean": 0.12}
    gives(samples, {f"{prefix}_{how}": value for how, value in expected.items()})


@pytest.mark.slow
@needs_promtool
def test_fallbacks_are_a_share_of_what_was_divided() -> None:
    legs = {f"teapot_gateway_prefill_leg_seconds_count{{{OF}}}": "0+20x30"}
    gives(legs, {"prefill_fallbacks": 0})
    failed = {f'teapot_gateway_fallbacks_total{{{OF}, reason="prefill_failed"}}': "0+5x30"}
    gives({**legs, **failed}, {"prefill_fallbacks": 0.25})


@needs_promtool
def test_what_is_true_now_is_added_up_and_a_mode_is_as_good_as_where_it_is_worst() -> None:
    second = OF.replace(":9", ":8")
    samples = {
        f"teapot_gateway_backend_ready{{{OF}}}": "1x30",
        f"teapot_gateway_backend_ready{{{second}}}": "1x30",
        f"teapot_gateway_backend_requests_in_flight{{{OF}}}": "3x30",
        f"teapot_gateway_backend_requests_in_flight{{{second}}}": "4x30",
        f'teapot_mode_in_effect{{{OF}, kind="lora"}}': "1x30",
        f'teapot_mode_in_effect{{{second}, kind="lora"}}': "0x30",
        f"teapot_engine_failures_total{{{OF}}}": "0x14 1x16",
        f"teapot_engine_failures_total{{{second}}}": "2x30",
    }
    gives(samples, {"ready": 2, "in_flight": 7, "mode_in_effect": 0, "engine_failures": 1})


@pytest.mark.slow
@needs_promtool
@pytest.mark.parametrize("samples", [{}, dict.fromkeys(REQUESTS, "7x30")], ids=["nothing", "no request"])
def test_a_ratio_of_nothing_is_no_sample(samples: dict[str, str]) -> None:
    ratios = [sli for sli in GATEWAY_SLIS if sli.unit in ("ratio", "seconds")]
    queries_give(samples, "20m", {sli.query(DEMO): [] for sli in ratios})
