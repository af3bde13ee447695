from pathlib import Path

from loadgen.report.other_tools import ABSENT, NAMES, TOOLS, markdown, other_tools


def test_the_documentation_holds_the_same_table():
    text = (Path(__file__).parents[3] / "docs" / "measurement.md").read_text(encoding="utf-8")

    assert markdown() in text


def test_every_number_has_a_cell_for_every_tool():
    assert {len(cells) for cells in NAMES.values()} == {len(TOOLS)}
    assert all(cell for cells in NAMES.values() for cell in cells)


def test_a_tool_that_lacks_a_number_is_said_to():
    assert NAMES["TTFT from intended"] == (ABSENT,) * len(TOOLS)


def test_options_are_set_as_code():
    assert "<code>--per-chunk-usage</code>" in other_tools()
