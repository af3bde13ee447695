"""Lengths of a workload's requests, of every kind that tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.plan_workload import workload_pairs
from serving.errors import UsageError

HEAD = "name: w\narrival: {process: constant, rate: 1/s, duration: 1s}\n"


def pairs(folder: Path, prompts: str, more: str = "") -> list[tuple[int, int]]:
    file = folder / "w.yaml"
    file.write_text(f"{HEAD}prompts: {prompts}\n{more}")
    return workload_pairs(str(file))


def test_a_shared_prefix_is_part_of_every_prompt(tmp_path: Path) -> None:
    found = pairs(
        tmp_path, "{kind: shared_prefix, groups: 4, prefix_tokens: 500, suffix_tokens: 64, output_tokens: 32}"
    )
    assert set(found) == {(564, 32)}


def test_every_turn_carries_what_was_said_before_it(tmp_path: Path) -> None:
    found = pairs(tmp_path, "{kind: multi_turn, turns: 3, input_tokens: 100, output_tokens: 20}")
    # 100; 100 + 20 + 100; and again 20 + 100 more.
    assert found[:3] == [(100, 20), (220, 20), (340, 20)]
    assert set(found) == set(found[:3])


def test_answers_are_as_long_as_sampling_lets_them_where_the_prompts_say_nothing(tmp_path: Path) -> None:
    words = "{kind: random_tokens, input_tokens: 100}"
    assert set(pairs(tmp_path, words, "sampling: {max_tokens: 7}\n")) == {(100, 7)}
    assert set(pairs(tmp_path, words, "endpoint: embeddings\n")) == {(100, 0)}


def test_the_rows_of_a_trace_are_its_lengths(tmp_path: Path) -> None:
    rows = ((0, 10, 5), (1, 400, 50), (2, 90, 9))
    lines = (
        f'{{"at_s": {at}, "input_tokens": {prompt}, "output_tokens": {answer}}}\n'
        for at, prompt, answer in rows
    )
    (tmp_path / "t.jsonl").write_text("".join(lines))
    assert pairs(tmp_path, "{kind: trace, file: t.jsonl}") == [(10, 5), (400, 50), (90, 9)]


def test_rows_with_bodies_do_not_tell_their_lengths(tmp_path: Path) -> None:
    body = '{"at_s": 0, "body": {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}}\n'
    (tmp_path / "t.jsonl").write_text(body)
    with pytest.raises(UsageError, match=r"w.yaml: prompts: have rows with bodies"):
        pairs(tmp_path, "{kind: trace, file: t.jsonl}")


def test_a_mix_has_as_many_of_each_part_as_its_weight(tmp_path: Path) -> None:
    part = "{{weight: {}, prompts: {{kind: random_tokens, input_tokens: {}, output_tokens: 1}}}}"
    found = pairs(tmp_path, f"{{kind: mix, of: [{part.format(3, 10)}, {part.format(1, 90)}]}}")
    assert (found.count((10, 1)), found.count((90, 1))) == (750, 250)


@pytest.mark.parametrize(
    "prompts",
    [
        "{kind: prompt_set, output_tokens: 9}",
        "{kind: mix, of: [{weight: 1, prompts: {kind: prompt_set, output_tokens: 9}}, "
        "{weight: 1, prompts: {kind: random_tokens, input_tokens: 5, output_tokens: 9}}]}",
    ],
)
def test_what_only_a_tokenizer_tells_is_refused_with_what_to_give(tmp_path: Path, prompts: str) -> None:
    with pytest.raises(
        UsageError, match="prompts of kind prompt_set do not tell their lengths; give --input"
    ):
        pairs(tmp_path, prompts)


def test_a_file_of_lengths_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gone"):
        pairs(
            tmp_path,
            "{kind: random_tokens, input_tokens: {distribution: file, file: gone}, output_tokens: 5}",
        )
