import json
import re
from pathlib import Path

import pytest

from loadgen.stats.plan import RunPlan, ServerView, Slo
from loadgen.stats.summarize import summarize

CONTRACT_KEYS = {
    "requests",
    "rate",
    "schedule_lag_s",
    "ttft_s",
    "ttft_from_intended_s",
    "tpot_s",
    "itl_s",
    "inter_chunk_s",
    "e2e_s",
    "ttfo_s",
    "tokens_per_chunk",
    "output_tokens_per_s",
    "requests_per_s",
    "goodput",
    "by_kind",
    "errors",
    "server",
    "valid",
    "reasons",
    "notes",
}
PLAN = RunPlan(
    arrival="constant", intended=4, rate_per_s=2.0, duration_s=2.0, slo=Slo(ttft_s=0.100, tpot_s=0.015)
)


@pytest.fixture
def run(record):
    """Warm-up, two good answers, a one-token answer that is late, and a failure: 4 requests in 2 s."""
    return [
        record(-900, -500, sent=-1000, intended=-1000, index=0, phase="warmup", output_tokens=2),
        record(40, 50, 60, sent=0, intended=0, index=1, kind="chat", output_tokens=3, prompt_tokens=10),
        record(561, 571, sent=501, intended=500, index=2, kind="code", output_tokens=2, prompt_tokens=30),
        record(1200, sent=1002, intended=1000, index=3, kind="chat", output_tokens=1, prompt_tokens=20),
        record(
            sent=1503, intended=1500, end=2000, index=4, kind="code", outcome="failed", error="HTTP 500: oops"
        ),
    ]


def test_the_summary_has_the_contracts_keys_and_is_json(run):
    summary = summarize(run, plan=PLAN)

    assert set(summary) >= CONTRACT_KEYS
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_every_request_is_counted_once_and_warm_up_nowhere_else(run):
    assert summarize(run, plan=PLAN)["requests"] == {
        "intended": 4,
        "sent": 4,
        "ok": 3,
        "failed": 1,
        "cut": 0,
        "undefined_tpot": 1,
        "warmup": 1,
    }


def test_latencies_are_those_of_the_complete_answers_in_the_measured_phase(run):
    summary = summarize(run, plan=PLAN)

    # TTFT 40, 60, 198; from intended 40, 61, 200; TPOT 20/2, 10/1, undefined; E2E 60, 70, 198 ms.
    assert (summary["ttft_s"]["n"], summary["ttft_s"]["mean"]) == (3, pytest.approx(0.298 / 3))
    assert summary["ttft_s"]["max"] == pytest.approx(0.198)
    assert summary["ttft_from_intended_s"]["mean"] == pytest.approx(0.301 / 3)
    assert (summary["tpot_s"]["n"], summary["tpot_s"]["mean"]) == (2, pytest.approx(0.010))
    assert summary["e2e_s"]["mean"] == pytest.approx(0.328 / 3)
    assert (summary["inter_chunk_s"]["n"], summary["inter_chunk_s"]["mean"]) == (3, pytest.approx(0.010))
    assert summary["ttfo_s"]["n"] == 0


def test_three_requests_have_a_mean_and_no_percentile(run):
    ttft = summarize(run, plan=PLAN)["ttft_s"]

    assert [ttft[name] for name in ("p50", "p90", "p95", "p99")] == [None] * 4


def test_lag_is_that_of_every_sent_request_failed_ones_too(run):
    # 0, 1, 2, 3 ms.
    lag = summarize(run, plan=PLAN)["schedule_lag_s"]

    assert (lag["n"], lag["mean"], lag["max"]) == (4, pytest.approx(0.0015), pytest.approx(0.003))


def test_throughput_is_complete_answers_by_the_window(run):
    # From 0 to 2000 ms: 3 answers, 6 tokens in 6 events.
    summary = summarize(run, plan=PLAN)

    assert summary["window_s"] == pytest.approx(2.0)
    assert summary["requests_per_s"] == pytest.approx(1.5)
    assert summary["output_tokens_per_s"] == pytest.approx(3.0)
    assert summary["tokens_per_chunk"] == pytest.approx(1.0)
    assert summary["rate"] == {"requested": 2.0, "scheduled": 2.0, "achieved": 2.0}


def test_tokens_per_second_counts_tokens_and_not_chunks(record):
    # vllm #37666: 12 tokens in 3 events over 1 s.
    summary = summarize(
        [record(100, 500, 1000, output_tokens=12)], plan=RunPlan(arrival="closed", intended=None)
    )

    assert summary["output_tokens_per_s"] == pytest.approx(12.0)
    assert summary["tokens_per_chunk"] == pytest.approx(4.0)
    assert "4.00 tokens per chunk: inter-chunk gaps are not ITL" in summary["notes"]


def test_goodput_has_all_intended_requests_below_and_the_two_good_ones_above(run):
    goodput = summarize(run, plan=PLAN)["goodput"]

    assert (goodput["ratio"], goodput["requests_per_s"]) == (0.5, pytest.approx(1.0))
    assert goodput["by_slo"]["ttft"]["ratio"] == 2 / 4
    assert goodput["by_slo"]["tpot"]["ratio"] == 2 / 3


def test_requests_that_were_never_sent_are_intended_all_the_same(run):
    summary = summarize(run[:3], plan=PLAN)

    assert (summary["requests"]["intended"], summary["requests"]["sent"]) == (4, 2)
    assert summary["goodput"]["ratio"] == 2 / 4
    assert not summary["valid"]


def test_a_failure_is_shown_with_its_text_and_does_not_invalidate(run):
    summary = summarize(run, plan=PLAN)

    assert summary["errors"] == [{"text": "HTTP 500: oops", "count": 1}]
    assert [reason for reason in summary["reasons"] if "too few samples" not in reason] == []


def test_errors_are_counted_most_frequent_first_and_long_ones_cut(record):
    texts = ["rare", "x" * 1000, "x" * 1000, None]
    records = [record(outcome="failed", error=text, http_status=503, index=i) for i, text in enumerate(texts)]

    assert summarize(records, plan=RunPlan(arrival="closed", intended=None))["errors"] == [
        {"text": "x" * 300, "count": 2},
        {"text": "no error text, HTTP status 503", "count": 1},
        {"text": "rare", "count": 1},
    ]


def test_kinds_have_tables_of_their_own(run):
    tables = summarize(run, plan=PLAN)["by_kind"]

    assert list(tables) == ["chat", "code"]
    assert (tables["chat"]["sent"], tables["chat"]["ok"], tables["code"]["failed"]) == (2, 2, 1)
    assert tables["chat"]["prompt_tokens"] == pytest.approx(15.0)
    assert tables["chat"]["ttft_s"]["mean"] == pytest.approx(0.119)


def test_itl_is_flagged_where_it_is_only_the_inter_chunk_gap(record):
    plan = RunPlan(arrival="closed", intended=None)
    told = record(10, 40, output_tokens=4, output_tokens_by_event=(1, 3))
    untold = record(10, 40, output_tokens=4, index=1)

    by_token, mixed = summarize([told], plan=plan), summarize([told, untold], plan=plan)

    assert by_token["itl_by_token"] is True
    assert (by_token["itl_s"]["n"], by_token["itl_s"]["mean"]) == (3, pytest.approx(0.010))
    assert mixed["itl_by_token"] is False
    assert "ITL equals the inter-chunk gap: the server did not tell tokens by event" in mixed["notes"]


def test_the_servers_ttft_is_joined_and_the_residue_shown(run):
    server = ServerView(ttft_mean_s=0.090, cache_config={"cache_dtype": "fp8"}, restarted=False)

    joined = summarize(run, plan=PLAN, server=server)["server"]

    assert joined["ttft_mean_s"] == 0.090
    assert joined["client_minus_server_ttft_s"] == pytest.approx(0.298 / 3 - 0.090)
    assert joined["queue_mean_s"] is None
    assert joined["cache_config"] == {"cache_dtype": "fp8"}
    assert json.loads(json.dumps(joined)) == joined


def test_a_server_that_was_not_scraped_is_null_and_noted(run):
    summary = summarize(run, plan=PLAN)

    assert summary["server"] is None
    assert any("metrics were not read" in note for note in summary["notes"])


def test_cut_requests_cached_prompts_and_silent_answers_are_noted(record):
    records = [
        record(10, 20, output_tokens=2, prompt_tokens=100, cached_tokens=64, index=0),
        record(10, 20, output_tokens=2, outcome="cut", index=1),
        record(output_tokens=1, prompt_tokens=50, cached_tokens=0, index=2),
    ]

    notes = summarize(records, plan=RunPlan(arrival="closed", intended=None), server=ServerView())["notes"]

    assert "64 of 150 prompt tokens came from the prefix cache" in notes
    assert "1 complete answers held no output event and are in no latency" in notes
    assert "1 requests were cut at the end: long answers are missing from the latencies" in notes


def test_without_token_counts_tokens_per_second_is_unknown_and_the_run_invalid(record):
    summary = summarize([record(10, 20)], plan=RunPlan(arrival="closed", intended=None))

    assert (summary["output_tokens_per_s"], summary["tokens_per_chunk"]) == (None, None)
    assert summary["requests"]["undefined_tpot"] == 0
    assert not summary["valid"]


def test_an_empty_run_is_invalid_and_nothing_in_it_is_zero_by_accident():
    summary = summarize([], plan=PLAN)

    assert not summary["valid"]
    assert summary["requests"]["intended"] == 4
    assert (summary["requests_per_s"], summary["window_s"], summary["ttft_s"]["mean"]) == (None, None, None)
    assert summary["goodput"]["ratio"] == 0.0


def test_the_documentation_names_every_key_and_no_other(run):
    text = (Path(__file__).parents[3] / "docs" / "measurement.md").read_text(encoding="utf-8")
    section = text.split("## summary.json")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row)}
    summary = summarize(run, plan=PLAN)

    assert documented == set(summary)
    nested = {*summary["requests"], *summary["rate"], *summary["goodput"], *summary["ttft_s"]}
    nested |= {*summary["steady"], *summary["saturation"], "cached_tokens", "cached_ratio"}
    assert [name for name in sorted(nested) if f"`{name}`" not in section] == []
