"""NIXL: its configuration and its two legs, as run by hand with two vLLM 0.32.0 engines."""

from __future__ import annotations

from typing import Any

import pytest

from serving.connectors import CONNECTORS
from serving.connectors.connector import Leg
from serving.connectors.nixl import decode_body, params_of, prefill_body, whole

NIXL = CONNECTORS["nixl"]
BODY: dict[str, Any] = {
    "model": "smollm2-135m",
    "messages": [{"role": "user", "content": "hello"}],
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 64,
    "min_tokens": 8,
    "n": 2,
}
PARAMS = {
    "do_remote_prefill": True,
    "do_remote_decode": False,
    "remote_block_ids": [[3, 4]],
    "remote_engine_id": "c4b8",
    "remote_host": "127.0.0.1",
    "remote_port": 5600,
    "tp_size": 1,
}


def test_the_configuration_is_the_one_that_was_run() -> None:
    assert NIXL.config(Leg(device="cpu", role="prefill"), {}, None) == {
        "kv_connector": "NixlConnector",
        "kv_role": "kv_both",
        "kv_buffer_device": "cpu",
    }


def test_every_engine_has_a_side_channel_of_its_own() -> None:
    assert NIXL.environment(Leg(device="cpu", role="decode", side_channel_port=5700)) == {
        "VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1",
        "VLLM_NIXL_SIDE_CHANNEL_PORT": "5700",
        "UCX_TLS": "tcp,self,sm",
    }
    assert "UCX_TLS" not in NIXL.environment(Leg(device="cuda", role="decode", side_channel_port=5700))


def test_transfers_in_both_directions_are_refused_for_they_tell_clients_an_internal_address() -> None:
    [(what, fix)] = NIXL.problems({"bidirectional_kv_xfer": True})
    assert "address of the decoding engine" in what
    assert "leave it out" in fix
    assert list(NIXL.problems({"bidirectional_kv_xfer": False, "num_threads": 2})) == []


def test_the_first_leg_asks_for_one_token_without_a_stream() -> None:
    first = prefill_body(BODY)
    assert (first["stream"], first["max_tokens"], first["n"]) == (False, 1, 1)
    assert "stream_options" not in first
    assert "min_tokens" not in first
    assert first["messages"] == BODY["messages"]
    assert first["kv_transfer_params"] == {
        "do_remote_decode": True,
        "do_remote_prefill": False,
        "remote_engine_id": None,
        "remote_block_ids": None,
        "remote_host": None,
        "remote_port": None,
    }


def test_the_newer_name_of_max_tokens_is_cut_only_where_the_client_used_it() -> None:
    assert "max_completion_tokens" not in prefill_body(BODY)
    assert prefill_body({"max_completion_tokens": 64})["max_completion_tokens"] == 1


def test_the_second_leg_is_the_clients_own_body_with_the_params_as_they_came() -> None:
    second = decode_body(BODY, PARAMS)
    assert second == {**BODY, "kv_transfer_params": PARAMS}


def test_params_of_a_client_never_reach_an_engine() -> None:
    stale = {**BODY, "kv_transfer_params": {"remote_block_ids": [[9]]}}
    assert decode_body(stale, PARAMS)["kv_transfer_params"] == PARAMS
    assert prefill_body(stale)["kv_transfer_params"]["remote_block_ids"] is None


def test_the_clients_body_is_left_as_it_was() -> None:
    before = dict(BODY)
    prefill_body(BODY)
    decode_body(BODY, PARAMS)
    assert before == BODY


def test_params_count_only_where_they_hold_blocks() -> None:
    assert params_of({"kv_transfer_params": PARAMS}) == PARAMS
    assert params_of({}) is None
    assert params_of({"kv_transfer_params": None}) is None
    assert params_of({"kv_transfer_params": {**PARAMS, "remote_block_ids": []}}) is None
    assert params_of({"kv_transfer_params": {**PARAMS, "do_remote_prefill": False}}) is None


@pytest.mark.parametrize("body", [{"echo": True}, {"prompt_logprobs": 0}])
def test_what_needs_the_prefillers_output_is_not_divided(body: dict[str, Any]) -> None:
    assert whole(body)


def test_an_ordinary_request_is_divided() -> None:
    assert whole(BODY) is None
    assert whole({"echo": False, "prompt_logprobs": None}) is None
