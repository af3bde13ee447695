"""NIXL: the decoding engine pulls the KV cache out of the prefilling engine's memory.

Owns: its configuration, its side channel, and the two legs of a request, as run with vLLM 0.32.0 on
one CPU box. Knows nothing about HTTP, request ids or where the engines are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from serving.connectors.connector import LOOPBACK, Body, Connector, Leg, Legs, Role

PARAMS = "kv_transfer_params"
_NOT_FOR_PREFILL = ("stream_options", "min_tokens")
"""Refused or wrong with one token and no stream: vLLM #16705."""


def prefill_body(body: Body) -> dict[str, Any]:
    """The first leg: the same prompt, one token, no stream, and the wish that another engine decodes."""
    first = {key: value for key, value in body.items() if key not in _NOT_FOR_PREFILL}
    first |= {"stream": False, "max_tokens": 1, "n": 1}
    if "max_completion_tokens" in body:
        first["max_completion_tokens"] = 1
    first[PARAMS] = {
        "do_remote_decode": True,
        "do_remote_prefill": False,
        "remote_engine_id": None,
        "remote_block_ids": None,
        "remote_host": None,
        "remote_port": None,
    }
    return first


def decode_body(body: Body, params: Body) -> dict[str, Any]:
    """The second leg: the client's own request, with the params of the first answer as they came.

    What a client wrote under that key is never passed on: a stale reference returns another prompt's
    answer (vLLM #52234).
    """
    return {**{key: value for key, value in body.items() if key != PARAMS}, PARAMS: dict(params)}


def params_of(answer: Body) -> Body | None:
    """The params of the first leg's answer, where it holds blocks for another engine; else None."""
    params = answer.get(PARAMS)
    if not isinstance(params, Mapping) or not params.get("do_remote_prefill"):
        return None
    return params if params.get("remote_block_ids") else None


def whole(body: Body) -> str | None:
    """Why one engine must answer alone: what needs the prefiller's own output cannot be divided."""
    if body.get("echo"):
        return "echo needs the prefilling engine's output"
    if body.get("prompt_logprobs") is not None:
        return "prompt_logprobs need the prefilling engine's output"
    return None


class Nixl(Connector):
    """Pull by NIXL over UCX."""

    kind: ClassVar[str] = "nixl"
    name: ClassVar[str] = "NixlConnector"
    summary: ClassVar[str] = "the decoding engine pulls blocks from the prefilling one, by NIXL over UCX"
    works_on: ClassVar[tuple[str, ...]] = ("cpu", "cuda", "rocm")
    packages: ClassVar[tuple[str, ...]] = ("nixl",)
    legs: ClassVar[Legs | None] = Legs(prefill_body, decode_body, params_of, whole)
    proven: ClassVar[str] = "run on CPU with vLLM 0.32.0 and nixl 1.5.2"

    def role_of(self, role: Role) -> str:
        """Both, as it was run: a decoding engine may have to serve alone. vLLM 0.32.0 warns of it."""
        return "kv_both"

    def problems(self, extra: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """With transfers in both directions vLLM 0.33 tells every client the decoding engine's address.

        It is in the last event of a stream, which is forwarded unread, and nobody would use the blocks
        (vllm 0.33.0: nixl/pull_scheduler.py request_finished, openai/chat_completion/protocol.py).
        """
        yield from super().problems(extra)
        if extra.get("bidirectional_kv_xfer"):
            what = "bidirectional_kv_xfer hands clients the address of the decoding engine"
            yield what, "leave it out; the gateway takes transfers from the prefilling engine only"

    def environment(self, leg: Leg) -> dict[str, str]:
        """Its side channel on loopback; on CPU the transports that need no device."""
        variables = {"VLLM_NIXL_SIDE_CHANNEL_HOST": LOOPBACK}
        if leg.side_channel_port is not None:
            variables["VLLM_NIXL_SIDE_CHANNEL_PORT"] = str(leg.side_channel_port)
        if leg.device == "cpu":
            variables["UCX_TLS"] = "tcp,self,sm"
        return variables
