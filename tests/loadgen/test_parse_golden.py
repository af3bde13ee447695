"""Scripts of what a server sends when, put on the wire in every way that HTTP and SSE allow.

Expected values are computed from the script, in milliseconds, and never from our own reading of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from loadgen.parse import Capture, record
from loadgen.records import Planned, RequestRecord
from loadgen.stats import definitions

MS = 1_000_000


@dataclass(frozen=True)
class Send:
    """One SSE event: when, its delta, and how many output tokens it carries."""

    at_ms: int
    delta: dict[str, Any] | None
    tokens: int = 0
    finish: str | None = None
    comment: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Script:
    """What is sent, and what is told of it: usage in every event, at the end, or never."""

    sends: tuple[Send, ...]
    usage: str = "every"
    done_ms: int | None = 900
    expected_outcome: str = "ok"
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def output(self) -> list[Send]:
        """The events that carry generated output: content, reasoning or a tool call that is not empty."""
        return [send for send in self.sends if send.tokens]

    def events(self) -> Iterator[tuple[int, str]]:
        """(time, event without its blank line)."""
        so_far = 0
        for send in self.sends:
            so_far += send.tokens
            if send.comment:
                yield send.at_ms, ": still here"
                continue
            if send.error:
                yield send.at_ms, "data: " + json.dumps({"error": {"message": send.error, "code": 500}})
                continue
            row: dict[str, Any] = {
                "id": "chatcmpl-1",
                "choices": [{"index": 0, "delta": send.delta, "finish_reason": send.finish}],
            }
            if self.usage == "every":
                row["usage"] = {"prompt_tokens": 7, "completion_tokens": so_far}
            yield send.at_ms, "data: " + json.dumps(row, ensure_ascii=False)
        if self.done_ms is None:
            return
        if self.usage != "never":
            row = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": so_far}}
            yield self.done_ms, "data: " + json.dumps(row)
        yield self.done_ms, "data: [DONE]"


def content(at_ms: int, text: str, tokens: int = 1, finish: str | None = None) -> Send:
    return Send(at_ms, {"content": text}, tokens, finish)


ROLE = {"role": "assistant", "content": ""}
SCRIPTS = {
    "role chunk early": Script((Send(50, ROLE), content(300, "Hello"), content(320, " you", finish="stop"))),
    "role chunk with the first token": Script(
        (Send(300, ROLE), content(300, "Hello"), content(320, " you", finish="stop"))
    ),
    "role and content in one": Script(
        (Send(300, {"role": "assistant", "content": "Hi"}, 1), content(320, "!", finish="stop"))
    ),
    "empty deltas": Script(
        (
            Send(100, ROLE),
            Send(150, {"content": ""}),
            content(300, "a"),
            Send(310, {"content": ""}),
            content(340, "b"),
            Send(360, {}, finish="stop"),
        )
    ),
    "comments": Script(
        (
            Send(20, None, comment=True),
            Send(40, ROLE),
            content(300, "a"),
            Send(310, None, comment=True),
            content(350, "b", finish="stop"),
        )
    ),
    "reasoning, then content": Script(
        (
            Send(90, ROLE),
            Send(100, {"reasoning": "hm"}, 2),
            Send(140, {"reasoning": " so"}, 1),
            content(400, "42", 1),
            content(430, ".", finish="stop"),
        ),
        notes={"visible_ms": 400},
    ),
    "reasoning by its other name": Script(
        (
            Send(100, {"reasoning_content": "hm"}, 1),
            content(250, "ok", finish="stop"),
        ),
        notes={"visible_ms": 250},
    ),
    "a tool call": Script(
        (
            Send(80, ROLE),
            Send(200, {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}, 3),
            Send(240, {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]}, 5),
            Send(260, {}, finish="tool_calls"),
        ),
        notes={"visible_ms": None},
    ),
    "many tokens in a chunk": Script(
        (content(200, "a b c", 3), content(260, "d", 1), content(330, "e f", 2, finish="length"))
    ),
    "one token": Script((Send(150, ROLE), content(150, "Yes", finish="stop"))),
    "one chunk with all tokens": Script((content(150, "Yes, I can", 4, finish="stop"),)),
    "a stall": Script(
        (content(100, "a"), content(120, "b"), content(5_120, "c", finish="stop")), done_ms=5_130
    ),
    "characters of several bytes": Script(
        (content(100, "é"), content(120, "日本"), content(140, "🙂\u2028", finish="stop"))
    ),
    "usage at the end only": Script(
        (Send(90, ROLE), content(100, "a b", 2), content(140, "c", 1, finish="stop")), usage="end"
    ),
    "no usage": Script((content(100, "a"), content(140, "b", finish="stop")), usage="never"),
    "an error inside a 200": Script(
        (content(100, "a"), content(120, "b"), Send(130, None, error="engine died")),
        done_ms=140,
        expected_outcome="failed",
    ),
    "cut off in between": Script(
        (content(100, "a"), content(120, "b")), done_ms=None, expected_outcome="failed"
    ),
    "no output at all": Script((Send(100, ROLE), Send(200, {}, finish="stop"))),
}

Framing = Callable[[bytes], bytes]
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
FRAMINGS: dict[str, tuple[str, Framing, bytes]] = {
    "close": ("Connection: close\r\n\r\n", lambda data: data, b""),
    "chunked": (
        "Transfer-Encoding: chunked\r\n\r\n",
        lambda data: b"%x;why=not\r\n%b\r\n" % (len(data), data),
        b"0\r\n\r\n",
    ),
}


def one_read(data: bytes) -> list[bytes]:
    return [data]


def single_bytes(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


def thirds(data: bytes) -> list[bytes]:
    third = max(1, len(data) // 3)
    return [part for part in (data[:third], data[third : 2 * third], data[2 * third :]) if part]


def captured(script: Script, framing: str, line_end: str, split: Callable[[bytes], list[bytes]]) -> Capture:
    """The script as it would be received: every byte of an event read at the time of its send."""
    head, frame, last = FRAMINGS[framing]
    seen = Capture(t_sent_ns=0, closed=framing == "close" or script.done_ms is None)

    def read(at_ms: int, data: bytes) -> None:
        seen.parts.append(data)
        seen.stamps.append(at_ms * MS)
        seen.t_end_ns = at_ms * MS

    read(10, (HEAD + head).encode())
    for at_ms, event in script.events():
        for part in split(frame((event + line_end * 2).encode())):
            read(at_ms, part)
    if script.done_ms is not None and last:
        read(script.done_ms, last)
    return seen


def read_back(
    script: Script,
    framing: str = "close",
    line_end: str = "\n",
    split: Callable[[bytes], list[bytes]] = one_read,
) -> RequestRecord:
    planned = Planned(0, "measure", 0, "any", "/v1/chat/completions", {})
    return record(captured(script, framing, line_end, split), planned, origin_ns=0, measure_start_ns=0)


@pytest.mark.parametrize("split", [one_read, thirds, single_bytes], ids=lambda split: split.__name__)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_stamps_and_outcome_are_the_scripts_however_it_is_framed(
    name: str, framing: str, line_end: str, split: Callable[[bytes], list[bytes]]
) -> None:
    script = SCRIPTS[name]

    made = read_back(script, framing, line_end, split)

    assert made.outcome == script.expected_outcome
    if line_end == "\r":
        return  # the end of a CR line is only known with what comes after it
    assert made.output_ns == tuple(send.at_ms * MS for send in script.output)


@pytest.mark.parametrize("name", SCRIPTS)
def test_tokens_are_those_the_script_told(name: str) -> None:
    script, made = SCRIPTS[name], read_back(SCRIPTS[name])
    if script.usage == "every":
        assert made.output_tokens_by_event == tuple(send.tokens for send in script.output)
    else:
        assert made.output_tokens_by_event == ()
    if script.usage == "never":
        assert made.output_tokens is None
    else:
        assert made.output_tokens == sum(send.tokens for send in script.output)


@pytest.mark.parametrize("name", SCRIPTS)
def test_latencies_are_those_of_the_script(name: str) -> None:
    script, made = SCRIPTS[name], read_back(SCRIPTS[name])
    output = script.output
    times = [send.at_ms for send in output]

    def ms(value: float | None) -> float | None:
        return None if value is None else round(value * 1e3, 6)

    assert ms(definitions.ttft_s(made)) == (times[0] if times else None)
    assert ms(definitions.e2e_s(made)) == (times[-1] if times else None)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert [ms(gap) for gap in definitions.inter_chunk_gaps_s(made)] == gaps
    visible = [send.at_ms for send in output if (send.delta or {}).get("content")]
    assert ms(definitions.ttfo_s(made)) == script.notes.get("visible_ms", visible[0] if visible else None)


@pytest.mark.parametrize("name", SCRIPTS)
def test_time_per_token_is_that_of_the_script(name: str) -> None:
    script, made = SCRIPTS[name], read_back(SCRIPTS[name])
    output = script.output
    told = script.usage == "every"
    first = output[0].tokens if output and told else 1
    rest = sum(send.tokens for send in output) - first
    found = definitions.tpot_s(made)
    if script.usage == "never" or rest <= 0 or output[-1].at_ms == output[0].at_ms:
        assert found is None
    else:
        assert found == pytest.approx((output[-1].at_ms - output[0].at_ms) / 1e3 / rest)
    itl = [
        (later.at_ms - earlier.at_ms) / 1e3 / (later.tokens if told else 1)
        for earlier, later in pairwise(output)
        for _ in range(later.tokens if told else 1)
    ]
    assert definitions.itl_gaps_s(made) == pytest.approx(itl)


def test_cr_alone_ends_a_line_and_the_answer_is_whole() -> None:
    made = read_back(SCRIPTS["role chunk early"], line_end="\r")

    assert made.events == {"role": 1, "content": 2, "usage": 1, "done": 1}
