"""Bytes and stamps made by hand; every expected value is counted by hand from them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loadgen.parse import Capture, answer_text, record
from loadgen.records import Planned, RequestRecord

ORIGIN = 1_000
SENT = 2_000
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n"
DONE = b"data: [DONE]\n\n"
ROLE = {"role": "assistant", "content": ""}


def event(delta: dict[str, Any] | None = None, **more: Any) -> bytes:
    finish = more.pop("finish", None)
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return b"data: " + json.dumps({"id": "chatcmpl-7", "choices": choices, **more}).encode() + b"\n\n"


def text(words: str, **more: Any) -> bytes:
    return event({"content": words}, **more)


def usage(prompt: int, completion: int) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def capture(*reads: tuple[int, bytes], closed: bool = True, head: bytes = HEAD, **more: Any) -> Capture:
    """An exchange whose reads came at these stamps; the head came with the first."""
    made = Capture(t_sent_ns=SENT, t_end_ns=9_999, closed=closed, **more)
    for index, (stamp, data) in enumerate(reads):
        made.parts.append(head + data if index == 0 else data)
        made.stamps.append(stamp)
    return made


def read(seen: Capture, *, intended: int | None = None) -> RequestRecord:
    planned = Planned(4, "measure", intended, "code", "/v1/chat/completions", {})
    return record(seen, planned, origin_ns=ORIGIN, measure_start_ns=1_500)


def test_the_role_chunk_is_no_output_and_output_ends_before_usage_and_done() -> None:
    made = read(
        capture(
            (2_100, event(ROLE)),
            (2_400, text("Hello")),
            (2_700, text(" you", finish="stop")),
            (2_900, event(None, **usage(9, 2))),
            (2_950, DONE),
        )
    )
    assert made.outcome == "ok"
    assert made.t_sent_ns == 1_000
    assert made.t_headers_ns == 1_100
    assert made.output_ns == (1_400, 1_700)
    assert made.t_first_visible_ns == 1_400
    assert made.events == {"role": 1, "content": 2, "usage": 1, "done": 1}
    assert (made.prompt_tokens, made.output_tokens, made.output_tokens_source) == (9, 2, "usage")
    assert (made.finish_reason, made.request_id, made.http_status) == ("stop", "chatcmpl-7", 200)


def test_an_empty_delta_is_no_output() -> None:
    made = read(capture((2_100, event({"content": ""})), (2_300, text("a", finish="stop") + DONE)))
    assert made.output_ns == (1_300,)
    assert made.events["empty"] == 1


def test_reasoning_is_output_but_not_visible() -> None:
    made = read(
        capture((2_200, event({"reasoning": "hm"})), (2_600, text("yes", finish="stop")), (2_700, DONE))
    )
    assert made.output_ns == (1_200, 1_600)
    assert made.t_first_visible_ns == 1_600


def test_a_tool_call_is_output() -> None:
    call = {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}
    made = read(capture((2_200, event(call)), (2_300, event({"content": ""}, finish="tool_calls") + DONE)))
    assert made.output_ns == (1_200,)
    assert made.t_first_visible_ns is None
    assert made.events == {"tool_call": 1, "finish": 1, "done": 1}


def test_an_event_has_the_stamp_of_the_read_that_completed_it() -> None:
    whole = text("split", finish="stop")
    made = read(capture((2_100, whole[:20]), (2_500, whole[20:-1]), (2_600, whole[-1:]), (2_900, DONE)))
    assert made.output_ns == (1_600,)


def test_a_character_split_between_reads_is_one_character() -> None:
    whole = b'data: {"choices":[{"index":0,"delta":{"content":"\xc3\xa9"}}]}\n\n'
    middle = whole.index(b"\xa9")
    made = read(
        capture((2_100, whole[:middle]), (2_200, whole[middle:]), (2_300, text("", finish="stop") + DONE))
    )
    assert made.output_ns == (1_200,)


def test_events_of_one_read_share_its_stamp() -> None:
    made = read(capture((2_100, text("a") + text("b") + text("c", finish="stop") + DONE)))
    assert made.output_ns == (1_100, 1_100, 1_100)


def test_continuous_usage_tells_the_tokens_of_each_event() -> None:
    made = read(
        capture(
            (2_100, event(ROLE, **usage(9, 0))),
            (2_200, text("abc", **usage(9, 3))),
            (2_300, text("d", **usage(9, 4))),
            (2_400, text("ef", finish="length", **usage(9, 6))),
            (2_500, event(None, **usage(9, 6)) + DONE),
        )
    )
    assert made.output_tokens_by_event == (3, 1, 2)
    assert made.output_tokens == 6


def test_without_continuous_usage_no_tokens_are_claimed_for_events() -> None:
    made = read(capture((2_100, text("a b c", finish="stop")), (2_200, event(None, **usage(9, 3)) + DONE)))
    assert made.output_tokens_by_event == ()
    assert made.output_tokens == 3


def test_without_usage_the_tokens_are_not_known() -> None:
    made = read(capture((2_100, text("a", finish="stop") + DONE)))
    assert made.output_tokens is None
    assert made.output_tokens_source == "none"


def test_an_intended_time_moves_from_the_phase_to_the_run() -> None:
    # The phase began 500 after the origin, and the request was meant for 300 after that.
    assert read(capture((2_100, text("a", finish="stop") + DONE)), intended=300).t_intended_ns == 800


def test_chunked_framing_and_crlf_and_comments_change_nothing() -> None:
    def chunk(data: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(data), data)

    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    first, second = text("a").replace(b"\n", b"\r\n"), text("b", finish="stop").replace(b"\n", b"\r\n")
    made = read(
        capture(
            (2_100, chunk(b": ping\r\n\r\n")),
            (2_200, chunk(first)[:-3]),
            (2_300, chunk(first)[-3:] + chunk(second)),
            (2_400, chunk(DONE) + b"0\r\n\r\n"),
            closed=False,
            head=head,
        )
    )
    # The event's last byte, the LF of its blank line, is the third from the chunk's end: it came with 2,300.
    assert made.output_ns == (1_300, 1_300)
    assert made.events == {"comment": 1, "content": 2, "done": 1}
    assert made.outcome == "ok"


def test_an_error_inside_a_200_is_a_failure_that_keeps_what_came() -> None:
    error = b'data: {"error": {"message": "engine died", "code": 500}}\n\n'
    made = read(capture((2_100, text("a")), (2_200, error), (2_300, DONE)))
    assert (made.outcome, made.error) == ("failed", "error in the stream: engine died")
    assert made.output_ns == (1_100,)


def test_a_stream_that_breaks_off_is_a_failure() -> None:
    made = read(capture((2_100, text("a")), (2_200, text("b")[:-9])))
    assert (made.outcome, made.error) == ("failed", "the stream broke off before its end")
    assert made.output_ns == (1_100,)


def test_a_refusal_is_told_in_the_server_s_words() -> None:
    body = b'{"error": {"message": "too long", "type": "invalid_request_error"}}'
    head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(
        body
    )
    made = read(capture((2_100, body), closed=False, head=head))
    assert (made.outcome, made.http_status, made.error) == ("failed", 400, "HTTP 400: too long")


def test_an_answer_that_is_no_stream_is_a_failure() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n"
    made = read(capture((2_100, b"{}"), closed=False, head=head))
    assert made.error == "answered with application/json and not a stream"


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (Capture(SENT, t_end_ns=3_000, closed=True), "the server closed without an answer"),
        (Capture(SENT, t_end_ns=3_000, error="Connection refused"), "Connection refused"),
        (capture((2_100, b""), head=b"HTTP/1.1 200 O"), "the server closed without an answer"),
    ],
)
def test_what_is_no_answer_is_a_failure_with_its_reason(seen: Capture, told: str) -> None:
    made = read(seen)
    assert made.outcome == "failed"
    assert told in str(made.error)
    assert made.http_status is None


def test_a_request_that_the_run_ended_is_cut_and_not_failed() -> None:
    made = read(capture((2_100, text("a")), closed=False, cut=True))
    assert made.outcome == "cut"
    assert made.output_ns == (1_100,)


def test_a_one_token_answer_is_ok() -> None:
    made = read(capture((2_100, text("a", finish="stop", **usage(1, 1)) + DONE)))
    assert (made.outcome, made.output_ns, made.output_tokens_by_event) == ("ok", (1_100,), (1,))


def test_a_peer_that_speaks_no_http_is_a_failure() -> None:
    made = read(capture((2_100, b""), head=b"SSH-2.0-x\r\n"))
    assert made.outcome == "failed"
    assert "not an HTTP answer" in str(made.error)


def test_embeddings_are_one_output_at_the_last_byte_and_no_tokens() -> None:
    body = json.dumps({"data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": 7}}).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    seen = capture((2_100, body[:10]), (2_400, body[10:]), closed=False, head=head)
    made = record(
        seen, Planned(4, "measure", None, "doc", "/v1/embeddings", {}), origin_ns=ORIGIN, measure_start_ns=0
    )
    assert (made.outcome, made.output_ns, made.events) == ("ok", (1_400,), {"embedding": 1})
    assert (made.prompt_tokens, made.output_tokens) == (7, 0)


def test_what_the_next_turn_repeats_is_what_the_model_showed() -> None:
    whole = capture((2_200, event({"reasoning": "hm"})), (2_600, text("yes", finish="stop")), (2_700, DONE))
    assert answer_text(whole) == "yes"
    assert answer_text(capture((2_100, text("a")), (2_200, text("b")[:-9]))) is None
