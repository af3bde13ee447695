"""The house keeps its own rules. What each rule asks is in tests/house/checks.py."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from house import checks
from house.tree import Tree

UNTESTED: dict[str, str] = {}
"""Modules that do something and need no test file of their own, with the reason."""

MACHINE_WORDS: dict[str, str] = {}
"""Files that must name a machine's folder or a registry, with the reason."""


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree.of_git(Path(__file__).parents[1])


def hold(problems: Iterable[str]) -> None:
    found = list(problems)
    if found:
        pytest.fail("\n".join(["the house has rules:", *found]), pytrace=False)


def test_every_module_is_small(tree: Tree) -> None:
    hold(checks.module_size(tree))


def test_no_name_says_nothing(tree: Tree) -> None:
    hold(checks.names(tree))


@pytest.mark.slow
def test_every_module_says_what_it_owns(tree: Tree) -> None:
    hold(checks.ownership(tree))


def test_tests_mirror_the_modules(tree: Tree) -> None:
    hold(checks.mirror(tree, UNTESTED))


def test_every_module_of_a_pure_room_is_on_one_side(tree: Tree) -> None:
    hold(checks.rooms(tree))


def test_the_tree_in_the_readme_is_the_tree_on_the_disk(tree: Tree) -> None:
    hold(checks.tree_in_readme(tree))


def test_constraints_are_exact_and_hold_no_address(tree: Tree) -> None:
    hold(checks.exact_versions(tree, "deploy/constraints.txt"))


@pytest.mark.slow
def test_nothing_names_a_machine_or_a_registry(tree: Tree) -> None:
    hold(checks.machine_words(tree, MACHINE_WORDS))


def test_every_decision_record_has_a_number_of_its_own(tree: Tree) -> None:
    hold(checks.decisions(tree))


def test_the_changelog_and_the_project_agree_on_the_version(tree: Tree) -> None:
    hold(checks.changelog(tree))
