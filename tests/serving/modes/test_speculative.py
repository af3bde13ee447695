"""Speculative decoding: which fields a method needs, and the JSON it becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from serving.modes.mode import EngineContext
from serving.modes.speculative import Speculative


def test_ngram_becomes_the_json_that_vllm_takes(on_cpu: EngineContext) -> None:
    mode = Speculative(method="ngram", tokens=4, prompt_lookup_max=4, prompt_lookup_min=2)
    [(flag, value)] = mode.flags(on_cpu)
    assert flag == "--speculative-config"
    # As run by hand with vLLM 0.32.0.
    assert json.loads(value or "") == {
        "method": "ngram",
        "num_speculative_tokens": 4,
        "prompt_lookup_max": 4,
        "prompt_lookup_min": 2,
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"method": "draft_model"}, "needs a `model`"),
        ({"method": "ngram"}, "needs `prompt_lookup_max`"),
        ({"method": "ngram", "model": "x", "prompt_lookup_max": 4}, "leave `model` out"),
        ({"method": "mtp", "prompt_lookup_max": 4}, "looks up no prompt"),
        ({"method": "ngram", "prompt_lookup_max": 2, "prompt_lookup_min": 4}, "exchange them"),
    ],
)
def test_fields_that_do_not_fit_the_method_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Speculative(tokens=4, **fields)
