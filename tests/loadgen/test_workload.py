from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadgen.workload import Workload
from loadgen.workload_prompts import PromptSet
from serving.config.load import load_model
from serving.errors import UsageError

CHAT = """\
name: chat
arrival: {process: poisson, rate: 4/s, duration: 60s}
prompts: {kind: random_tokens, input_tokens: 128, output_tokens: 64}
"""


def read(tmp_path: Path, text: str) -> Workload:
    file = tmp_path / "w.yaml"
    file.write_text(text)
    return load_model(file, Workload)


def refusals(tmp_path: Path, text: str) -> str:
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    return str(error.value).replace(f"{tmp_path}/", "")


def test_the_workload_of_the_contract_is_read(tmp_path: Path) -> None:
    workload = read(
        tmp_path,
        """\
name: chat
endpoint: chat
arrival: {process: poisson, rate: 4/s, duration: 60s}
warmup: {requests: 8}
prompts: {kind: random_tokens, input_tokens: 128, output_tokens: 64}
sampling: {temperature: 0, ignore_eos: true}
slo: {ttft: 500ms, tpot: 50ms}
seed: 1
""",
    )
    assert workload.path == "/v1/chat/completions"
    assert workload.prompts.output_tokens.tokens == 64
    assert (workload.slo.ttft, workload.slo.tpot, workload.slo.e2e) == (0.5, 0.05, None)
    assert workload.sampling.body() == {"temperature": 0, "ignore_eos": True}


def test_an_unknown_arrival_or_prompt_is_refused_with_those_that_run(tmp_path: Path) -> None:
    said = refusals(tmp_path, CHAT.replace("poisson", "poison").replace("random_tokens", "sharegpd"))
    assert "w.yaml:2: arrival.process: 'poison' is not known; did you mean 'poisson'?" in said
    assert "w.yaml:3: prompts.kind: 'sharegpd' is not known; did you mean 'sharegpt'?" in said


def test_wrong_keys_and_units_are_told_together_with_their_lines(tmp_path: Path) -> None:
    said = refusals(tmp_path, CHAT.replace("rate: 4/s", "rate: 4").replace("input_tokens", "input_tokns"))
    assert "w.yaml:2: arrival.rate" in said
    assert "did you mean 'input_tokens'?" in said


def test_what_only_a_deployment_promises_is_no_key_of_a_workload(tmp_path: Path) -> None:
    assert "slo.target: unknown key" in refusals(tmp_path, CHAT + "slo: {ttft: 1s, target: 0.9}\n")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("arrival: {process: constant, rate: 4/s}", "has no end"),
        ("arrival: {process: closed, concurrency: 0, requests: 3}", "concurrency"),
        ("arrival: {process: constant, rate: 0/s, requests: 3}", "rate"),
    ],
)
def test_an_arrival_that_sends_nothing_or_never_ends_is_refused(tmp_path: Path, line: str, told: str) -> None:
    lines = CHAT.splitlines()
    assert told in refusals(tmp_path, "\n".join([lines[0], line, lines[2]]))


def test_an_answer_without_a_length_is_refused(tmp_path: Path) -> None:
    assert "give prompts.output_tokens" in refusals(tmp_path, CHAT.replace(", output_tokens: 64", ""))


def test_two_different_lengths_are_refused(tmp_path: Path) -> None:
    assert "give one of them" in refusals(tmp_path, CHAT + "sampling: {max_tokens: 32}\n")


def test_unknown_sampling_keys_pass_through_and_ours_do_not(tmp_path: Path) -> None:
    workload = read(tmp_path, CHAT + "sampling: {min_p: 0.1}\n")
    assert workload.sampling.body() == {"min_p": 0.1}
    assert "'stream' is set by the load generator" in refusals(tmp_path, CHAT + "sampling: {stream: false}\n")


def test_a_prompt_set_has_all_kinds_unless_some_are_named(tmp_path: Path) -> None:
    prompts = "prompts: {kind: prompt_set, output_tokens: 64}"
    workload = read(tmp_path, "\n".join([*CHAT.splitlines()[:2], prompts]))
    assert isinstance(workload.prompts, PromptSet)
    assert len(workload.prompts.kinds) == 8
    none = prompts.replace("}", ", kinds: []}")
    assert "has no kinds" in refusals(tmp_path, "\n".join([*CHAT.splitlines()[:2], none]))


def workload(**changes: Any) -> Workload:
    fields: dict[str, Any] = {
        "name": "a",
        "arrival": {"process": "constant", "rate": "4/s", "duration": "60s"},
        "prompts": {"kind": "random_tokens", "input_tokens": 8, "output_tokens": 4},
    }
    return Workload.model_validate(fields | changes)


def test_the_fingerprint_changes_with_the_work_and_not_with_name_objectives_or_spelling() -> None:
    one = workload().fingerprint()
    assert workload(name="b", slo={"ttft": "1s"}).fingerprint() == one
    assert workload(arrival={"process": "constant", "rate": "240/min", "duration": "1m"}).fingerprint() == one
    assert workload(seed=2).fingerprint() != one
    assert workload(sampling={"temperature": 0.5}).fingerprint() != one


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [
        ("completions", "/v1/completions"),
        ("responses", "/v1/responses"),
        ("embeddings", "/v1/embeddings"),
    ],
)
def test_each_endpoint_has_its_path(endpoint: str, path: str) -> None:
    prompts = {"kind": "random_tokens", "input_tokens": 8}
    length = {} if endpoint == "embeddings" else {"output_tokens": 4}
    assert workload(endpoint=endpoint, prompts=prompts | length).path == path


def test_embeddings_have_no_length_of_answers(tmp_path: Path) -> None:
    assert "embeddings have no answers" in refusals(tmp_path, CHAT + "endpoint: embeddings\n")


def test_only_chat_has_turns(tmp_path: Path) -> None:
    text = CHAT.replace("random_tokens", "multi_turn, turns: 2") + "endpoint: responses\n"
    assert "the endpoint responses has no turns; use 'endpoint: chat'" in refusals(tmp_path, text)


def test_a_model_is_named_once(tmp_path: Path) -> None:
    assert workload(models={"a": 3.0, "b": 1}).models == {"a": 3, "b": 1}
    assert "has model and models; give one" in refusals(tmp_path, CHAT + "model: a\nmodels: {b: 1}\n")
    assert "models.a" in refusals(tmp_path, CHAT + "models: {a: 0}\n")


def test_more_of_the_body_passes_through_and_ours_does_not(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    assert workload(extra_body={"tools": tools}).extra_body == {"tools": tools}
    said = refusals(tmp_path, CHAT + "extra_body: {messages: []}\n")
    assert "extra_body: 'messages' is set by the load generator; remove it" in said


def test_a_trace_of_times_needs_a_file_of_its_own_or_of_the_prompts(tmp_path: Path) -> None:
    text = CHAT.replace("{process: poisson, rate: 4/s, duration: 60s}", "{process: trace}")
    assert "arrival: trace has no file" in refusals(tmp_path, text)
    assert workload(arrival={"process": "trace"}, prompts={"kind": "trace", "file": "x"}).arrival.file is None


def test_lengths_are_normalized_as_they_are_written() -> None:
    assert workload().normalized()["prompts"]["input_tokens"] == 8


def test_every_part_of_a_mix_needs_a_length_of_answers(tmp_path: Path) -> None:
    parts = "{weight: 1, prompts: {kind: prompt_set}}"
    text = f"{CHAT.splitlines()[0]}\n{CHAT.splitlines()[1]}\nprompts: {{kind: mix, of: [{parts}, {parts}]}}\n"
    assert "give prompts.output_tokens" in refusals(tmp_path, text)
    assert read(tmp_path, text + "sampling: {max_tokens: 8}\n").sampling.max_tokens == 8


def test_lengths_of_a_sharegpt_file_are_not_said_twice(tmp_path: Path) -> None:
    text = "\n".join([*CHAT.splitlines()[:2], "prompts: {kind: sharegpt, file: x.json}", ""])
    assert read(tmp_path, text).sampling.max_tokens is None
    said = refusals(tmp_path, text + "sampling: {max_tokens: 8}\n")
    assert "the file says how long answers are; give prompts.output_tokens" in said


def test_one_length_is_known_where_all_requests_have_it() -> None:
    uniform = {"distribution": "uniform", "min": 2, "max": 4}
    assert workload().one_length == (8, 4)
    asked = {"kind": "random_tokens", "input_tokens": 8}
    assert workload(prompts=asked, sampling={"max_tokens": 5}).one_length == (8, 5)
    assert workload(prompts=asked | {"output_tokens": uniform}).one_length is None
    assert workload(prompts={"kind": "prompt_set", "output_tokens": 4}).one_length is None
