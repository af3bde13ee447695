"""Options that would not be heard beside the others."""

from __future__ import annotations

import pytest
from fakes.plan_options import options

from deploy.plan_options import OF_THE_FILE, dropped, unheard


def places(*words: str) -> list[str | None]:
    return [problem.where for problem in dropped(options(*words))]


def test_a_question_that_is_heard_as_a_whole_drops_nothing() -> None:
    assert places("--model", "m", "--gpu", "l4", "--users", "3", "--kv-format", "fp8") == []
    assert places("d.yaml", "--set", "engine.max_num_seqs=3", "--gpu", "l4", "--acceptance", "0.5") == []
    assert places("--model", "m", "--device", "cpu", "--max-num-seqs", "3") == []


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ("d.yaml --speculate 3", "--speculate"),
        ("d.yaml --tensor 2", "--tensor"),
        ("--model m --set a=b", "--set"),
        ("--model m --gpu l4 --price l4=1", "--price"),
        ("--model m --device cpu --fp8-flops 9 --enforce-eager", "--fp8-flops, --enforce-eager"),
        ("--model a b --users 3", "--users"),
        ("--model m --compare counts --count 2", "--count"),
    ],
)
def test_what_would_not_be_heard_is_named(words: str, where: str) -> None:
    assert places(*words.split()) == [where]


def test_every_option_that_a_file_says_itself_names_what_to_use() -> None:
    assert all(fix.startswith(("use", "compare")) for fix in OF_THE_FILE.values())


def test_what_is_said_and_not_heard_is_listed() -> None:
    assert unheard(options("--model", "m", "--users", "3"), {"model"}) == ["--users"]
    assert unheard(options(), ()) == []
