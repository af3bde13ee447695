"""A diagnosis as text."""

from __future__ import annotations

from dataclasses import replace

from fakes.diagnosed import ask_of

from deploy.diagnose.advice import Planned
from deploy.diagnose.diagnosis import File, Known, diagnose
from deploy.diagnose.evidence import Evidence
from deploy.diagnose.levers import Seen
from deploy.diagnose.predict import Gain
from deploy.diagnose.report import WIDTH, gain_words, text
from serving.facts.load import overheads
from serving.planner.plan import make_plan

SEATS = Evidence(
    source="http://127.0.0.1:8100", seconds=60, requests=200, running_mean=8, running_max=8, waiting_mean=5,
    waiting_max=5, kv_usage_max_ratio=0.3, preemptions=0, queue_s=1.5, prefill_s=0.1, decode_s=0.4,
    ttft_s=1.6, tpot_s=0.02, e2e_s=2.0, max_num_seqs=8, ttft_slo_s=0.5, busy_ratio=1.0,
    prompt_tokens=200 * 100, output_tokens=200 * 20,
)  # fmt: skip
FILE = File("demo.yaml", "name: demo\nengine: {device: cpu, max_num_seqs: 8, kv_cache_memory: 460MiB}\n")


def said(known: Known | None = None) -> str:
    return text([diagnose(Seen(SEATS), known)])


def planned_text() -> str:
    sizes = "engine: {device: cpu, max_num_seqs: %d, kv_cache_memory: 460MiB}"
    plans = [make_plan(ask_of(sizes % seats, bandwidth=10.0, flops=1000.0), overheads()) for seats in (8, 16)]
    tried = {
        "seats": ("output tokens/s 1.40x [1.31, 1.50]; predicted 1.20x to 1.60x, which held (2026-11-29)",)
    }
    return said(Known(planned=Planned(plans[0], lambda _: plans[1]), file=FILE, tried=tried))


def test_the_text_says_what_binds_with_numbers_and_what_to_change() -> None:
    lines = said().splitlines()
    assert "  bound by: max_num_seqs (slow first token)" in lines
    assert any("8 of 8 seats were taken while 5.0 requests waited on average" in line for line in lines)
    assert "  next: let more requests run at once" in lines
    assert "      engine: {max_num_seqs: 16}" in lines
    assert "  queue     ██████████████████······  75%  1.50 s a request" in lines
    assert "  seats     ████████████████████████ 100%  8 of 8 at most, 5.0 waiting" in lines
    assert "  means: TTFT 1.60 s (objective 500.0 ms), TPOT 20.0 ms" in lines


def test_the_first_change_is_a_diff_of_the_file_and_its_gain_is_bounded() -> None:
    found = planned_text()
    assert "-engine: {device: cpu, max_num_seqs: 8, kv_cache_memory: 460MiB}" in found
    assert "+engine: {device: cpu, max_num_seqs: 16, kv_cache_memory: 460MiB}" in found
    assert "predicted: output tokens/s 1." in found
    assert "predicted: TTFT 1.00x to 16.00x" in found  # 1.6 s with 1.5 s of it in the queue


def test_what_was_measured_here_before_stands_beside_the_prediction() -> None:
    assert "measured here: output tokens/s 1.40x [1.31, 1.50]; predicted" in planned_text()


def test_what_could_not_be_told_is_said() -> None:
    assert "could not tell, for want of what was not seen: front needs client_ttft_s, ttft_s;" in " ".join(
        said().split()
    )


def test_where_no_lever_is_ready_that_is_said() -> None:
    # Objectives are not known, prefixes are cached already, and a CPU has no more devices.
    ask = ask_of("engine: {device: cpu, max_num_seqs: 32}")
    prompts = replace(
        SEATS, queue_s=0.0, prefill_s=1.5, waiting_mean=0, waiting_max=0, max_num_seqs=32, ttft_slo_s=None
    )
    lines = text([diagnose(Seen(prompts, ask=ask))]).splitlines()
    assert "  no lever on it is ready:" in lines
    assert "      not now: on CPU it shares the same cores" in lines


def test_no_line_is_too_long_for_a_terminal() -> None:
    assert max(map(len, planned_text().splitlines())) <= WIDTH


def test_too_little_data_is_said_and_nothing_else() -> None:
    each = diagnose(Seen(Evidence(source="e", seconds=60, requests=3)))
    assert text([each]).splitlines() == [
        "e: 3 requests finished within 60 s",
        "  no diagnosis: 3 requests finished within 60 s and 20 are needed",
    ]


def test_where_no_rule_sees_anything_that_is_said() -> None:
    calm = Evidence(source="e", seconds=60, requests=100)
    assert "no rule saw anything that binds" in text([diagnose(Seen(calm))])


def test_a_gain_without_bounds_is_one_number() -> None:
    assert gain_words(Gain("kv_tokens", 2.0, 2.0, "")) == "KV tokens 2.00x"
    assert gain_words(Gain("tpot_s", 1.02, 1.3, "")) == "TPOT 1.02x to 1.30x"
