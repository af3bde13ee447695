from __future__ import annotations

from loadgen.prompts.exact_text import Writer
from loadgen.prompts.multi_turn import MultiTurnSource
from loadgen.prompts.vocabulary import Vocabulary

WORDS = tuple(f"word{i}" for i in range(200))
TEMPLATE = 11


def source(turns: int = 3) -> MultiTurnSource:
    writer = Writer(Vocabulary(WORDS, TEMPLATE), lambda text: TEMPLATE + len(text.split()), 1, "s")
    return MultiTurnSource(writer, turns, lambda n: 20 + n % 7, lambda _: 6, 1.5)


def test_a_conversation_has_its_turns_with_lengths_and_time_to_think() -> None:
    prompt = source().make(2)
    assert len(prompt.text.split()) + TEMPLATE == prompt.input_tokens == 22
    assert [len(turn.text.split()) for turn in prompt.turns] == [t.input_tokens for t in prompt.turns]
    assert [(turn.output_tokens, turn.think_s) for turn in prompt.turns] == [(6, 1.5)] * 2


def test_no_two_turns_of_a_run_say_the_same() -> None:
    heads = [
        tuple(text.split()[:5])
        for index in range(30)
        for text in (source().make(index).text, *(turn.text for turn in source().make(index).turns))
    ]
    assert len(set(heads)) == 90


def test_one_turn_is_no_conversation() -> None:
    assert source(turns=1).make(0).turns == ()
