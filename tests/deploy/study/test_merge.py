from __future__ import annotations

from typing import Any

import pytest

from deploy.study.merge import begin, lay_over
from serving.config.load import parse

BASE = parse(
    """\
model: a
engine:
  max_model_len: 2048
  args: {seed: 1, enforce_eager: true}
modes:
  - {kind: prefix_cache}
  - {kind: quantized_kv, format: fp8}
""",
    "base.yaml",
)


def laid(text: str) -> Any:
    return lay_over(begin(BASE), parse(text, "study.yaml"), ())


def test_sections_merge_key_by_key_and_values_replace() -> None:
    data = laid("engine: {max_model_len: 4096, args: {seed: 2}}").data
    assert data["engine"] == {"max_model_len": 4096, "args": {"seed": 2, "enforce_eager": True}}


def test_null_takes_a_key_away_and_asks_nothing_of_what_is_not_there() -> None:
    data = laid("engine: {args: {enforce_eager: null}}\ngateway: {keys_file: null, port: 1}").data
    assert data["engine"]["args"] == {"seed": 1}
    assert data["gateway"] == {"port": 1}


@pytest.mark.parametrize("spelling", ["enforce-eager: false", "no_enforce_eager: true", "--enforce-eager: 1"])
def test_an_argument_takes_the_place_of_the_same_flag_however_it_is_spelled(spelling: str) -> None:
    merged = laid(f"engine: {{args: {{{spelling}}}}}")
    key = spelling.split(":")[0]
    assert list(merged.data["engine"]["args"]) == ["seed", key]
    assert merged.source(("engine", "args", "enforce_eager")) is None
    assert merged.where(("engine", "args", key)) == f"study.yaml:1: engine.args.{key}"
    assert "enforce_eager" not in laid("engine: {args: {enforce-eager: null}}").data["engine"]["args"]


def test_two_spellings_in_one_fragment_are_left_for_the_deployments_own_check() -> None:
    args = laid("engine: {args: {no_seed: 1, --seed: 2}}").data["engine"]["args"]
    assert args == {"enforce_eager": True, "no_seed": 1, "--seed": 2}


def test_a_mode_takes_the_whole_place_of_the_mode_of_its_kind() -> None:
    data = laid("modes: [{kind: quantized_kv, format: fp8_e5m2}, {kind: chunked_prefill}]").data
    assert data["modes"] == [
        {"kind": "prefix_cache"},
        {"kind": "quantized_kv", "format": "fp8_e5m2"},
        {"kind": "chunked_prefill"},
    ]


def test_without_leaves_modes_out_before_others_come() -> None:
    data = laid("without: [prefix_cache]\nmodes: [{kind: chunked_prefill}]").data
    assert [mode["kind"] for mode in data["modes"]] == ["quantized_kv", "chunked_prefill"]
    assert "without" not in data


def test_every_value_tells_the_file_and_line_where_it_was_written() -> None:
    merged = laid("engine:\n  max_model_len: 1\nmodes:\n  - {kind: quantized_kv, format: x}\n")
    assert merged.where(("engine", "max_model_len")) == "study.yaml:2: engine.max_model_len"
    assert merged.where(("engine", "args", "seed")) == "base.yaml:4: engine.args.seed"
    assert merged.where(("modes", 1, "format")) == "study.yaml:4: modes[0].format"
    assert merged.where(("modes", 0)) == "base.yaml:6: modes[0]"


def test_a_mode_that_moved_up_still_tells_its_own_line() -> None:
    merged = laid("without: [prefix_cache]")
    assert merged.where(("modes", 0, "format")) == "base.yaml:7: modes[1].format"
    assert merged.line(("modes", 0)) == 7


def test_a_key_that_nobody_wrote_is_looked_for_in_the_section_that_is_there() -> None:
    merged = laid("engine: {args: {a: 1}}")
    assert merged.where(("engine", "version")) == "base.yaml:2: engine.version"
    assert merged.source(("engine", "version")) is None
    assert merged.source(("model",)) == "base.yaml:1: model"


def test_the_base_is_left_as_it_was() -> None:
    laid("modes: [{kind: quantized_kv, format: other}]")
    assert BASE.data["modes"][1]["format"] == "fp8"
