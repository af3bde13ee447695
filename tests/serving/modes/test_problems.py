"""The table of what does not go together: every row has a deployment that shows it and one that does not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fakes.problem_cases import BOX, CASES, CPU, Case, kv, pair, parallel, weights
from pydantic import TypeAdapter

from serving.modes import AnyMode
from serving.modes.mode import EngineContext, Mode
from serving.modes.problems import ROWS, Finding, all_problems
from serving.modes.problems.row import Row

ONE: TypeAdapter[Mode] = TypeAdapter(AnyMode)
IDS = {row.id for row in ROWS}


def modes_of(kinds: Sequence[dict]) -> list[Mode]:
    return [ONE.validate_python(fields) for fields in kinds]


def found(kinds: Sequence[dict], context: EngineContext) -> Sequence[Finding]:
    return all_problems(modes_of(kinds), context)


def sources(kinds: Sequence[dict], context: EngineContext) -> set[tuple[str, str]]:
    return {(finding.reason, finding.source) for finding in found(kinds, context)}


def test_every_row_has_a_case() -> None:
    assert {case.row for case in CASES} == IDS


def test_no_two_rows_have_one_name() -> None:
    assert len(IDS) == len(ROWS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.row)
def test_a_row_finds_its_deployment_and_not_its_neighbour(case: Case) -> None:
    [row] = [row for row in ROWS if row.id == case.row]
    mine = (row.reason, row.source)
    assert mine in sources(case.modes, case.context)
    if case.neighbour_modes is None and case.neighbour_context is None:
        return
    modes = case.modes if case.neighbour_modes is None else case.neighbour_modes
    assert mine not in sources(modes, case.neighbour_context or case.context)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.row)
def test_every_finding_says_what_why_who_and_what_to_do(case: Case) -> None:
    for finding in found(case.modes, case.context):
        assert finding.what
        assert finding.reason
        assert finding.source
        assert finding.fix
        assert finding.mode_index is None or finding.mode_index < len(case.modes)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_says_whether_it_was_measured_read_or_reported(row: Row) -> None:
    assert any(word in row.source for word in ("measured", "read", "vLLM", "facts"))


def test_all_are_reported_at_once_in_the_order_of_the_modes() -> None:
    findings = found([kv("int4_per_token_head"), weights("fp8"), parallel(tensor=2)], CPU)
    assert [(f.severity, f.mode_index, f.key) for f in findings] == [
        ("ineffective", 0, "format"),
        ("error", 1, "format"),
        ("error", 2, "tensor"),
    ]


def test_a_problem_outside_the_modes_names_its_key_from_the_top_and_comes_last() -> None:
    longer = EngineContext("cpu", "0.32.0", CPU.model, max_model_len=9000)
    first, last = found([parallel(tensor=2)], longer)
    assert (first.mode_index, last.mode_index, last.key) == (0, None, "engine.max_model_len")


def test_what_is_not_known_is_not_judged() -> None:
    blind = EngineContext("cuda", "0.33.0", None)
    assert found([parallel(tensor=7, pipeline=2, expert=True), weights("fp8_per_block"), pair()], blind) == ()


def test_plain_serving_on_a_small_machine_has_no_problem() -> None:
    assert found([], CPU) == ()
    assert BOX.numa_nodes == 1
