from __future__ import annotations

from pathlib import Path

import pytest

from loadgen.server_metrics import ServerSample, increases, read_metrics, server_view
from loadgen.stats.plan import ServerView

TTFT = "vllm:time_to_first_token_seconds"
TEXT = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="m"} 0.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 1.5
vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 4.0
vllm:cache_config_info{block_size="128",cache_dtype="fp8",engine="0"} 1.0
http_requests_total{handler="/v1/chat/completions"} 9.0
"""


def sample(second: float, *, edge: bool = False, url: str = "a", **series: float) -> ServerSample:
    named = {name.replace("__", ":"): value for name, value in series.items()}
    return ServerSample(round(second * 1e9), url, named, {"block_size": "16"} if edge else {}, edge)


def test_only_the_kept_series_are_read_and_engines_are_added_up() -> None:
    series, cache_config = read_metrics(TEXT)
    assert series == {
        "vllm:num_requests_running": 5,
        "vllm:kv_cache_usage_perc": 0.5,
        f"{TTFT}_sum": 1.5,
        f"{TTFT}_count": 4,
    }
    assert cache_config == {"block_size": "128", "cache_dtype": "fp8", "engine": "0"}


def test_a_text_without_our_series_gives_nothing_and_not_zeros() -> None:
    assert read_metrics("up 1\n") == ({}, {})


def test_a_sample_survives_its_line() -> None:
    one = sample(1.5, edge=True, vllm__num_requests_running=3)
    assert ServerSample.from_json(one.to_json()) == one


def test_means_are_increases_of_sum_over_increases_of_count_between_the_edges() -> None:
    view = server_view(
        [
            sample(1, edge=True, **{f"{TTFT}_sum": 10.0, f"{TTFT}_count": 5.0}),
            sample(2, **{f"{TTFT}_sum": 12.9, f"{TTFT}_count": 6.0}),
            sample(3, edge=True, **{f"{TTFT}_sum": 13.0, f"{TTFT}_count": 11.0}),
        ]
    )
    assert view is not None
    assert view.ttft_mean_s == pytest.approx(0.5)
    assert view.cache_config == {"block_size": "16"}
    assert view.tpot_mean_s is None


def test_several_servers_are_added_up() -> None:
    name = {"vllm__generation_tokens_total": 0.0}
    view = server_view(
        [
            sample(1, edge=True, url="a", **name),
            sample(1, edge=True, url="b", **name),
            sample(2.0, url="a", vllm__num_requests_running=2, vllm__kv_cache_usage_perc=0.5),
            sample(2.1, url="b", vllm__num_requests_running=3, vllm__kv_cache_usage_perc=0.7),
            sample(3, edge=True, url="a", vllm__generation_tokens_total=30),
            sample(3, edge=True, url="b", vllm__generation_tokens_total=12),
        ]
    )
    assert view is not None
    assert view.output_tokens == 42
    assert view.running_max == 5
    assert view.kv_cache_usage_max_ratio == 0.7


def test_peaks_outside_the_measured_phase_do_not_count() -> None:
    view = server_view(
        [
            sample(0.5, vllm__num_requests_running=50),
            sample(1, edge=True, vllm__num_requests_running=0),
            sample(2, vllm__num_requests_running=4),
            sample(3, edge=True, vllm__num_requests_running=0),
        ]
    )
    assert view is not None
    assert view.running_max == 4


def test_prefix_hits_are_a_ratio_and_unknown_without_queries() -> None:
    def view_of(queries: float, hits: float) -> float | None:
        before = sample(1, edge=True, vllm__prefix_cache_queries_total=100, vllm__prefix_cache_hits_total=50)
        after = sample(
            2,
            edge=True,
            vllm__prefix_cache_queries_total=100 + queries,
            vllm__prefix_cache_hits_total=50 + hits,
        )
        view = server_view([before, after])
        assert view is not None
        return view.prefix_cache_hit_ratio

    assert view_of(200, 50) == 0.25
    assert view_of(0, 0) is None


def test_a_restart_is_seen_and_a_reset_counter_gives_no_number() -> None:
    view = server_view(
        [
            sample(1, edge=True, process_start_time_seconds=7, vllm__generation_tokens_total=500),
            sample(2, edge=True, process_start_time_seconds=8, vllm__generation_tokens_total=3),
        ]
    )
    assert view is not None
    assert view.restarted is True
    assert view.output_tokens is None


def between_edges(*inside: ServerSample, **at_the_end: float) -> ServerView:
    """Edges with 500 tokens at second 1 and 900 at second 9, of one process, and `inside` between them."""
    tokens = "vllm__generation_tokens_total"
    first = sample(1, edge=True, **{"process_start_time_seconds": 7.0, tokens: 500.0})
    last = sample(9, edge=True, **{"process_start_time_seconds": 7.0, tokens: 900.0} | at_the_end)
    view = server_view([first, *inside, last])
    assert view is not None
    return view


def test_a_run_in_which_nothing_falls_had_no_restart() -> None:
    view = between_edges(
        sample(
            3, process_start_time_seconds=7, vllm__generation_tokens_total=600, vllm__num_requests_running=9
        ),
        sample(
            4, process_start_time_seconds=7, vllm__generation_tokens_total=600, vllm__num_requests_running=0
        ),
        sample(5),  # a page without our series, not a restart
        sample(6, process_start_time_seconds=7, vllm__generation_tokens_total=700),
    )
    assert (view.restarted, view.output_tokens) == (False, 400)


@pytest.mark.parametrize(
    "inside",
    [
        {"process_start_time_seconds": 8.0, "vllm__generation_tokens_total": 600.0},
        {"process_start_time_seconds": 7.0, "vllm__generation_tokens_total": 3.0},
        {"process_start_time_seconds": 7.0},
    ],
    ids=["another start time", "a counter that fell", "a counter that is gone"],
)
def test_a_restart_between_the_edges_is_seen_though_they_look_alike(inside: dict[str, float]) -> None:
    view = between_edges(sample(3, **inside))
    assert view.restarted is True
    assert view.output_tokens is None


def test_without_start_times_a_fall_is_known_and_its_absence_is_not() -> None:
    def seen(*tokens: float) -> bool | None:
        last = len(tokens) - 1
        view = server_view(
            [
                sample(n, edge=n in (0, last), vllm__generation_tokens_total=one)
                for n, one in enumerate(tokens)
            ]
        )
        assert view is not None
        return view.restarted

    assert seen(500, 3, 900) is True
    assert seen(500, 600, 900) is None


def test_what_a_server_did_before_and_after_the_run_is_no_restart_in_it() -> None:
    outside = (
        sample(0, process_start_time_seconds=6, vllm__generation_tokens_total=9_000),
        sample(10, process_start_time_seconds=8, vllm__generation_tokens_total=1),
    )
    assert between_edges(*outside).restarted is False


def test_one_of_two_servers_that_restarted_is_enough() -> None:
    other = [
        sample(at, edge=True, url="b", process_start_time_seconds=5, vllm__generation_tokens_total=1)
        for at in (1, 9)
    ]
    assert between_edges(*other).restarted is False
    view = between_edges(*other, sample(3, process_start_time_seconds=8))
    assert (view.restarted, view.output_tokens) == (True, None)


def test_without_both_edges_there_is_no_view() -> None:
    assert server_view([]) is None
    assert server_view([sample(1, edge=True), sample(2)]) is None
    failed = ServerSample(3, "a", edge=True, error="refused")
    assert server_view([sample(1, edge=True), failed]) is None


def test_a_capture_of_the_real_engine_is_read() -> None:
    golden = Path(__file__).parents[1] / "golden" / "metrics" / "vllm-0.32.0.txt"
    series, cache_config = read_metrics(golden.read_text())
    assert cache_config["kv_cache_size_tokens"] == "93184"
    assert series[f"{TTFT}_count"] == 42
    assert series["vllm:generation_tokens_total"] == 2632


def test_prompt_tokens_are_told_by_source() -> None:
    text = """\
vllm:prompt_tokens_by_source_total{engine="0",source="local_compute"} 30.0
vllm:prompt_tokens_by_source_total{engine="1",source="local_compute"} 12.0
vllm:prompt_tokens_by_source_total{engine="0",source="local_cache_hit"} 16.0
"""
    series, _ = read_metrics(text)
    name = "vllm:prompt_tokens_by_source_total"
    assert series == {f"{name}{{local_compute}}": 42, f"{name}{{local_cache_hit}}": 16}
    before = ServerSample(1, "a", {f"{name}{{local_compute}}": 2}, edge=True)
    view = server_view([before, ServerSample(9, "a", series, edge=True)])
    assert view is not None
    assert view.prompt_tokens_by_source == {"local_compute": 40, "local_cache_hit": 16}


def test_acceptance_is_told_by_position() -> None:
    # 10 steps drafted 4 tokens each: 9 accepted the first, 6 the second too, 3 the third, none the fourth.
    text = """\
vllm:spec_decode_num_drafts_total{engine="0"} 10.0
vllm:spec_decode_num_draft_tokens_total{engine="0"} 40.0
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 18.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 9.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 6.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="2"} 3.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="3"} 0.0
"""
    after = ServerSample(9, "a", read_metrics(text)[0], edge=True)
    view = server_view([ServerSample(1, "a", edge=True), after])
    assert view is not None
    assert (view.acceptance_ratio, view.acceptance_length) == (0.45, 2.8)
    assert view.acceptance_by_position == (0.9, 0.6, 0.3, 0.0)


def test_without_speculation_there_is_no_acceptance() -> None:
    zero = {"vllm:spec_decode_num_drafts_total": 0.0, "vllm:spec_decode_num_draft_tokens_total": 0.0}
    view = server_view([ServerSample(1, "a", zero, edge=True), ServerSample(2, "a", zero, edge=True)])
    assert view is not None
    assert view.acceptance_ratio is None
    assert view.acceptance_by_position == ()


def test_every_counter_has_its_increase_over_all_servers_and_gauges_have_none() -> None:
    found = increases(
        [
            sample(0, edge=True, vllm__generation_tokens_total=5, vllm__num_requests_running=0),
            sample(1, vllm__generation_tokens_total=30, vllm__num_requests_running=4),
            sample(2, edge=True, vllm__generation_tokens_total=69, vllm__num_requests_running=0),
            sample(0, edge=True, url="b", vllm__generation_tokens_total=0),
            sample(2, edge=True, url="b", vllm__generation_tokens_total=6),
        ]
    )
    assert found == {"vllm:generation_tokens_total": 70}


def test_a_server_that_was_not_read_at_the_edges_has_no_increases() -> None:
    assert increases([sample(1, vllm__generation_tokens_total=30)]) == {}
