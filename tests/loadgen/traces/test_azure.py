from __future__ import annotations

import pytest

from loadgen.traces.azure import FORM, read
from loadgen.traces.row import BadRow

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"


def test_a_stamp_of_2023_has_seven_digits_after_the_point() -> None:
    assert FORM.recognises(HEADER)
    row = read(2, "2023-11-16 18:15:46.6805900,374,44", HEADER.split(","))
    assert (row.input_tokens, row.output_tokens) == (374, 44)
    # date -u -d '2023-11-16 18:15:46' +%s
    assert row.at_s == pytest.approx(1_700_158_546.68059, abs=1e-6)


def test_a_stamp_of_2024_has_a_zone_and_perhaps_no_fraction() -> None:
    a = read(2, "2024-05-10 00:00:00.009930+00:00,2162,5", HEADER.split(","))
    b = read(3, "2024-05-10 02:00:01+02:00,2162,5", HEADER.split(","))
    assert b.at_s - a.at_s == pytest.approx(0.99007, abs=1e-6)


@pytest.mark.parametrize("stamp", ["16.11.2023", "2023-13-16 18:15:46", ""])
def test_what_is_no_stamp_is_told(stamp: str) -> None:
    with pytest.raises(BadRow, match="expected one like 2023-11-16"):
        read(2, f"{stamp},374,44", HEADER.split(","))


def test_a_row_with_other_columns_than_its_header_is_told() -> None:
    with pytest.raises(BadRow, match="has 2 columns; expected 3"):
        read(2, "2023-11-16 18:15:46,374", HEADER.split(","))
