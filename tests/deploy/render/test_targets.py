"""The registry of render targets."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

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
