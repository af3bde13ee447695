from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from loadgen.workload_lengths import Fixed, Length


def read(value: Any) -> Any:
    return TypeAdapter(Length).validate_python(value)


def test_a_number_is_a_length_and_is_shown_as_one() -> None:
    assert read(128) == Fixed(distribution="fixed", tokens=128)
    assert TypeAdapter(Length).dump_python(read(128)) == 128


@pytest.mark.parametrize("value", [0, -1, "12", 1.5, None, {"distribution": "even"}, {"min": 3}])
def test_what_is_no_length_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        read(value)


def test_bounds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValidationError, match="has min 9 above max 3; exchange them"):
        read({"distribution": "uniform", "min": 9, "max": 3})
