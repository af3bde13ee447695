"""Sums of safetensors headers."""

from __future__ import annotations

import pytest

from serving.errors import UsageError
from serving.planner.headers import checkpoint


def row(begin: int, end: int) -> dict[str, object]:
    return {"dtype": "BF16", "shape": [end - begin], "data_offsets": [begin, end]}


def test_all_files_are_summed_but_layers_for_multi_token_prediction() -> None:
    first = {
        "__metadata__": {},
        "model.layers.0.a.weight": row(0, 100),
        "model.layers.1.a.weight": row(100, 300),
    }
    second = {
        "model.layers.2.a.weight": row(0, 50),
        "mtp.fc.weight": row(50, 60),
        "lm_head.weight": row(60, 100),
    }
    found = checkpoint([("1", first), ("2", second)], layers=2)
    assert (found.total_bytes, found.skipped_bytes, found.tensors) == (340, 60, 5)


def test_what_is_stored_in_32_bits_is_loaded_in_16() -> None:
    wide = {"dtype": "F32", "shape": [50], "data_offsets": [100, 300]}
    skipped = {"dtype": "F32", "shape": [25], "data_offsets": [300, 400]}
    found = checkpoint([("1", {"a": row(0, 100), "b": wide, "mtp.c": skipped})], layers=1)
    assert (found.total_bytes, found.wide_bytes) == (300, 200)
    assert (found.narrowed.total_bytes, found.narrowed.narrowed.total_bytes) == (200, 200)


@pytest.mark.parametrize(
    "wrong", [{}, {"data_offsets": [1]}, {"data_offsets": [9, 1]}, {"data_offsets": None}, 7]
)
def test_a_broken_row_is_an_error_with_file_and_tensor(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"f.safetensors: w: has no sane data_offsets"):
        checkpoint([("f.safetensors", {"w": wrong})], layers=1)
