"""serving.wire.chunks against events that vLLM 0.32's own classes wrote, and others written by hand.

The two goldens were made by filling vLLM's response classes as its serving.py does and dumping them with
its own options; what they must be read as was written down by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serving.wire.chunks import Chunk, EventClass, Usage, answer, classify, tokens_by_output_event
from serving.wire.sse import SseEvent, decode

GOLDEN = Path(__file__).parents[2] / "golden" / "sse"


def read(document: Any) -> Chunk:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return classify(SseEvent(data, len(data)))


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish_reason}]}


def test_vllms_chat_stream_is_read_event_by_event() -> None:
    chunks = [classify(event) for event in decode((GOLDEN / "vllm-0.32-chat.sse").read_bytes())]
    assert [(str(chunk.event_class), chunk.text, chunk.token_count) for chunk in chunks] == [
        ("role", "", None),
        ("reasoning", "Well", 1),
        ("empty", "", 1),
        ("content", ".Grüße", 3),
        ("content", " 世界", 2),
        ("tool_call", "now", 1),
        ("tool_call", '{"tz":1}', 1),
        ("content", "!", 2),
        ("usage", "", None),
        ("done", "", None),
    ]
    assert "".join(chunk.visible_text for chunk in chunks) == "Grüße 世界!"
    assert [chunk.finish_reason for chunk in chunks if chunk.finish_reason] == ["tool_calls"]
    assert chunks[8].usage == Usage(prompt_tokens=12, completion_tokens=11, cached_tokens=8)
    assert {chunk.request_id for chunk in chunks[:9]} == {"chatcmpl-0a1b"}
    assert {chunk.model for chunk in chunks[:9]} == {"smollm2"}
    # Reasoning 1; the held-back token goes to the event after it; the EOS rides on the last.
    assert tokens_by_output_event(chunks) == (1, 4, 2, 1, 1, 2)


def test_vllms_continuous_usage_tells_the_tokens_of_each_output_event() -> None:
    stream = (GOLDEN / "vllm-0.32-completion-continuous-usage.sse").read_bytes()
    chunks = [classify(event) for event in decode(stream)]
    assert [str(chunk.event_class) for chunk in chunks] == [
        "content",
        "empty",
        "content",
        "finish",
        "usage",
        "done",
    ]
    assert tokens_by_output_event(chunks) == (1, 3)
    assert chunks[4].usage == Usage(prompt_tokens=12, completion_tokens=5)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (delta(role="assistant", content=""), EventClass.ROLE),
        (delta(role="assistant"), EventClass.ROLE),
        (delta(role="assistant", content="Hi"), EventClass.CONTENT),
        (delta(content=""), EventClass.EMPTY),
        (delta(content=None), EventClass.EMPTY),
        (delta(), EventClass.EMPTY),
        (delta(reasoning_content="hm"), EventClass.REASONING),
        (delta(reasoning="hm", content="Hi"), EventClass.CONTENT),
        (delta(tool_calls=[{"index": 0, "function": {"name": "f"}}]), EventClass.TOOL_CALL),
        (delta("stop", content="Hi"), EventClass.CONTENT),
        (delta("stop"), EventClass.FINISH),
        (delta("stop", role="assistant", content=""), EventClass.FINISH),
        ({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}, EventClass.USAGE),
        ({"choices": [], "usage": None}, EventClass.EMPTY),
        ({"choices": [{"index": 0, "text": "Hi"}], "object": "text_completion"}, EventClass.CONTENT),
        ({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}, EventClass.FINISH),
        (b"[DONE]", EventClass.DONE),
        (b" [DONE] ", EventClass.DONE),
        (b"", EventClass.OTHER),
        (b"not json", EventClass.OTHER),
        (b"\xff", EventClass.OTHER),
        (b"[1]", EventClass.OTHER),
        (b'"text"', EventClass.OTHER),
        ({"choices": ["odd", None]}, EventClass.EMPTY),
        ({"choices": [{"delta": "odd"}]}, EventClass.EMPTY),
        ({"unknown": 1}, EventClass.OTHER),
    ],
)
def test_an_event_has_the_class_of_its_most_telling_part(document: Any, expected: EventClass) -> None:
    assert read(document).event_class is expected


def test_a_comment_is_a_comment_whatever_it_says() -> None:
    assert classify(SseEvent(b"[DONE]", 8, comment=True)) == Chunk(EventClass.COMMENT)


def test_only_generated_text_is_output() -> None:
    assert {kind for kind in EventClass if kind.is_output} == {"reasoning", "content", "tool_call"}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"error": {"message": "boom", "type": "InternalServerError", "param": None, "code": 500}}, "boom"),
        ({"error": "boom"}, "boom"),
        ({"object": "error", "message": "boom", "code": 400}, "boom"),
        ({"error": {"code": 500}}, "an error without a message"),
        ({"type": "error", "message": "boom", "code": None}, "boom"),
        ({"type": "response.failed", "response": {"status": "failed", "error": {"message": "boom"}}}, "boom"),
    ],
)
def test_an_error_event_gives_its_message(document: Any, said: str) -> None:
    chunk = read(document)
    assert (chunk.event_class, chunk.error) == (EventClass.ERROR, said)


def test_without_token_counts_from_the_server_there_are_none() -> None:
    chunks = [read(delta(content="a")), read({"choices": [], "usage": {"completion_tokens": 3}})]
    assert tokens_by_output_event(chunks) == ()
    assert tokens_by_output_event([]) == ()


def test_a_responses_stream_is_read() -> None:
    usage = {"input_tokens": 5, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 2}}
    output = [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]
    done = {
        "id": "resp_1", "model": "m", "status": "completed", "usage": usage, "error": None, "output": output
    }  # fmt: skip
    chunks = [
        read({"type": "response.created", "response": {"id": "resp_1", "model": "m"}}),
        read({"type": "response.reasoning_text.delta", "delta": "hm"}),
        read({"type": "response.output_text.delta", "delta": "Hi"}),
        read({"type": "response.output_text.delta", "delta": ""}),
        read({"type": "response.function_call_arguments.delta", "delta": "{}"}),
        read({"type": "response.completed", "response": done}),
    ]
    assert [(str(chunk.event_class), chunk.text) for chunk in chunks] == [
        ("other", ""),
        ("reasoning", "hm"),
        ("content", "Hi"),
        ("empty", ""),
        ("tool_call", "{}"),
        ("finish", ""),
    ]
    assert chunks[5].usage == Usage(5, 3, 2)
    assert (chunks[0].request_id, chunks[5].finish_reason) == ("resp_1", "completed")


def test_a_response_cut_by_its_limit_says_why() -> None:
    response = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert read({"type": "response.incomplete", "response": response}).finish_reason == "max_output_tokens"


def test_a_whole_chat_answer_is_read_like_an_event() -> None:
    body = (
        b'{"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":'
        b'{"role":"assistant","content":"Hi","reasoning":"hm"},"finish_reason":"stop","token_ids":[1,2,3]}],'
        b'"usage":{"prompt_tokens":12,"total_tokens":15,"completion_tokens":3,"prompt_tokens_details":null}}'
    )
    assert answer(body) == Chunk(
        EventClass.CONTENT,
        text="hmHi",
        visible_text="Hi",
        finish_reason="stop",
        usage=Usage(12, 3),
        token_count=3,
        request_id="chatcmpl-1",
        model="m",
    )


def test_a_whole_text_completion_and_a_whole_response_are_read() -> None:
    text = answer(b'{"object":"text_completion","choices":[{"text":"Hi","finish_reason":"length"}]}')
    assert (text.event_class, text.text, text.finish_reason) == (EventClass.CONTENT, "Hi", "length")
    response = answer(
        b'{"object":"response","status":"completed","output":[{"type":"reasoning","content":[{"text":"hm"}]},'
        b'{"type":"function_call","name":"f","arguments":"{}"}]}'
    )
    assert (response.event_class, response.text) == (EventClass.TOOL_CALL, "hmf{}")


def test_an_answer_that_is_an_error_or_no_json_is_told_apart() -> None:
    assert answer(b'{"error":"Unauthorized"}').error == "Unauthorized"
    assert answer(b"<html>").event_class is EventClass.OTHER
