"""`teapot modes`, and its page."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path
from typing import Any

import pytest

from deploy.commands import modes
from serving.connectors import CONNECTORS
from serving.connectors.connector import Connector
from serving.console import Console
from serving.modes import MODES
from serving.modes.mode import Mode
from serving.modes.problems import ROWS, Row

PAGE = (Path(__file__).parents[3] / "docs" / "modes.md").read_text(encoding="utf-8")


def listed(*, as_json: bool = False, problems: bool = False) -> str:
    out = io.StringIO()
    console = Console(as_json=as_json, out=out, err=io.StringIO())
    assert modes.run(argparse.Namespace(problems=problems), console) == 0
    return out.getvalue()


def document() -> Any:
    return json.loads(listed(as_json=True))


def test_every_mode_is_shown_with_its_flags_and_what_shows_it() -> None:
    text = listed()
    assert "prefix_cache: reuse the KV cache" in text
    assert "becomes   --kv-cache-dtype" in text
    assert "shown by  every adapter is in /v1/models" in text
    assert "cannot be started yet" not in text


def test_a_field_is_shown_with_its_type_and_default() -> None:
    text = listed()
    assert "enabled  true or false, default true: false turns off what vLLM does by default" in text
    assert "tokens               whole number, required: tokens drafted a step" in text


def test_no_line_is_wider_than_a_terminal() -> None:
    for text in (listed(), listed(problems=True)):
        assert max(len(line) for line in text.splitlines()) <= 110


def test_the_table_of_problems_is_shown_with_reasons_and_sources() -> None:
    text = listed(problems=True)
    assert (
        "pipeline_with_speculation (error): pipeline parallelism with speculation other than EAGLE3" in text
    )
    assert "source  vLLM #57755" in text


def test_the_document_has_a_row_for_each_mode() -> None:
    rows = {row["kind"]: row for row in document()["modes"]}
    assert len(rows) == 8
    assert all(row["runs"] and row["evidence"] for row in rows.values())
    assert rows["parallel"]["fields"][0] == {
        "name": "tensor",
        "type": "whole number",
        "required": False,
        "default": 1,
        "description": "ranks that share every layer",
    }


def test_every_mode_is_in_both_versions_that_are_known() -> None:
    for row in document()["modes"]:
        assert row["versions"] == ["0.32.0", "0.33.0"], row["kind"]


def test_formats_and_connectors_say_where_they_work() -> None:
    told = document()
    weights = {row["name"]: row["works_on"] for row in told["formats"]["quantized_weights"]}
    kv = {row["name"]: row["works_on"] for row in told["formats"]["quantized_kv"]}
    connectors = {row["kind"]: row["works_on"] for row in told["connectors"]}
    assert "cpu" in weights["fp8_per_block"]
    assert "cpu" not in weights["fp8"]
    assert "cpu" not in kv["int4_per_token_head"]
    assert [kind for kind, devices in connectors.items() if "cpu" in devices] == ["nixl"]
    assert len(told["problems"]) == len(ROWS)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.model_fields["kind"].default)
def test_every_mode_is_on_the_page_as_the_code_has_it(mode: type[Mode]) -> None:
    flags = ", ".join(f"`{flag}`" for flag in mode.owns)
    assert f"| `{mode.model_fields['kind'].default}` | {flags} | {mode.evidence} | {mode.works_on} |" in PAGE


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_problem_is_on_the_page_as_the_code_has_it(row: Row) -> None:
    assert f"| `{row.id}` | {row.severity} | {row.title} | {row.reason} | {row.source} |" in PAGE


@pytest.mark.parametrize("connector", CONNECTORS.values(), ids=lambda connector: connector.kind)
def test_every_connector_is_on_the_page_as_the_code_has_it(connector: Connector) -> None:
    where = ", ".join(connector.works_on)
    assert (
        f"| `{connector.kind}` | `{connector.name}` | {connector.summary} | {where} | {connector.proven} |"
        in PAGE
    )


def test_the_page_has_no_problem_that_the_code_has_not() -> None:
    table = PAGE.split("## What does not go together")[1]
    assert table.count("\n| `") == len(ROWS)
