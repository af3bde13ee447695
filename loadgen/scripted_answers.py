"""What the scripted server says: requests read from bytes, answers made of bytes, ahead of time.

Owns: the little HTTP and OpenAI that generators ask for. Knows nothing about sockets or time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MODEL = "scripted"
WORD = " word"
"""One token in most vocabularies, so that tools that count for themselves count alike."""
_CHUNKED_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `size` is how many bytes it took."""

    size: int
    path: str
    request_id: str
    body: Mapping[str, Any]

    @property
    def streams(self) -> bool:
        """Whether the answer is a stream."""
        return self.path.endswith("completions") and bool(self.body.get("stream"))

    @property
    def chat(self) -> bool:
        """Chat, not text."""
        return self.path.endswith("/chat/completions")


@dataclass(frozen=True, slots=True)
class Streamed:
    """A stream: its head, one chunk for each token, and its end."""

    head: bytes
    events: list[bytes]
    tail: bytes


def next_request(received: bytes) -> Asked | None:
    """The first whole request in these bytes, None if there is none yet."""
    head, found, rest = received.partition(b"\r\n\r\n")
    if not found:
        return None
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    length = int(headers.get("content-length", 0))
    if len(rest) < length:
        return None
    try:
        body = json.loads(rest[:length] or b"{}")
    except ValueError:
        body = {}
    return Asked(len(head) + 4 + length, lines[0].split(" ")[1], headers.get("x-request-id", ""), body)


def streamed(asked: Asked, tokens: int) -> Streamed:
    """The stream that answers this request; its events are shared by all requests of its kind."""
    number = _tokens(asked, tokens)
    options = asked.body.get("stream_options") or {}
    prompt = prompt_tokens(asked.body)
    events = _events(asked.chat, number, prompt if options.get("continuous_usage_stats") else None)
    closing = [_event(asked.chat, finish="length")]
    if options.get("include_usage"):
        closing.append({**_event(asked.chat), "choices": [], "usage": _usage(prompt, number)})
    tail = b"".join(_chunk(event) for event in closing) + _sse(b"[DONE]") + b"0\r\n\r\n"
    return Streamed(_CHUNKED_HEAD, events, tail)


@lru_cache(maxsize=256)
def _events(chat: bool, number: int, prompt: int | None) -> list[bytes]:
    # Filled in and not encoded one by one: making a long answer must not keep other streams waiting.
    form = _event(chat, text=WORD)
    if prompt is not None:
        form["usage"] = {"prompt_tokens": prompt, "total_tokens": "#total", "completion_tokens": "#told"}
    text = json.dumps(form, separators=(",", ":")).replace("%", "%%")
    for mark, field in (('"#total"', "%(total)d"), ('"#told"', "%(told)d")):
        text = text.replace(mark, field)
    made = [
        _sse((text % {"told": index + 1, "total": (prompt or 0) + index + 1}).encode())
        for index in range(number)
    ]
    if chat and made:
        made[0] = _chunk(_event(chat, role=True)) + made[0]
    return made


def whole_answer(asked: Asked, tokens: int) -> bytes:
    """The answer to everything that is no stream."""
    if asked.path == "/v1/models":
        return whole({"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 32768}]})
    if asked.path == "/tokenize":
        return whole({"count": prompt_tokens(asked.body), "max_model_len": 32768, "tokens": []})
    if asked.path.endswith("completions"):
        number = _tokens(asked, tokens)
        text = WORD * number
        choice: dict[str, Any] = {"index": 0, "finish_reason": "length"}
        choice |= {"message": {"role": "assistant", "content": text}} if asked.chat else {"text": text}
        usage = _usage(prompt_tokens(asked.body), number)
        return whole({**_event(asked.chat), "choices": [choice], "usage": usage})
    if asked.path in ("/health", "/", "/ping"):
        return whole({})
    return whole({"error": {"message": f"no {asked.path} here", "type": "not_found"}}, status="404 Not Found")


def whole(document: Any, *, status: str = "200 OK") -> bytes:
    """A JSON document as a whole response."""
    content = json.dumps(document).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    return head.encode() + content


def prompt_tokens(body: Mapping[str, Any]) -> int:
    """The words of a prompt: the scripted tokenizer has one token for each."""
    prompt = body.get("prompt")
    if prompt is not None:
        return len(prompt.split()) if isinstance(prompt, str) else len(prompt)
    return sum(len(str(message.get("content", "")).split()) for message in body.get("messages", ()))


def _tokens(asked: Asked, default: int) -> int:
    body = asked.body
    return max(1, int(body.get("max_completion_tokens") or body.get("max_tokens") or default))


def _usage(prompt: int, completion: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
    }


def _event(
    chat: bool, *, text: str | None = None, role: bool = False, finish: str | None = None
) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": finish}
    if chat:
        delta = {"role": "assistant", "content": ""} if role else {} if text is None else {"content": text}
        choice["delta"] = delta
    else:
        choice["text"] = text or ""
    kind = "chat.completion.chunk" if chat else "text_completion"
    return {"id": "chatcmpl-0", "object": kind, "created": 1, "model": MODEL, "choices": [choice]}


def _chunk(event: Mapping[str, Any]) -> bytes:
    return _sse(json.dumps(event, separators=(",", ":")).encode())


def _sse(data: bytes) -> bytes:
    line = b"data: " + data + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(line), line)
