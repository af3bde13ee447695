"""Aliases: every byte but the model's name stays."""

from __future__ import annotations

import json
import random

import pytest

from serving.gateway.aliases import MAX_MARKS, TooIntricate, list_aliases, rename_model

ALIASES = {"gpt-4o": "small", "é": "small"}


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (b'{"model":"gpt-4o"}', b'{"model":"small"}'),
        (b'{ "model" :\n "gpt-4o" , "n":1.0}', b'{ "model" :\n "small" , "n":1.0}'),
        (b'{"messages":[{"model":"gpt-4o","content":"{\\"model\\":"}],"model":"gpt-4o"}',
         b'{"messages":[{"model":"gpt-4o","content":"{\\"model\\":"}],"model":"small"}'),
        (b'{"x":"model","model":"gpt-4o"}', b'{"x":"model","model":"small"}'),
        (b'{"mod\\u0065l":"gpt\\u002d4o"}', b'{"mod\\u0065l":"small"}'),
        ('{"model":"é"}'.encode(), b'{"model":"small"}'),
        (b'{"model":"gpt-4o","model":"other"}', b'{"model":"small","model":"other"}'),
        (b'{"model":"gpt-4o","model":"gpt-4o"}', b'{"model":"small","model":"small"}'),
    ],
)  # fmt: skip
def test_the_top_level_model_is_put_right(body: bytes, sent: bytes) -> None:
    assert rename_model(body, ALIASES) == sent


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{}", b"[]", b"null", b'"model"', b'{"model":"small"}', b'{"model":5,"gpt-4o":"gpt-4o"}',
        b'{"model":["gpt-4o"]}', b'{"model":{"a":"gpt-4o"}}', b'{"a":{"model":"gpt-4o"}}',
        b'["model","gpt-4o"]', b'{"model" "gpt-4o"}', b'{"model":', b'{"model":"gpt-4o', b'{"model',
        b"\xff\xfe",
        b'{"a":"\xff","modem":"gpt-4o"}', b"}}}]]]", '{"model":"gpt-4o"}'.encode("utf-16"),
        b'{"\\ud800":"model"}',
    ],
)  # fmt: skip
def test_anything_else_stays_as_it_came(body: bytes) -> None:
    assert rename_model(body, ALIASES) == body


def test_a_document_with_an_alias_reads_as_the_same_document_with_the_model() -> None:
    dice = random.Random(5)

    def value(depth: int) -> object:
        kind = dice.randrange(7 if depth else 5)
        if kind == 5:
            return [value(depth - 1) for _ in range(dice.randrange(4))]
        if kind == 6:
            return {dice.choice(["model", "a", '"', "\\", "{"]): value(depth - 1) for _ in range(3)}
        return [None, 1.5, "gpt-4o", 'x"\\{[', True][kind]

    for _ in range(500):
        document = {"a": value(3), "model": "gpt-4o", "b": value(3)}
        sent = rename_model(json.dumps(document, indent=dice.choice([None, 1])).encode(), ALIASES)
        assert json.loads(sent) == {**document, "model": "small"}


@pytest.mark.parametrize(
    "body",
    [b"[" * (MAX_MARKS + 1), b'{"a":' * (MAX_MARKS + 1), b'"" ' * (MAX_MARKS + 1)],
    ids=["brackets", "objects", "strings"],
)
def test_a_body_made_of_too_many_parts_is_given_up(body: bytes) -> None:
    with pytest.raises(TooIntricate):
        rename_model(body, ALIASES)


@pytest.mark.parametrize(
    "body",
    [b'{"model":"' + b'\\"' * 1_000_000, b'{"a":"' + b"\\" * 2_000_001, b'{"a":' + b"1" * 2_000_000,
     b'{"model"' + b" " * 2_000_000, b'{"a":"' + b"x" * 2_000_000],
    ids=["escaped quotes", "backslashes", "digits", "blanks", "letters"],
)  # fmt: skip
def test_a_long_body_without_an_end_is_read_once(body: bytes) -> None:
    # A scan that tried each quote anew would take hours here, and the test's time limit would tell.
    assert rename_model(body, ALIASES) == body


def test_aliases_are_listed_as_copies_of_their_model() -> None:
    listing = b'{"object":"list","data":[{"id":"small","owned_by":"vllm"},{"id":"lora"}]}'
    found = json.loads(list_aliases(listing, {"gpt-4o": "small", "ghost": "gone", "lora": "small"}))
    assert found["object"] == "list"
    assert found["data"] == [
        {"id": "small", "owned_by": "vllm"}, {"id": "lora"}, {"id": "gpt-4o", "owned_by": "vllm"},
    ]  # fmt: skip


@pytest.mark.parametrize("listing", [b"", b"[]", b"{}", b'{"data":{}}', b"\xff"])
def test_what_is_no_list_of_models_is_said(listing: bytes) -> None:
    with pytest.raises(ValueError):
        list_aliases(listing, ALIASES)
