from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from loadgen.workload_prompts import Mix, Prompts, parts

SET = {"kind": "prompt_set", "output_tokens": 3}


def read(**keys: Any) -> Any:
    return TypeAdapter(Prompts).validate_python(keys)


def test_a_mix_has_parts_and_anything_else_is_its_own_part() -> None:
    mix = read(kind="mix", of=[{"weight": 3, "prompts": SET}, {"weight": 1, "prompts": SET}])
    assert isinstance(mix, Mix)
    assert [part.kind for part in parts(mix)] == ["prompt_set", "prompt_set"]
    assert parts(read(**SET)) == (read(**SET),)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"kind": "mix", "of": [{"weight": 1, "prompts": SET}]}, "mixes nothing"),
        ({"kind": "mix", "of": [{"weight": 0, "prompts": SET}] * 2}, "greater than 0"),
        ({"kind": "mix", "of": [{"weight": 1, "prompts": {"kind": "mix", "of": []}}] * 2}, "mix"),
        ({"kind": "shared_prefix", "groups": 0, "prefix_tokens": 1, "suffix_tokens": 1}, "groups"),
        (
            {"kind": "shared_prefix", "groups": 1, "prefix_tokens": 1, "suffix_tokens": 1, "skew": -1.0},
            "skew",
        ),
        ({"kind": "multi_turn", "turns": 0, "input_tokens": 1}, "turns"),
        ({"kind": "sharegpt"}, "file"),
        ({"kind": "trace", "file": "x", "format": "csv"}, "format"),
    ],
)
def test_what_cannot_be_asked_is_refused(keys: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        read(**keys)
