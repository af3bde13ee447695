"""The registry of render targets."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

from fakes.clusters import TOP

from deploy.render.target import Choices
from deploy.render.targets import TARGETS


def test_a_target_is_found_by_its_name_and_says_what_it_makes() -> None:
    assert all(target.name == name and target.help for name, target in TARGETS.items())
    assert "compose" in TARGETS


def test_what_renders_a_target_is_where_it_says() -> None:
    for target in TARGETS.values():
        module, _, function = target.by.partition(":")
        assert callable(getattr(import_module(module), function)), target.name


def test_what_a_target_takes_are_choices() -> None:
    known = {field.name for field in fields(Choices)}
    for target in TARGETS.values():
        assert target.takes <= known, target.name


def test_the_page_about_targets_has_a_row_for_each() -> None:
    page = (TOP / "docs/render.md").read_text()
    for name in TARGETS:
        assert f"\n| `{name}` |" in page, name
