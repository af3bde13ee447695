from __future__ import annotations

from serving.engine.observe import parse_metrics
from serving.engine.stuck import Movement, Signs, StuckWatch, signs

EXPOSITION = """\
vllm:num_requests_running{engine="0",model_name="m"} 2.0
vllm:num_requests_running{engine="1",model_name="m"} 1.0
vllm:generation_tokens_total{engine="0",model_name="m"} 100.0
vllm:generation_tokens_total{engine="1",model_name="m"} 11.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 7.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 3.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
"""


def busy(tokens: float, *, running: float = 1) -> Signs:
    return Signs(running, (tokens,))


def test_signs_are_summed_over_ranks_and_reasons() -> None:
    assert signs(parse_metrics(EXPOSITION)) == Signs(3, (111, 7, 5, 0.5))


def test_running_requests_without_movement_for_so_long_are_stuck() -> None:
    watch = StuckWatch(60, now_s=0)
    assert watch.see(5, busy(10), 1) is Movement.FINE
    assert watch.see(64, busy(10), 1) is Movement.FINE
    assert watch.see(65, busy(10), 1) is Movement.STUCK


def test_one_token_is_enough_to_be_alive() -> None:
    watch = StuckWatch(60, now_s=0)
    watch.see(5, busy(10), 1)
    assert watch.see(64, busy(11), 1) is Movement.FINE
    assert watch.see(100, busy(11), 1) is Movement.FINE


def test_an_idle_engine_may_stand_still_for_ever() -> None:
    watch = StuckWatch(60, now_s=0)
    for now_s in (5, 1000, 5000):
        assert watch.see(now_s, busy(10, running=0), 0) is Movement.FINE
    assert watch.see(5030, busy(10), 1) is Movement.FINE


def test_one_that_counts_nothing_though_it_was_sent_requests_is_to_be_asked() -> None:
    watch = StuckWatch(60, now_s=0)
    watch.see(5, busy(10, running=0), 0)
    watch.see(10, busy(10, running=0), 1)
    assert watch.see(70, busy(10, running=0), 1) is Movement.SILENT
    watch.answered(70)
    assert watch.see(75, busy(10, running=0), 1) is Movement.FINE


def test_one_that_answers_no_scrape_is_stuck_after_the_same_time() -> None:
    watch = StuckWatch(60, now_s=0)
    watch.see(5, busy(10, running=0), 0)
    assert watch.see(60, None, 0) is Movement.FINE
    assert watch.see(65, None, 0) is Movement.STUCK
