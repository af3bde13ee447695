"""Disaggregated prefill: its fields, its flag and what an engine shows of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from serving.modes.disaggregated import Disaggregated, Handover
from serving.modes.mode import EngineContext, EngineSlot, MetricKey, Observation

NIXL = Disaggregated.model_validate({"connector": {"kind": "nixl"}})
MADE = "INFO [factory.py:62] Creating v1 connector with name: {} and engine_id: 4d2c"
SOURCE = "vllm:prompt_tokens_by_source_total"


@pytest.fixture
def decoding(on_cpu: EngineContext) -> EngineContext:
    return replace(on_cpu, slot=EngineSlot("decode-0", "decode", side_channel_port=5700))


def test_it_says_how_many_of_each_and_by_which_connector() -> None:
    mode = Disaggregated.model_validate({"prefill": 2, "connector": {"kind": "nixl"}})
    assert mode.asked() == "2 prefill + 1 decode by nixl"


def test_the_flag_and_the_side_channel_are_those_that_were_run(decoding: EngineContext) -> None:
    # Run by hand with vLLM 0.32.0: NixlConnector, kv_both, kv_buffer_device cpu.
    [(flag, value)] = NIXL.flags(decoding)
    assert flag == "--kv-transfer-config"
    assert json.loads(str(value)) == {
        "kv_connector": "NixlConnector",
        "kv_role": "kv_both",
        "kv_buffer_device": "cpu",
    }
    assert NIXL.environment(decoding)["VLLM_NIXL_SIDE_CHANNEL_PORT"] == "5700"


def test_a_connectors_own_settings_are_passed_on(decoding: EngineContext) -> None:
    mode = Disaggregated.model_validate(
        {"connector": {"kind": "nixl", "load_failure": "recompute", "extra": {"kv_lease_duration": 60}}}
    )
    config = json.loads(str(mode.flags(decoding)[0][1]))
    assert config["kv_connector_extra_config"] == {"kv_lease_duration": 60}
    assert config["kv_load_failure_policy"] == "recompute"


def test_tokens_of_another_engine_show_it(decoding: EngineContext) -> None:
    # Seen of vLLM 0.32.0 after one prompt of 301 tokens over two legs.
    after = {
        (SOURCE, (("source", "external_kv_transfer"),)): 301.0,
        (SOURCE, (("source", "local_compute"),)): 5190.0,
        ("vllm:nixl_xfer_time_seconds_count", ()): 1.0,
    }
    before = {(SOURCE, (("source", "local_compute"),)): 5190.0}
    verdict = NIXL.verdict(Observation(before, after, {}, [MADE.format("NixlPullConnector")]), decoding)
    assert verdict.in_effect is True
    assert verdict.evidence == ("301 prompt tokens came from another engine, 1 transfers (NixlPullConnector)")


def test_a_connector_without_a_request_over_both_legs_cannot_tell(decoding: EngineContext) -> None:
    verdict = NIXL.verdict(Observation({}, {}, {}, [MADE.format("NixlConnector")]), decoding)
    assert verdict.in_effect is None
    assert verdict.evidence == "NixlConnector is up as decode; no request went over both legs yet"


def test_another_connector_is_not_in_effect(decoding: EngineContext) -> None:
    verdict = NIXL.verdict(Observation({}, {}, {}, [MADE.format("ExampleConnector")]), decoding)
    assert (verdict.in_effect, verdict.evidence) == (
        False,
        "the engine made ExampleConnector, not NixlConnector",
    )


def test_a_log_without_a_connector_shows_nothing(decoding: EngineContext) -> None:
    assert NIXL.verdict(Observation({}, {}, {}), decoding).in_effect is None


def handover(after: float | None = 301.0, **fields: str | int) -> Handover:
    """As vLLM 0.32.0 counted one prompt of 301 tokens over two legs, but for the fields given."""
    key: MetricKey = (SOURCE, (("source", "external_kv_transfer"),))
    counted: dict[MetricKey, float] = {} if after is None else {key: after}
    counted[("vllm:nixl_xfer_time_seconds_count", ())] = 1.0
    counted[("vllm:nixl_xfer_time_seconds_sum", ())] = 0.0034
    seen = Observation({key: 0.0}, counted, {})
    answers = {"answer": "the sea", "alone": "the sea"}
    return Handover(**({"prefill": "p", "decode": "d", "prompt_tokens": 301} | answers | fields), seen=seen)


def test_a_request_over_both_engines_shows_it_with_tokens_time_and_the_answer() -> None:
    verdict = NIXL.handed_over(handover())
    assert (verdict.in_effect, verdict.warnings) == (True, ())
    assert verdict.evidence == (
        "301 of 301 prompt tokens came from p to d in 1 transfer of 3.4 ms; "
        "the answer is the one of the prefilling engine alone"
    )


def test_tokens_of_other_requests_are_not_told_as_its_own() -> None:
    verdict = NIXL.handed_over(handover(5301.0))
    assert verdict.in_effect is True
    assert verdict.evidence.startswith(
        "5,301 prompt tokens, with those of other requests, came from p to d in 1"
    )


def test_another_answer_after_a_transfer_is_a_warning_with_its_place() -> None:
    verdict = NIXL.handed_over(handover(answer="the fox"))
    assert verdict.in_effect is True
    [warning] = verdict.warnings
    assert "not the one of p alone" in warning
    assert "'fox' where it had 'sea'" in warning


def test_a_prompt_that_the_decoder_computed_itself_is_not_in_effect() -> None:
    verdict = NIXL.handed_over(handover(0.0))
    assert verdict.in_effect is False
    assert verdict.evidence == "d computed a prompt of 301 tokens that p had computed for it"


def test_a_leg_that_failed_is_not_in_effect() -> None:
    verdict = NIXL.handed_over(handover(failure="the first gave no blocks to take over"))
    assert (verdict.in_effect, verdict.evidence) == (False, "p to d: the first gave no blocks to take over")


def test_an_engine_that_does_not_count_by_source_cannot_tell() -> None:
    assert NIXL.handed_over(handover(None)).in_effect is None
