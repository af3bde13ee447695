"""What the scripted engine answers where no script was asked for.

Owns: the engine's settings and an answer made from the request alone: as many words as it asks for, at
even gaps. Knows nothing about connections.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fakes.engine_metrics import CACHE_CONFIG
from fakes.likelihood import likelihood
from fakes.scripts import Events, Script, Step, json_answer
from fakes.words import TEMPLATE_TOKENS

DEFAULT_MAX_TOKENS = 16
HandOver = Literal["blocks", "nothing"]
"""As an engine with NIXL: it offers blocks, and takes another's or, with `nothing`, computes all itself."""


@dataclass(slots=True)
class Settings:
    """How the engine behaves."""

    model: str = "scripted"
    version: str = "0.32.0"
    ttft_s: float = 0.02
    gap_s: float = 0.005
    template_tokens: int = TEMPLATE_TOKENS
    block_size: int = 16
    prefix_caching: bool = True
    max_model_len: int = 2048
    api_key: str | None = None
    also_named: tuple[str, ...] = ()
    strict_model: bool = False
    """Whether another model's name is a 404, as with vLLM."""
    health_status: int = 200
    die_on_request: int | None = None
    """Exit instead of answering this request (from 1)."""
    fail_every: int | None = None
    """Answer each so-many-th request with a 500."""
    hang_every: int | None = None
    """Answer each so-many-th request never, until its client leaves."""
    hand_over: HandOver | None = None
    cache_config: dict[str, str] = field(default_factory=lambda: dict(CACHE_CONFIG))


def refusal(status: int, message: str, *, param: str | None = None) -> Script:
    """An error as vLLM words it."""
    names = {400: "BadRequestError", 404: "NotFoundError"}
    kind = names.get(status, "InternalServerError")
    error = {"message": message, "type": kind, "param": param, "code": status}
    return json_answer("refusal", {"error": error}, status=status)


def generated(
    path: str, body: Mapping[str, Any], *, prompt: Sequence[int], cached: int, settings: Settings
) -> Script:
    """The answer to a request, made from it alone."""
    model = body.get("model", settings.model)
    if settings.strict_model and model not in (settings.model, *settings.also_named):
        return refusal(404, f"The model `{model}` does not exist.", param="model")
    count = body.get("max_completion_tokens") or body.get("max_tokens") or DEFAULT_MAX_TOKENS
    if len(prompt) + count > settings.max_model_len:
        said = f"This model's maximum context length is {settings.max_model_len} tokens."
        return refusal(400, said, param="input_tokens")
    seed = zlib.crc32(repr(list(prompt)).encode())
    ids = [(seed + index) % 1000 for index in range(count)]
    usage = {
        "prompt_tokens": len(prompt),
        "total_tokens": len(prompt) + count,
        "completion_tokens": count,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    if body.get("stream"):
        return _stream(path, body, ids, usage, settings)
    return _whole(path, ids, usage, settings, {**_blocks(body, settings), **likelihood(body, ids)})


def _blocks(body: Mapping[str, Any], settings: Settings) -> Mapping[str, Any]:
    """What an engine adds to the answer of a prompt that another engine is to go on with."""
    wanted = (body.get("kv_transfer_params") or {}).get("do_remote_decode")
    if settings.hand_over is None or not wanted:
        return {}
    params = {"do_remote_prefill": True, "do_remote_decode": False, "remote_block_ids": [[1, 2]]}
    return {"kv_transfer_params": params | {"remote_engine_id": "e", "remote_host": "h", "remote_port": 1}}


def _stream(
    path: str, body: Mapping[str, Any], ids: Sequence[int], usage: Mapping[str, Any], settings: Settings
) -> Script:
    events = Events("chat" if path == "/v1/chat/completions" else "completion")
    options = body.get("stream_options") or {}
    prompt_tokens, count = usage["prompt_tokens"], len(ids)
    # The role goes out at once, unlike vLLM's: who takes it for the first token is then far off.
    steps: list[Step] = [events.role(0.0)] if events.kind == "chat" else []
    at_s = settings.ttft_s
    for index, token in enumerate(ids):
        at_s = settings.ttft_s + index * settings.gap_s
        more: dict[str, Any] = {"finish_reason": "length" if index == count - 1 else None}
        if body.get("return_token_ids"):
            more["token_ids"] = [token]
        if options.get("continuous_usage_stats"):
            more["usage"] = (prompt_tokens, index + 1)
        steps.append(events.content(at_s, f" w{token}", **more))
    if options.get("include_usage"):
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        steps.append(events.usage(at_s, prompt_tokens, count, cached=cached))
    return Script("generated", (*steps, events.done(at_s)))


def _whole(
    path: str, ids: Sequence[int], usage: Mapping[str, Any], settings: Settings, more: dict[str, Any]
) -> Script:
    text = "".join(f" w{token}" for token in ids)
    chat = path == "/v1/chat/completions"
    shown: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    shown["logprobs"] = more.pop("logprobs", None)
    document = {
        "id": "@ID@",
        "object": "chat.completion" if chat else "text_completion",
        "created": 1_700_000_000,
        "model": "@MODEL@",
        "choices": [{"index": 0, **shown, "finish_reason": "length"}],
        "usage": usage,
        **more,
    }
    at_s = settings.ttft_s + (len(ids) - 1) * settings.gap_s
    return json_answer("generated", document, at_s=at_s, tokens=len(ids))
