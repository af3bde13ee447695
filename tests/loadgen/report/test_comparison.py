from pathlib import Path

import pytest
from fakes.run_folders import WORKLOAD, write_run

from loadgen.compare import Options, compare_folders
from loadgen.report.comparison import markdown


@pytest.fixture
def shown(tmp_path):
    def make(metrics=(), **second):
        write_run(Path(tmp_path, "first"), seed=1)
        write_run(Path(tmp_path, "second"), **({"seed": 2} | second))
        found = compare_folders([tmp_path / "first"], [tmp_path / "second"], Options(metrics=metrics))
        return markdown(found.as_dict())

    return make


@pytest.mark.slow
def test_the_verdict_comes_first_and_each_side_is_named(shown):
    lines = shown(slow=1.2).splitlines()

    assert lines[0] == "## Regression"
    assert lines[2].startswith("A: ")
    assert lines[2].rstrip().endswith("first")
    assert lines[3].startswith("B: ")
    assert lines[3].rstrip().endswith("second")


@pytest.mark.slow
def test_every_row_of_the_table_has_as_many_cells_of_the_same_width(shown):
    rows = [line for line in shown(slow=1.2).splitlines() if line.startswith("|")]

    assert len({len(row) for row in rows}) == 1
    assert {row.count("|") for row in rows} == {8}


@pytest.mark.slow
def test_a_row_tells_values_change_interval_and_verdict(shown):
    (row,) = (line for line in shown(slow=1.2).splitlines() if line.startswith("| TPOT p50"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]

    assert cells[0] == "TPOT p50, ms"
    assert 19 < float(cells[1]) < 21
    assert 23 < float(cells[2]) < 25
    assert cells[3].startswith("+")
    assert cells[3].endswith("%")
    assert cells[4].startswith("+")
    assert " to +" in cells[4]
    assert cells[6] == "**worse**"


@pytest.mark.slow
def test_ratios_change_by_points(shown):
    (row,) = (line for line in shown().splitlines() if line.startswith("| failed or cut"))

    assert "+0.0 points" in row


def test_what_could_not_be_judged_is_explained(shown):
    assert "- TPOT p95: n of 20 is too small for a p95" in shown(metrics=("tpot.p95",), n=20)


def test_a_refusal_has_reasons_and_no_table(shown):
    text = shown(workload=WORKLOAD | {"seed": 5}, fingerprint="g")

    assert text.startswith("## Not comparable")
    assert "|" not in text
    assert "ran different workloads: seed (1 and 5)" in text
