from __future__ import annotations

import json
from typing import Any

import pytest

from loadgen.prompts.sharegpt import Exchange, ShareGptSource, read_sharegpt
from serving.errors import UsageError


def said(*rows: tuple[str, str]) -> dict[str, Any]:
    return {"conversations": [{"from": who, "value": text} for who, text in rows]}


def read(*entries: Any) -> tuple[tuple[Exchange, ...], ...]:
    return read_sharegpt(json.dumps(entries), name="s.json")


def test_questions_and_answers_are_paired_from_the_first_question_on() -> None:
    (conversation,) = read(said(("system", "x"), ("human", "a"), ("gpt", "b"), ("human", "c"), ("gpt", "d")))
    assert conversation == (Exchange("a", "b"), Exchange("c", "d"))


def test_a_conversation_ends_where_it_no_longer_alternates_or_somebody_says_nothing() -> None:
    (conversation,) = read(said(("human", "a"), ("gpt", "b"), ("human", "c"), ("human", "d")))
    assert conversation == (Exchange("a", "b"),)
    assert len(read(said(("human", "a"), ("gpt", " ")), said(("human", "a"), ("gpt", "b")))) == 1


def test_lines_of_json_and_openai_messages_are_read_too() -> None:
    entry = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    text = f"{json.dumps(entry)}\n\n{json.dumps(entry)}\n"
    assert read_sharegpt(text, name="s.jsonl") == ((Exchange("a", "b"),),) * 2


def refusal(text: str) -> list[str]:
    with pytest.raises(UsageError) as error:
        read_sharegpt(text, name="s.json")
    return str(error.value).splitlines()


def test_wrong_entries_are_told_up_to_ten() -> None:
    told = refusal(json.dumps([{"text": "x"}, said(("human", "a"), ("gpt", "b")), {"conversations": [1]}]))
    assert told[0].startswith("s.json: entry 1: has no conversations; expected a list of")
    assert told[1].startswith("s.json: entry 3: has a message without from and value")
    assert refusal(json.dumps([{}] * 13))[-1] == "s.json: 3 more entries are wrong"


def test_what_is_not_json_is_told_with_its_line() -> None:
    assert refusal('[\n {"a": }\n]')[0].startswith("s.json:2: is not JSON")
    assert refusal('{"conversations": []}\nnonsense')[0].startswith("s.json:2: is not JSON")


def test_a_file_without_any_answered_question_is_refused() -> None:
    assert "holds no question with its answer" in refusal("[]")[0]


def source(turns: int, *, counting: bool = True) -> ShareGptSource:
    conversations = ((Exchange("one two", "three"), Exchange("four", "five six seven")),)
    count = (lambda text: 10 + len(text.split())) if counting else None
    return ShareGptSource(conversations, turns, "s", count, 10, None, 2.0)


def test_answers_are_asked_as_long_as_those_of_the_file() -> None:
    prompt = source(2).make(0)
    assert prompt.text.endswith("\n\none two")
    assert (prompt.input_tokens, prompt.output_tokens) == (10 + 4, 1)
    (later,) = prompt.turns
    assert (later.text, later.input_tokens, later.output_tokens, later.think_s) == ("four", 1, 3, 2.0)
    assert source(1).make(0).turns == ()


def test_without_a_tokenizer_lengths_are_guessed_from_the_characters() -> None:
    prompt = source(2, counting=False).make(0)
    assert prompt.input_tokens is None
    assert prompt.turns[0].output_tokens == 14 // 4


def test_a_conversation_taken_again_has_another_head() -> None:
    assert source(1).make(0).text.split("\n")[0] != source(1).make(1).text.split("\n")[0]
