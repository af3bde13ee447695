"""What a target is given and gives."""

from __future__ import annotations

import pytest

from deploy.render.target import Rendered, Target


def test_files_and_notes_stay_as_they_were_rendered() -> None:
    target = Target("x", "x", lambda request: Rendered({}))
    with pytest.raises(AttributeError):
        target.name = "y"  # type: ignore[misc]
