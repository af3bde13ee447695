from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from loadgen.input_files import load, read_inputs, read_lengths
from serving.errors import UsageError

HEAD = "name: a\narrival: {process: trace}\n"
TRACE = HEAD + "prompts: {kind: trace, file: data/t.jsonl}\n"
ROW = '{"at_s": 0, "input_tokens": 3, "output_tokens": 2}\n'
SHIPPED = Path(__file__).parents[2] / "deploy/workloads"


def write(folder: Path, text: str, *, trace: str = ROW) -> Path:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/t.jsonl").write_text(trace)
    (folder / "w.yaml").write_text(text)
    return folder / "w.yaml"


def refusal(file: Path) -> list[str]:
    with pytest.raises(UsageError) as error:
        load(file)
    return str(error.value).replace(f"{file.parent}/", "").splitlines()


@pytest.mark.parametrize("file", sorted(SHIPPED.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_shipped_workload_loads_under_its_own_name(file: Path) -> None:
    assert load(file).name == file.stem


def test_a_file_is_looked_for_beside_the_workload_and_known_by_its_content(tmp_path: Path) -> None:
    workload = load(write(tmp_path, TRACE))
    assert workload.prompts.file == str(tmp_path / "data/t.jsonl")
    assert workload.prompts.sha256 == hashlib.sha256(ROW.encode()).hexdigest()
    assert read_inputs(workload).traces[workload.prompts.file].rows[0].input_tokens == 3


def test_equal_content_is_equal_work_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    here, there = (load(write(folder, TRACE)) for folder in (tmp_path, tmp_path / "other"))
    assert here.fingerprint() == there.fingerprint()
    changed = load(write(tmp_path, TRACE, trace=ROW.replace("3", "4")))
    assert changed.fingerprint() != here.fingerprint()


def test_a_missing_file_is_told_with_the_line_that_names_it(tmp_path: Path) -> None:
    told = refusal(write(tmp_path, TRACE.replace("t.jsonl", "u.jsonl")))
    assert told[0].startswith("w.yaml:3: prompts.file: 'data/u.jsonl' cannot be read: No such file")


def test_other_content_than_was_pinned_is_refused(tmp_path: Path) -> None:
    pinned = TRACE.replace("t.jsonl}", "t.jsonl, sha256: " + "a" * 64 + "}")
    told = refusal(write(tmp_path, pinned))
    assert told[0].startswith("w.yaml:3: prompts.sha256: 'data/t.jsonl' holds something else")


def test_wrong_rows_of_all_files_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_text("5\nfive\n0\n")
    text = (
        "name: a\narrival: {process: trace, file: data/t.jsonl}\n"
        "prompts: {kind: random_tokens, input_tokens: {distribution: file, file: l.txt}, output_tokens: 2}\n"
    )
    assert refusal(write(tmp_path, text, trace='{"at_s": -1}\n')) == [
        "data/t.jsonl:1: at_s is -1, before the begin; expected a time of 0 or more",
        "l.txt:2: 'five' is no length; expected a whole number of tokens above 0 in each line",
        "l.txt:3: '0' is no length; expected a whole number of tokens above 0 in each line",
    ]


def test_a_body_must_say_how_long_its_answer_may_be(tmp_path: Path) -> None:
    rows = [
        '{"at_s": 0, "body": {"messages": []}}',
        '{"at_s": 1, "body": {"messages": []}, "output_tokens": 3}',
        '{"at_s": 2, "body": {"messages": [], "max_completion_tokens": 3}}',
    ]
    file = write(tmp_path, TRACE, trace="\n".join(rows))
    assert refusal(file) == [
        "data/t.jsonl:1: has no length of the answer; "
        "expected output_tokens, or max_tokens in body or sampling"
    ]
    write(tmp_path, TRACE + "sampling: {max_tokens: 5}\n", trace="\n".join(rows))
    assert load(file).sampling.max_tokens == 5


def test_a_body_must_be_one_of_the_workloads_endpoint(tmp_path: Path) -> None:
    told = refusal(write(tmp_path, TRACE, trace='{"at_s": 0, "body": {"prompt": "x", "max_tokens": 1}}\n'))
    assert told == ["data/t.jsonl:1: body has no messages; endpoint chat needs it"]


def test_what_is_wrong_with_the_keys_comes_first(tmp_path: Path) -> None:
    assert "unknown key" in refusal(write(tmp_path, TRACE.replace("file", "fil")))[0]


def test_files_in_the_parts_of_a_mix_are_found_and_those_in_bodies_are_left_alone(tmp_path: Path) -> None:
    text = HEAD.replace("trace", "constant, rate: 1/s, requests: 2") + (
        "prompts:\n  kind: mix\n  of:\n"
        "    - {weight: 1, prompts: {kind: trace, file: data/t.jsonl}}\n"
        "    - {weight: 1, prompts: {kind: prompt_set, output_tokens: 3}}\n"
        "extra_body: {tool: {file: not-a-file}}\n"
    )
    workload = load(write(tmp_path, text))
    assert workload.extra_body == {"tool": {"file": "not-a-file"}}
    assert list(read_inputs(workload).traces) == [str(tmp_path / "data/t.jsonl")]


def test_times_of_an_arrival_need_no_lengths(tmp_path: Path) -> None:
    text = (
        HEAD.replace("trace}", "trace, file: data/t.jsonl}")
        + "prompts: {kind: prompt_set, output_tokens: 3}\n"
    )
    rows = "".join(f'{{"at_s": {t}, "input_tokens": 0, "output_tokens": 0}}\n' for t in (1, 3))
    times = read_inputs(load(write(tmp_path, text, trace=rows))).times
    assert times is not None
    assert [row.at_s for row in times.rows] == [0, 2]


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, TRACE)
    (tmp_path / "data/t.jsonl").write_bytes(b"\xff\xfe")
    assert refusal(file) == ["data/t.jsonl: is not UTF-8 text (byte 0); save it as UTF-8"]


def test_lengths_are_whole_numbers_a_line() -> None:
    assert read_lengths("5\n\n 12 \n", name="l") == (5, 12)
    with pytest.raises(UsageError, match="holds no lengths"):
        read_lengths("\n", name="l")
    with pytest.raises(UsageError, match="l: 2 more lines are wrong"):
        read_lengths("x\n" * 12, name="l")
