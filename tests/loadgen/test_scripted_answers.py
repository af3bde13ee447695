from __future__ import annotations

import json

from loadgen.parse import Capture, record
from loadgen.records import Planned
from loadgen.scripted_answers import Asked, next_request, streamed, whole_answer

CHAT = "/v1/chat/completions"


def post(path: str, body: object) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nX-Request-ID: r7\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def test_a_request_is_read_when_it_is_whole_and_the_next_stays() -> None:
    one = post(CHAT, {"stream": True})
    assert all(next_request(one[:length]) is None for length in range(len(one)))
    asked = next_request(one + b"GET /v1/models")
    assert asked is not None
    assert (asked.size, asked.path, asked.request_id, asked.streams) == (len(one), CHAT, "r7", True)


def test_a_stream_has_a_chunk_for_each_token_and_says_its_usage() -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    body = {"messages": [{"content": "a b c"}], "stream": True, "max_tokens": 4, "stream_options": options}
    made = streamed(Asked(0, CHAT, "", body), 64)
    assert len(made.events) == 4
    raw = made.head + b"".join(made.events) + made.tail
    seen = record(
        Capture(1, 3, [raw], [2]), Planned(0, "measure", 0, "any", CHAT, {}), origin_ns=0, measure_start_ns=0
    )
    assert seen.outcome == "ok"
    assert seen.events == {"role": 1, "content": 4, "finish": 1, "usage": 1, "done": 1}
    assert seen.output_tokens_by_event == (1, 1, 1, 1)
    assert (seen.prompt_tokens, seen.output_tokens) == (3, 4)


def test_usage_is_not_told_unasked() -> None:
    body = {"prompt": "a b", "stream": True}
    made = streamed(Asked(0, "/v1/completions", "", body), 2)
    assert b"usage" not in b"".join(made.events) + made.tail
    assert len(made.events) == 2


def test_what_generators_ask_for_before_they_begin_is_answered() -> None:
    def answer(path: str, body: object = None) -> tuple[bytes, dict[str, object]]:
        head, _, content = whole_answer(Asked(0, path, "", body or {}), 3).partition(b"\r\n\r\n")  # type: ignore[arg-type]
        return head.split(b"\r\n")[0], json.loads(content)

    assert answer("/v1/models")[1]["data"]
    assert answer("/tokenize", {"messages": [{"content": "a b c d"}]})[1]["count"] == 4
    assert answer(CHAT, {"messages": []})[1]["usage"]["completion_tokens"] == 3  # type: ignore[index]
    assert answer("/nothing")[0] == b"HTTP/1.1 404 Not Found"
