from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from loadgen.prompts.prompt import Prompt
from loadgen.prompts.sharegpt import Exchange
from loadgen.prompts.sources import Given, Inputs, needs_words, source_of
from loadgen.prompts.vocabulary import Vocabulary
from loadgen.traces.reading import read_trace
from loadgen.workload_prompts import Prompts

WORDS = tuple(f"word{i}" for i in range(200))
TEMPLATE = 10
RANDOM = {"kind": "random_tokens", "input_tokens": 40, "output_tokens": 4}
KINDS: dict[str, dict[str, Any]] = {
    "random": RANDOM,
    "chat": {"kind": "prompt_set", "kinds": ["chat"], "output_tokens": 4},
    "shared_prefix": {"kind": "shared_prefix", "groups": 2, "prefix_tokens": 20, "suffix_tokens": 20},
    "multi_turn": {"kind": "multi_turn", "turns": 2, "input_tokens": 40},
    "sharegpt": {"kind": "sharegpt", "file": "s.json"},
    "trace": {"kind": "trace", "file": "t.jsonl"},
}


def parsed(prompts: dict[str, Any]) -> Any:
    return TypeAdapter(Prompts).validate_python(prompts)


def given(number: int = 20) -> Given:
    inputs = Inputs(
        lengths={"l.txt": [30, 50]},
        conversations={"s.json": [(Exchange("a", "b"),)]},
        traces={"t.jsonl": read_trace(['{"at_s": 0, "input_tokens": 40, "output_tokens": 4}'], name="t")},
    )
    count = lambda text: TEMPLATE + len(text.split())  # noqa: E731 (a tokenizer in a line)
    return Given(1, "salt", number, Vocabulary(WORDS, TEMPLATE), count, {"chat": ["hello"]}, inputs)


def made(prompts: dict[str, Any], number: int = 20) -> list[Prompt]:
    source = source_of(parsed(prompts), given(number))
    return [source.make(index) for index in range(number)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_source_and_its_name(kind: str) -> None:
    assert {prompt.kind for prompt in made(KINDS[kind], 3)} == {kind}


def test_lengths_of_a_file_reach_the_prompts() -> None:
    asked = RANDOM | {"input_tokens": {"distribution": "file", "file": "l.txt"}}
    assert [prompt.input_tokens for prompt in made(asked, 4)] == [30, 50, 30, 50]


def test_no_two_parts_of_a_mix_write_the_same_texts() -> None:
    parts = [{"weight": 1, "prompts": RANDOM}, {"weight": 1, "prompts": RANDOM}]
    heads = [tuple(p.text.split()[:5]) for p in made({"kind": "mix", "of": parts}, 40)]
    assert len(set(heads)) == 40


def test_a_mix_has_all_its_kinds() -> None:
    parts = [{"weight": 1, "prompts": KINDS[kind]} for kind in KINDS]
    assert {prompt.kind for prompt in made({"kind": "mix", "of": parts}, 60)} == set(KINDS)


def test_words_are_needed_where_texts_are_written_by_us() -> None:
    written = {kind: needs_words(parsed(prompts)) for kind, prompts in KINDS.items()}
    assert {kind for kind, needs in written.items() if needs} == {
        "random",
        "shared_prefix",
        "multi_turn",
        "trace",
    }
    parts = [{"weight": 1, "prompts": KINDS[kind]} for kind in ("chat", "trace")]
    assert needs_words(parsed({"kind": "mix", "of": parts}))
