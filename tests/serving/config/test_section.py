"""What holds for every section of a file."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from serving.config.section import Section


class Some(Section):
    """One with a key."""

    count: int = 1


@pytest.mark.parametrize("given", [{"count": "2"}, {"count": True}, {"cuont": 2}])
def test_nothing_is_coerced_and_nothing_unknown_is_dropped(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Some.model_validate(given)


def test_a_section_is_never_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Some().count = 2  # type: ignore[misc]  # that is the point
