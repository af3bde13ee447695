"""Fragments put into files: the data is merged, the rest of the text stays."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.diagnose.edit import diff, edited, spell
from deploy.study.merge import begin, lay_over
from serving.config.document import Document
from serving.config.load import parse

FLOW = "name: a\nengine: {max_num_seqs: 4} # few\nmodes: []\n"
BLOCK = """\
name: a
engine:
  # by hand
  device: cpu # here
  args: {x: 1}
modes: # all of them
  - {kind: prefix_cache}
  - kind: quantized_kv
    format: fp8
# the end
slo: {ttft: 1s}
"""
BARE = "name: a"
SEATS = {"engine": {"max_num_seqs": 16}}
NESTED = {"engine": {"args": {"enforce-eager": False}}}
MODE = {"modes": [{"kind": "quantized_kv", "format": "int8_per_token_head"}]}
SPLIT = {"modes": [{"kind": "parallel", "tensor": 2}]}
MORE = {"replicas": 2}
SPELLED = "name: a\nengine:\n  args:\n    enforce_eager: true # for now\n    seed: 1\n"
NEGATED = "name: a\nengine: {args: {no-enforce-eager: false, seed: 1}}\n"


@pytest.mark.parametrize("text", [FLOW, BLOCK, BARE, SPELLED, NEGATED, "name: a\nengine:\nmodes:\n"])
@pytest.mark.parametrize("fragment", [SEATS, NESTED, MODE, SPLIT, MORE])
def test_the_file_then_says_what_a_study_would_run(text: str, fragment: dict[str, Any]) -> None:
    # The study's merge of data is another implementation of what a fragment means (decision 0011).
    merged = lay_over(begin(parse(text, "f")), Document("fragment", fragment, {}), ()).data
    assert parse(edited(text, fragment), "f").data == merged


@pytest.mark.parametrize("fragment", [SEATS, NESTED, MODE, SPLIT, MORE])
def test_comments_stay(fragment: dict[str, Any]) -> None:
    for comment in ("# by hand", "# here", "# all of them", "# the end"):
        assert comment in edited(BLOCK, fragment)


def test_the_change_is_a_diff_of_the_file() -> None:
    assert diff(FLOW, "f.yaml", SEATS).splitlines() == [
        "--- f.yaml", "+++ f.yaml", "@@ -1,3 +1,3 @@", " name: a",
        "-engine: {max_num_seqs: 4} # few", "+engine: {max_num_seqs: 16} # few", " modes: []",
    ]  # fmt: skip


def test_an_argument_that_is_spelled_otherwise_is_changed_where_it_stands() -> None:
    assert "\n    enforce-eager: false # for now\n    seed: 1\n" in edited(SPELLED, NESTED)
    assert "{args: {enforce-eager: false, seed: 1}}" in edited(NEGATED, NESTED)


def test_a_mode_of_the_same_kind_is_replaced_whole_and_another_comes_behind() -> None:
    assert "  - {kind: quantized_kv, format: int8_per_token_head}\n# the end" in edited(BLOCK, MODE)
    assert "    format: fp8\n  - {kind: parallel, tensor: 2}\n# the end" in edited(BLOCK, SPLIT)


def test_a_fragment_is_spelled_as_in_a_deployment_file() -> None:
    assert spell(NESTED | MORE) == "engine: {args: {enforce-eager: false}}\nreplicas: 2"
