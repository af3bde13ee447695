"""Indicators over samples made by hand, worked out by Prometheus' own engine; expectations by hand."""

from __future__ import annotations

import pytest
from fakes.exposed import catalogue
from fakes.promtool import needs_promtool, queries_give

from dashboards.metric_names import read
from dashboards.promql import Scope
from dashboards.slis import SLIS, missed_ratio

SCOPE = Scope(('deployment="d"',), window="5m")
REQUESTS = "teapot_gateway_requests_total"
WHERE = 'deployment="d", path="/v1/completions", code="200", revision="main", role="any", backend="u"'
SLO = 'deployment="d", revision="main", role="any", backend="u"'
SPECULATIVE = 'deployment="d", model_name="m", engine="0"'


@pytest.mark.parametrize("key", SLIS)
def test_an_indicator_asks_for_what_is_exposed(key: str) -> None:
    assert read(SLIS[key].query(SCOPE), catalogue()).problems == []


@pytest.mark.parametrize("key", SLIS)
def test_an_indicator_keeps_apart_what_its_scope_does(key: str) -> None:
    assert read(SLIS[key].query(SCOPE.split("deployment")), catalogue()).labels == {"deployment"}


def test_keys_say_what_they_are() -> None:
    assert all(key == sli.key for key, sli in SLIS.items())


@needs_promtool
def test_shares_are_of_the_requests_that_clients_sent() -> None:
    samples = {
        f'{REQUESTS}{{{WHERE}, outcome="ok", traffic="client"}}': "0+60x10",
        f'{REQUESTS}{{{WHERE}, outcome="client_gone", traffic="client"}}': "0+30x10",
        f'{REQUESTS}{{{WHERE}, outcome="timeout", traffic="client"}}': "0+10x10",
        f'{REQUESTS}{{{WHERE}, outcome="ok", traffic="shadow"}}': "0+900x10",
    }
    expected = {
        SLIS["requests"].query(SCOPE): [("{}", 100 / 60)],
        SLIS["client_gone"].query(SCOPE): [("{}", 0.3)],
        SLIS["errors"].query(SCOPE): [("{}", 0.1)],
        SLIS["refused"].query(SCOPE): [("{}", 0.0)],
        SLIS["ended"].query(SCOPE): [("{}", 500.0)],
    }
    queries_give(samples, "10m", expected)


@needs_promtool
def test_an_objective_that_nobody_missed_is_met_by_all_and_one_that_nobody_was_judged_by_by_none() -> None:
    samples = {f'teapot_slo_requests_total{{{SLO}, slo="ttft", met="true"}}': "0+60x10"}
    expected = {
        SLIS["ttft_met"].query(SCOPE): [("{}", 1.0)],
        SLIS["tpot_met"].query(SCOPE): [],
        missed_ratio()(SCOPE.split("slo")): [('{slo="ttft"}', 0.0)],
    }
    queries_give(samples, "10m", expected)


@needs_promtool
def test_an_objective_that_a_fifth_missed_is_met_by_the_rest() -> None:
    samples = {
        f'teapot_slo_requests_total{{{SLO}, slo="ttft", met="true"}}': "0+48x10",
        f'teapot_slo_requests_total{{{SLO}, slo="ttft", met="false"}}': "0+12x10",
    }
    queries_give(samples, "10m", {SLIS["ttft_met"].query(SCOPE): [("{}", 0.8)]})


@needs_promtool
def test_speculation_is_told_by_its_definitions() -> None:
    # 100 drafts of 4 tokens a minute, of which 150 tokens are accepted.
    samples = {
        f"vllm:spec_decode_num_drafts_total{{{SPECULATIVE}}}": "0+100x10",
        f"vllm:spec_decode_num_draft_tokens_total{{{SPECULATIVE}}}": "0+400x10",
        f"vllm:spec_decode_num_accepted_tokens_total{{{SPECULATIVE}}}": "0+150x10",
    }
    expected = {
        SLIS["acceptance"].query(SCOPE): [("{}", 0.375)],
        SLIS["acceptance_length"].query(SCOPE): [("{}", 2.5)],
        SLIS["wasted_drafts"].query(SCOPE): [("{}", 250 / 60)],
    }
    queries_give(samples, "10m", expected)


@needs_promtool
def test_without_traffic_there_is_no_number() -> None:
    silent = {f'{REQUESTS}{{{WHERE}, outcome="ok", traffic="client"}}': "7+0x10"}
    expected: dict[str, list[tuple[str, float]]] = {
        SLIS[key].query(SCOPE): [] for key in ("client_gone", "errors", "refused", "ttft_mean")
    }
    queries_give(silent, "10m", expected)
