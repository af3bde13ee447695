"""Scripts for the scripted engine: which bytes go out, and when.

Owns: the steps of an answer, builders for OpenAI events, whole streams and ways to break them. Knows
nothing about sockets, and, being the ground truth, nothing about the code under test.

In every text `@ID@` and `@MODEL@` are replaced when the script is played.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Framing = Literal["chunked", "close", "length"]
End = Literal["complete", "fin", "rst", "hang"]
"""complete: as HTTP ends it; fin, rst: the connection is cut; hang: silence until the peer leaves."""


@dataclass(frozen=True, slots=True)
class Step:
    """Bytes written at `at_s` seconds after the whole request was received. One step is one write."""

    at_s: float
    data: bytes
    kind: str
    """role, empty, reasoning, content, tool_call, finish, usage, error, done, comment, part, json."""
    tokens: int = 0

    def split(self, position: int, *, gap_s: float) -> tuple[Step, Step]:
        """Write the step in two: up to `position`, and `gap_s` later the rest, which completes it."""
        first = Step(self.at_s, self.data[:position], "part")
        return first, replace(self, at_s=self.at_s + gap_s, data=self.data[position:])


@dataclass(frozen=True, slots=True)
class Script:
    """One answer. `headers_at_s` None sends the head together with the first step, as vLLM does."""

    name: str
    steps: tuple[Step, ...] = ()
    status: int = 200
    content_type: str = "text/event-stream; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    headers_at_s: float | None = None
    framing: Framing = "chunked"
    end: End = "complete"
    end_at_s: float | None = None
    """None: right after the last step."""

    def to_json(self) -> dict[str, Any]:
        """The script as a JSON document, for the control channel."""
        document = asdict(self)
        for step in document["steps"]:
            step["data"] = base64.b64encode(step["data"]).decode()
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Script:
        """Read what `to_json` wrote."""
        fields = dict(document)
        fields["steps"] = tuple(
            Step(**{**step, "data": base64.b64decode(step["data"])}) for step in document["steps"]
        )
        fields["headers"] = tuple((name, value) for name, value in document["headers"])
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Events:
    """Builds the events of one stream, in the words of vLLM 0.32."""

    kind: Literal["chat", "completion"] = "chat"
    line_end: str = "\n"

    def role(self, at_s: float) -> Step:
        """The first chunk: a role and empty content, no token."""
        return self._delta(at_s, {"role": "assistant", "content": ""}, "role")

    def empty(self, at_s: float, *, token_ids: Sequence[int] | None = None) -> Step:
        """A chunk that shows nothing; with `token_ids`, tokens that a parser held back."""
        return self._delta(at_s, {"content": ""}, "empty", tokens=len(token_ids or ()), token_ids=token_ids)

    def content(self, at_s: float, text: str, *, tokens: int = 1, **more: Any) -> Step:
        """Visible text of `tokens` tokens. `more`: finish_reason, token_ids, usage=(prompt, so far)."""
        return self._delta(at_s, {"content": text}, "content", tokens=tokens, **more)

    def reasoning(
        self, at_s: float, text: str, *, tokens: int = 1, field: str = "reasoning", **more: Any
    ) -> Step:
        """Reasoning text; `field` "reasoning_content" is the older name."""
        return self._delta(at_s, {field: text}, "reasoning", tokens=tokens, **more)

    def tool_call(self, at_s: float, name: str | None, arguments: str, *, tokens: int = 1) -> Step:
        """A part of a tool call: its start carries the name, later parts do not."""
        function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
        call = {"index": 0, "function": function}
        if name is not None:
            call |= {"id": "call_0", "type": "function"}
        return self._delta(at_s, {"tool_calls": [call]}, "tool_call", tokens=tokens)

    def finish(self, at_s: float, reason: str = "stop") -> Step:
        """A last chunk without text."""
        return self._delta(at_s, {"content": ""}, "finish", finish_reason=reason)

    def usage(self, at_s: float, prompt: int, completion: int, *, cached: int | None = None) -> Step:
        """The closing usage chunk: no choices."""
        usage: dict[str, Any] = {
            "prompt_tokens": prompt,
            "total_tokens": prompt + completion,
            "completion_tokens": completion,
        }
        if cached is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        return self._event(at_s, {**self._head(), "choices": [], "usage": usage}, "usage")

    def error(self, at_s: float, message: str, *, code: int = 500) -> Step:
        """An error inside a stream that began with 200."""
        error = {"message": message, "type": "InternalServerError", "param": None, "code": code}
        return self._event(at_s, {"error": error}, "error")

    def done(self, at_s: float) -> Step:
        """The `[DONE]` that ends a stream."""
        return Step(at_s, f"data: [DONE]{self.line_end * 2}".encode(), "done")

    def comment(self, at_s: float, text: str = "keep-alive") -> Step:
        """A comment, as proxies send to keep a connection open."""
        return Step(at_s, f": {text}{self.line_end * 2}".encode(), "comment")

    def _delta(
        self,
        at_s: float,
        delta: Mapping[str, Any],
        kind: str,
        *,
        tokens: int = 0,
        finish_reason: str | None = None,
        token_ids: Sequence[int] | None = None,
        usage: tuple[int, int] | None = None,
    ) -> Step:
        shown = {"delta": dict(delta)} if self.kind == "chat" else {"text": delta.get("content", "")}
        choice = {"index": 0, **shown, "logprobs": None, "finish_reason": finish_reason}
        choice["token_ids"] = None if token_ids is None else list(token_ids)
        document = {**self._head(), "choices": [choice]}
        if usage is not None:
            prompt, so_far = usage
            document["usage"] = {
                "prompt_tokens": prompt,
                "total_tokens": prompt + so_far,
                "completion_tokens": so_far,
            }
        return self._event(at_s, document, kind, tokens)

    def _head(self) -> dict[str, Any]:
        name = "chat.completion.chunk" if self.kind == "chat" else "text_completion"
        return {"id": "@ID@", "object": name, "created": 1_700_000_000, "model": "@MODEL@"}

    def _event(self, at_s: float, document: Mapping[str, Any], kind: str, tokens: int = 0) -> Step:
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        return Step(at_s, f"data: {text}{self.line_end * 2}".encode(), kind, tokens)


def stream(
    name: str,
    *,
    ttft_s: float = 0.05,
    gap_s: float = 0.02,
    chunks: int = 5,
    tokens_per_chunk: int = 1,
    prompt_tokens: int = 10,
    kind: Literal["chat", "completion"] = "chat",
) -> Script:
    """A well-behaved stream: an early role chunk (chat), `chunks` of content, usage, `[DONE]`.

    The last content chunk carries the finish_reason, as vLLM's does; usage comes 5 ms after it, so that
    an end taken at the wrong event shows.
    """
    events = Events(kind)
    steps = [events.role(0.0)] if kind == "chat" else []
    last = chunks - 1
    for index in range(chunks):
        text = "".join(f" w{index * tokens_per_chunk + word}" for word in range(tokens_per_chunk))
        reason = "length" if index == last else None
        at_s = ttft_s + index * gap_s
        steps.append(events.content(at_s, text, tokens=tokens_per_chunk, finish_reason=reason))
    end_s = ttft_s + last * gap_s + 0.005
    steps += [events.usage(end_s, prompt_tokens, chunks * tokens_per_chunk), events.done(end_s)]
    return Script(name, tuple(steps))


def cut(script: Script, *, keep: int, how: End, after_s: float = 0.0) -> Script:
    """The script up to its first `keep` steps, then the connection ends as `how` says, `after_s` later."""
    steps = script.steps[:keep]
    return replace(script, steps=steps, end=how, end_at_s=(steps[-1].at_s if steps else 0.0) + after_s)


def stall(script: Script, *, before: int, for_s: float) -> Script:
    """The script with a pause of `for_s` before step number `before` (from 0)."""
    late = tuple(replace(step, at_s=step.at_s + for_s) for step in script.steps[before:])
    return replace(script, steps=script.steps[:before] + late)


def json_answer(name: str, document: Any, *, at_s: float = 0.0, status: int = 200, tokens: int = 0) -> Script:
    """One JSON document with a content-length: a whole answer, or an engine's error."""
    data = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    return Script(
        name,
        (Step(at_s, data, "json", tokens),),
        status=status,
        content_type="application/json",
        framing="length",
    )


def text_answer(name: str, text: str, *, at_s: float = 0.0, status: int = 500) -> Script:
    """Plain text with a content-length, as proxies and crashed servers answer."""
    return Script(
        name,
        (Step(at_s, text.encode(), "text"),),
        status=status,
        content_type="text/plain; charset=utf-8",
        framing="length",
    )
