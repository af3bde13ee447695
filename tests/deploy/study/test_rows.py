from __future__ import annotations

import pytest
from fakes.studies import made


def test_an_arm_is_found_by_its_name(tmp_path):
    design = made(tmp_path)[1].design
    assert design.arm("fp8").fragment == {"modes": [{"kind": "quantized_kv", "format": "fp8"}]}
    assert design.arm("fp8").runs
    with pytest.raises(KeyError):
        design.arm("none")


def test_cells_are_those_of_all_starts_in_their_order(tmp_path):
    design = made(tmp_path)[1].design
    assert [cell.start for cell in design.cells] == [1, 2, 3, 4]


def test_a_starts_folder_bears_its_number_and_its_arm(tmp_path):
    start = made(tmp_path)[1].design.starts[0]
    assert start.folder == f"001-{start.arm}"
