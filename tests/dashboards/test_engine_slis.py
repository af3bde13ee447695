"""The engines' indicators give what was worked out by hand, evaluated by Prometheus over made-up samples."""

from __future__ import annotations

import pytest
from fakes.promtool import needs_promtool, queries_give

from dashboards.engine_slis import ENGINE_SLIS
from dashboards.promql import Scope

DEMO = Scope(by=("deployment",), window="10m")
QUERIES = {sli.key: sli.query for sli in ENGINE_SLIS}
FIRST = 'deployment="demo", instance="http://127.0.0.1:9", engine="0", model_name="m"'
SECOND = FIRST.replace(":9", ":8")


def gives(samples: dict[str, str], expected: dict[str, float]) -> None:
    """Each indicator, rounded to a millionth, twenty minutes in."""
    told = {f"round({QUERIES[key](DEMO)}, 1e-6)": [('{deployment="demo"}', v)] for key, v in expected.items()}
    queries_give(samples, "20m", told)


def counted(samples: dict[str, str], of: str = FIRST) -> dict[str, str]:
    """Series of one engine by the name of the metric."""
    return {
        f"{name.rstrip('}')}, {of}}}" if "{" in name else f"{name}{{{of}}}": v for name, v in samples.items()
    }


@needs_promtool
def test_what_engines_hold_now() -> None:
    samples = {
        **counted({"vllm:kv_cache_usage_perc": "0.3x30", "vllm:num_requests_running": "2x30"}),
        **counted({"vllm:kv_cache_usage_perc": "0.9x30", "vllm:num_requests_running": "5x30"}, SECOND),
        **counted({"vllm:num_requests_waiting": "1x30"}),
        **counted({"vllm:num_requests_waiting": "3x30"}, SECOND),
        **counted({'vllm:num_requests_waiting_by_reason{reason="capacity"': "9x11 4 9x20"}),
        **counted({'vllm:num_requests_waiting_by_reason{reason="deferred"': "1x30"}),
    }
    gives(samples, {"kv_usage": 0.9, "running": 7, "waiting": 4, "waiting_capacity": 4})


@needs_promtool
def test_caches_by_tokens() -> None:
    samples = counted(
        {
            "vllm:prefix_cache_queries_total": "0+400x30",
            "vllm:prefix_cache_hits_total": "0+100x30",
            "vllm:prompt_tokens_total": "0+600x30",
            "vllm:prompt_tokens_cached_total": "0+120x30",
            'vllm:prompt_tokens_by_source_total{source="local_compute"': "0+480x30",
            'vllm:prompt_tokens_by_source_total{source="local_cache_hit"': "0+120x30",
        }
    )
    expected = {
        "prefix_hits": 0.25,
        "cached_tokens": 2,
        "computed_tokens": 8,
        "cached_ratio": 0.2,
        "engine_prompt_tokens": 10,
    }
    gives(samples, expected)


@needs_promtool
def test_what_the_first_engine_of_a_pair_computed_is_no_saving_of_the_second() -> None:
    computed = 'vllm:prompt_tokens_by_source_total{source="local_compute"'
    prefill, decode = f'{FIRST}, role="prefill"', f'{SECOND}, role="decode"'
    samples = {
        **counted({computed: "0+540x30", "vllm:prompt_tokens_cached_total": "0+60x30"}, prefill),
        **counted({computed: "0x30", "vllm:prompt_tokens_cached_total": "0+600x30"}, decode),
    }
    gives(samples, {"computed_tokens": 9, "cached_tokens": 1, "cached_ratio": 0.1})


@needs_promtool
def test_speculation_by_drafts() -> None:
    # Ten drafts of four tokens a minute, of which two each are accepted.
    samples = counted(
        {
            "vllm:spec_decode_num_drafts_total": "0+10x30",
            "vllm:spec_decode_num_draft_tokens_total": "0+40x30",
            "vllm:spec_decode_num_accepted_tokens_total": "0+20x30",
        }
    )
    gives(samples, {"acceptance": 0.5, "acceptance_length": 3, "wasted_drafts": 0.333333})


@needs_promtool
def test_times_of_a_request_are_exact_means() -> None:
    samples = counted(
        {
            "vllm:request_queue_time_seconds_sum": "0+0.5x30",
            "vllm:request_queue_time_seconds_count": "0+10x30",
            "vllm:request_prefill_time_seconds_sum": "0+2x30",
            "vllm:request_prefill_time_seconds_count": "0+10x30",
            "vllm:request_decode_time_seconds_sum": "0+30x30",
            "vllm:request_decode_time_seconds_count": "0+10x30",
            "vllm:iteration_tokens_total_sum": "0+6400x30",
            "vllm:iteration_tokens_total_count": "0+100x30",
        }
    )
    gives(samples, {"queue_mean": 0.05, "prefill_mean": 0.2, "decode_mean": 3, "step_tokens": 64})


@needs_promtool
def test_reasons_to_finish_are_shares_of_all() -> None:
    samples = {
        **counted({'vllm:request_success_total{finished_reason="stop"': "0+6x30"}),
        **counted({'vllm:request_success_total{finished_reason="length"': "0+3x30"}),
        **counted({'vllm:request_success_total{finished_reason="abort"': "0+1x30"}),
    }
    shares = {"finished_stop": 0.6, "finished_length": 0.3, "finished_abort": 0.1, "finished_error": 0}
    gives(samples, {"finished": 100, **shares})


@needs_promtool
def test_what_went_wrong_is_counted_within_the_window() -> None:
    samples = counted(
        {
            "vllm:num_preemptions_total": "0x12 7x17",
            "vllm:nixl_num_failed_transfers_total": "0x12 2x17",
            "vllm:nixl_num_kv_expired_reqs_total": "0x12 3x17",
        }
    )
    gives(samples, {"preemptions": 7, "transfer_failures": 5})


@pytest.mark.slow
@needs_promtool
def test_nothing_is_no_sample() -> None:
    queries_give({}, "20m", {sli.query(DEMO): [] for sli in ENGINE_SLIS})
