"""What an OpenAI event or answer is: its class, its text, its tokens, its usage.

Owns: the reading of chat.completion.chunk, text_completion and (minimally) Responses API events as vLLM
0.32 and OpenAI write them. Knows nothing about SSE bytes, HTTP or time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from serving.wire.problems import message_of
from serving.wire.sse import SseEvent


class EventClass(StrEnum):
    """What an event carries, by its most telling part: content with a finish_reason is content."""

    COMMENT = "comment"
    ROLE = "role"
    EMPTY = "empty"
    REASONING = "reasoning"
    CONTENT = "content"
    TOOL_CALL = "tool_call"
    FINISH = "finish"
    USAGE = "usage"
    ERROR = "error"
    DONE = "done"
    OTHER = "other"

    @property
    def is_output(self) -> bool:
        """Whether such an event carries generated output: TTFT, ITL and E2E look at no others."""
        return self in _OUTPUT


_OUTPUT = frozenset({EventClass.REASONING, EventClass.CONTENT, EventClass.TOOL_CALL})


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server tells them; with continuous usage they are the counts so far."""

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event, or one whole answer, read."""

    event_class: EventClass
    text: str = ""
    """All that was generated: reasoning, content, and tool calls (names and arguments), in this order."""
    visible_text: str = ""
    """The content alone."""
    finish_reason: str | None = None
    usage: Usage | None = None
    token_count: int | None = None
    """Tokens in this event by `token_ids`; None where the server does not send them."""
    error: str | None = None
    request_id: str | None = None
    model: str | None = None


def classify(event: SseEvent) -> Chunk:
    """Read one SSE event. Data that is not a JSON object is OTHER, never an exception."""
    if event.comment:
        return Chunk(EventClass.COMMENT)
    data = event.data.strip()
    if data == b"[DONE]":
        return Chunk(EventClass.DONE)
    return _read(data)


def answer(body: bytes) -> Chunk:
    """Read a whole non-streamed JSON answer; its `token_count` is from `token_ids`, as for an event."""
    return _read(body)


def tokens_by_output_event(chunks: Iterable[Chunk]) -> tuple[int, ...]:
    """Tokens of each output event of a stream, in order; empty where the server did not tell for all.

    From `token_ids`, else from the growth of continuous usage. Tokens of events that show nothing yet
    (text held back by a parser or a stop string) count for the next output event, with which they become
    visible; those after the last output event (an EOS in the finish chunk) count for none.
    """
    counts: list[int] = []
    told = waiting = 0
    for chunk in chunks:
        if chunk.token_count is not None:
            fresh = chunk.token_count
        elif chunk.usage is not None and chunk.usage.completion_tokens is not None:
            fresh = chunk.usage.completion_tokens - told
        elif chunk.event_class.is_output:
            return ()
        else:
            continue
        told += fresh
        waiting += fresh
        if chunk.event_class.is_output:
            counts.append(waiting)
            waiting = 0
    return tuple(counts)


def _read(data: bytes) -> Chunk:
    try:
        document = json.loads(data)
    except ValueError:
        return Chunk(EventClass.OTHER)
    if not isinstance(document, dict):
        return Chunk(EventClass.OTHER)
    if document.get("error") or document.get("object") == "error":
        return Chunk(EventClass.ERROR, error=message_of(document) or "an error without a message")
    if isinstance(document.get("choices"), list):
        return _read_choices(document)
    kind = document.get("type")
    if isinstance(kind, str):
        return _read_response_event(kind, document)
    if document.get("object") == "response":
        return _read_response(document)
    return Chunk(
        EventClass.OTHER, request_id=_string(document.get("id")), model=_string(document.get("model"))
    )


def _read_choices(document: Mapping[str, Any]) -> Chunk:
    choices = [choice for choice in document["choices"] if isinstance(choice, dict)]
    reasoning, content, tools, has_role = "", "", "", False
    for choice in choices:
        # `delta` in a stream, `message` in a whole answer, neither in text completions.
        delta = _mapping(choice.get("delta") or choice.get("message"))
        content += _string(delta.get("content")) or _string(choice.get("text")) or ""
        # vLLM renamed `reasoning_content` to `reasoning`; other servers still write the old name.
        reasoning += _string(delta.get("reasoning")) or _string(delta.get("reasoning_content")) or ""
        tools += _tool_text(delta.get("tool_calls"))
        has_role = has_role or bool(delta.get("role"))
    finish = next((reason for choice in choices if (reason := _string(choice.get("finish_reason")))), None)
    usage = _usage(document.get("usage"))
    token_lists = [ids for choice in choices if isinstance(ids := choice.get("token_ids"), list)]
    if content:
        event_class = EventClass.CONTENT
    elif tools:
        event_class = EventClass.TOOL_CALL
    elif reasoning:
        event_class = EventClass.REASONING
    elif finish:
        event_class = EventClass.FINISH
    elif not choices:
        event_class = EventClass.USAGE if usage else EventClass.EMPTY
    else:
        event_class = EventClass.ROLE if has_role else EventClass.EMPTY
    return Chunk(
        event_class,
        text=reasoning + content + tools,
        visible_text=content,
        finish_reason=finish,
        usage=usage,
        token_count=sum(len(ids) for ids in token_lists) if token_lists else None,
        request_id=_string(document.get("id")),
        model=_string(document.get("model")),
    )


_RESPONSE_DELTAS = {
    "response.output_text.delta": EventClass.CONTENT,
    "response.reasoning_text.delta": EventClass.REASONING,
    "response.function_call_arguments.delta": EventClass.TOOL_CALL,
}


def _read_response_event(kind: str, document: Mapping[str, Any]) -> Chunk:
    if kind == "error":
        return Chunk(EventClass.ERROR, error=message_of(document) or "an error without a message")
    response = _mapping(document.get("response"))
    if kind in ("response.completed", "response.incomplete", "response.failed"):
        return _read_response(response, closing_event=True)
    request_id, model = _string(response.get("id")), _string(response.get("model"))
    if kind not in _RESPONSE_DELTAS:
        return Chunk(EventClass.OTHER, request_id=request_id, model=model)
    delta = _string(document.get("delta")) or ""
    event_class = _RESPONSE_DELTAS[kind] if delta else EventClass.EMPTY
    return Chunk(event_class, text=delta, visible_text=delta if event_class is EventClass.CONTENT else "")


def _read_response(response: Mapping[str, Any], *, closing_event: bool = False) -> Chunk:
    """Read a Responses API `response`. A closing event repeats the whole text: that is not output again."""
    request_id, model = _string(response.get("id")), _string(response.get("model"))
    status = _string(response.get("status"))
    if status == "failed" or response.get("error"):
        said = message_of(response.get("error")) or "an error without a message"
        return Chunk(EventClass.ERROR, error=said, request_id=request_id, model=model)
    parts: dict[str, str] = {"reasoning": "", "message": "", "function_call": ""}
    for item in () if closing_event else _sequence(response.get("output")):
        kind = _string(_mapping(item).get("type")) or ""
        if kind == "function_call":
            parts[kind] += (_string(item.get("name")) or "") + (_string(item.get("arguments")) or "")
        elif kind in parts:
            pieces = [_mapping(piece) for piece in _sequence(item.get("content"))]
            parts[kind] += "".join(_string(piece.get("text")) or "" for piece in pieces)
    if parts["message"]:
        event_class = EventClass.CONTENT
    elif parts["function_call"]:
        event_class = EventClass.TOOL_CALL
    elif parts["reasoning"]:
        event_class = EventClass.REASONING
    else:
        event_class = EventClass.FINISH if closing_event else EventClass.EMPTY
    return Chunk(
        event_class,
        text=parts["reasoning"] + parts["message"] + parts["function_call"],
        visible_text=parts["message"],
        finish_reason=_string(_mapping(response.get("incomplete_details")).get("reason")) or status,
        usage=_usage(response.get("usage")),
        request_id=request_id,
        model=model,
    )


def _tool_text(calls: Any) -> str:
    functions = [_mapping(_mapping(call).get("function")) for call in _sequence(calls)]
    return "".join((_string(f.get("name")) or "") + (_string(f.get("arguments")) or "") for f in functions)


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    details = _mapping(value.get("prompt_tokens_details") or value.get("input_tokens_details"))
    return Usage(
        prompt_tokens=_count(value.get("prompt_tokens", value.get("input_tokens"))),
        completion_tokens=_count(value.get("completion_tokens", value.get("output_tokens"))),
        cached_tokens=_count(details.get("cached_tokens")),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
