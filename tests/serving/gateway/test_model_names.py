"""What an alias means for a body and for the list of models."""

from __future__ import annotations

import json

import pytest

from serving.gateway.aliases import MAX_MARKS
from serving.gateway.answers import Refused
from serving.gateway.model_names import ModelNames
from serving.gateway.routes import match

LISTING = b'{"data":[{"id":"small","owned_by":"vllm"}]}'


def test_without_aliases_a_body_is_not_looked_at() -> None:
    body = b'{"model":"gpt-4o"}'
    assert ModelNames({}).put_right(body) is body
    assert ModelNames({}).listing(match("/v1/models")) == ("/v1/models", None)


def test_a_body_with_too_many_parts_is_the_clients_to_order() -> None:
    with pytest.raises(Refused, match="too many parts") as caught:
        ModelNames({"a": "b"}).put_right(b"[" * (MAX_MARKS + 1))
    assert caught.value.status == 400


def test_an_alias_is_listed_and_found_by_its_name() -> None:
    names = ModelNames({"gpt-4o": "small"})
    path, everything = names.listing(match("/v1/models"))
    assert everything is not None
    assert [row["id"] for row in json.loads(everything(LISTING))["data"]] == ["small", "gpt-4o"]
    path, one = names.listing(match("/v1/models/gpt-4o"))
    assert one is not None
    assert path == "/v1/models"
    assert json.loads(one(LISTING)) == {"id": "gpt-4o", "owned_by": "vllm"}


def test_a_list_that_cannot_be_read_is_the_engines_fault() -> None:
    _, everything = ModelNames({"a": "b"}).listing(match("/v1/models"))
    assert everything is not None
    with pytest.raises(Refused) as caught:
        everything(b"{}")
    assert (caught.value.status, caught.value.kind) == (502, "upstream_error")
