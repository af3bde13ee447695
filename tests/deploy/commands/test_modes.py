"""`teapot modes`."""

from __future__ import annotations

import argparse
import io
import json

from deploy.commands import modes
from serving.console import Console


def listed(*, as_json: bool) -> str:
    out = io.StringIO()
    assert modes.run(argparse.Namespace(), Console(as_json=as_json, out=out, err=io.StringIO())) == 0
    return out.getvalue()


def test_every_mode_is_shown_with_its_flags_and_whether_it_runs() -> None:
    text = listed(as_json=False)
    assert "prefix_cache: reuse the KV cache" in text
    assert "becomes   --kv-cache-dtype" in text
    assert "speculative: draft several tokens a step and keep those the model agrees with  [cannot" in text


def test_a_field_is_shown_with_its_type_and_default() -> None:
    text = listed(as_json=False)
    assert "enabled  true or false, default true: false turns off what vLLM does by default" in text
    assert "method             ngram | ngram_gpu |" in text
    assert "tokens             whole number, required: tokens drafted a step" in text


def test_the_document_has_a_row_for_each_mode() -> None:
    rows = {row["kind"]: row for row in json.loads(listed(as_json=True))["modes"]}
    assert len(rows) == 8
    assert (rows["quantized_kv"]["runs"], rows["lora"]["runs"]) == (True, False)
    assert rows["parallel"]["fields"][0] == {
        "name": "tensor",
        "type": "whole number",
        "required": False,
        "default": 1,
        "description": "ranks that share every layer",
    }
