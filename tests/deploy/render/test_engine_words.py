"""A command is taken apart into flags and put together again."""

from __future__ import annotations

from deploy.render.containers import ContainerEngine
from deploy.render.engine_words import flags_of, words_of


def engine(*words: str) -> ContainerEngine:
    argv = ("-m", "vllm.entrypoints.openai.api_server", "--model", "a/b", *words)
    return ContainerEngine("engine-0", "image:1", argv, {}, ())


def test_flags_have_no_word_one_word_or_several() -> None:
    found = flags_of(engine("--seed", "3", "--enable-prefix-caching", "--middleware", "x", "y"))
    assert found == (
        ("--model", ("a/b",)),
        ("--seed", ("3",)),
        ("--enable-prefix-caching", ()),
        ("--middleware", ("x", "y")),
    )


def test_a_value_that_begins_with_a_dash_stays_with_its_flag() -> None:
    found = flags_of(engine("--max-model-len=-1"), without=("--model",))
    assert found == (("--max-model-len", ("-1",)),)
    assert words_of(found) == ["--max-model-len=-1"]


def test_what_a_platform_gives_itself_is_left_out() -> None:
    found = flags_of(engine("--host", "0.0.0.0", "--seed", "3"), without=("--model", "--host"))
    assert words_of(found) == ["--seed", "3"]
