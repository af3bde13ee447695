from __future__ import annotations

from loadgen.prompts.prompt_set import PromptSetSource

TEXTS = {"code": ["c0", "c1"], "story": ["s0", "s1", "s2"]}


def test_kinds_are_taken_in_turn_and_texts_within_a_kind_in_turn() -> None:
    source = PromptSetSource(TEXTS, ("code", "story"), salt="x")
    made = [source.make(index) for index in range(6)]
    assert [prompt.kind for prompt in made] == ["code", "story"] * 3
    assert [prompt.text.rsplit("\n", 1)[1] for prompt in made] == ["c0", "s0", "c1", "s1", "c0", "s2"]


def test_every_prompt_starts_with_a_mark_of_its_own_and_of_the_run() -> None:
    heads = {
        PromptSetSource(TEXTS, ("code",), salt=salt).make(index).text.split("\n")[0]
        for salt in ("one", "two")
        for index in range(40)
    }
    assert len(heads) == 80
