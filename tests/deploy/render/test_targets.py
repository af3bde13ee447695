"""The registry of render targets."""

from __future__ import annotations

from deploy.render.targets import TARGETS


def test_a_target_is_found_by_its_name_and_says_what_it_makes() -> None:
    assert all(target.name == name and target.help for name, target in TARGETS.items())
    assert "compose" in TARGETS
