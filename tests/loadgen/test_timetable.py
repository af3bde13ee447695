from __future__ import annotations

from typing import Any

import pytest

from loadgen.prompts.prompt import Prompt, Turn
from loadgen.timetable import body, countable, timetable
from loadgen.workload import Workload

PROMPT = Prompt("code", "write it", 5, 4)


def workload(**changes: Any) -> Workload:
    fields: dict[str, Any] = {
        "name": "a",
        "arrival": {"process": "constant", "rate": "4/s", "duration": "60s"},
        "prompts": {"kind": "random_tokens", "input_tokens": 8, "output_tokens": 4},
        "sampling": {"temperature": 0.0, "min_p": 0.5},
    }
    return Workload.model_validate(fields | changes)


def test_a_chat_body_is_streamed_with_usage_and_carries_the_sampling() -> None:
    assert body(workload(), PROMPT, model="m", continuous_usage=False) == {
        "model": "m",
        "messages": [{"role": "user", "content": "write it"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "min_p": 0.5,
        "max_tokens": 4,
    }


def test_a_completion_body_has_a_prompt_and_asks_for_continuous_usage_where_told() -> None:
    made = body(workload(endpoint="completions"), PROMPT, model="m", continuous_usage=True)
    assert made["prompt"] == "write it"
    assert "messages" not in made
    assert made["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}


def test_the_warm_up_comes_first_and_has_no_times() -> None:
    table = timetable(
        workload(warmup={"requests": 2}), [PROMPT] * 4, [0, 7], model="m", continuous_usage=False
    )
    assert [(row.index, row.phase, row.t_intended_ns) for row in table] == [
        (0, "warmup", None),
        (1, "warmup", None),
        (2, "measure", 0),
        (3, "measure", 7),
    ]
    assert {row.kind for row in table} == {"code"}


def test_a_wrong_number_of_prompts_is_an_error() -> None:
    with pytest.raises(ValueError):
        timetable(workload(), [PROMPT] * 3, [0, 1], model="m", continuous_usage=False)


def test_a_responses_body_has_its_own_names() -> None:
    made = body(workload(endpoint="responses"), PROMPT, model="m", continuous_usage=True)
    assert (made["input"], made["max_output_tokens"], made["stream"]) == ("write it", 4, True)
    assert made.keys().isdisjoint({"messages", "prompt", "max_tokens", "stream_options"})


def test_an_embeddings_body_is_its_input_and_no_stream() -> None:
    asked = workload(endpoint="embeddings", prompts={"kind": "random_tokens", "input_tokens": 8}, sampling={})
    assert body(asked, Prompt("a", "x"), model="m", continuous_usage=True) == {"model": "m", "input": "x"}


def test_the_length_of_a_prompt_goes_before_that_of_sampling_and_a_probes_before_both() -> None:
    asked = workload(prompts={"kind": "random_tokens", "input_tokens": 8}, sampling={"max_tokens": 9})
    assert body(asked, PROMPT, model="m", continuous_usage=False)["max_tokens"] == 4
    assert body(asked, Prompt("a", "x"), model="m", continuous_usage=False)["max_tokens"] == 9
    assert body(asked, PROMPT, model="m", continuous_usage=False, max_tokens=1)["max_tokens"] == 1


def test_more_of_the_body_is_carried_and_a_body_of_a_trace_stands_for_the_text() -> None:
    asked = workload(extra_body={"response_format": {"type": "json_object"}})
    own = {"messages": [{"role": "user", "content": "mine"}], "stream": False, "model": "x", "max_tokens": 2}
    made = body(asked, Prompt("t", "", body=own), model="m", continuous_usage=False)
    assert made["response_format"] == {"type": "json_object"}
    assert (made["messages"], made["model"], made["max_tokens"]) == (own["messages"], "x", 2)
    assert made["stream"] is True


def test_tokens_are_counted_as_the_endpoint_would() -> None:
    said = [{"role": "user", "content": "x"}]
    assert countable(workload(endpoint="responses"), "x", model="m") == {"model": "m", "messages": said}
    assert countable(workload(endpoint="completions"), "x", model="m") == {"model": "m", "prompt": "x"}


def test_the_turns_of_a_conversation_follow_each_other_with_open_answers() -> None:
    conversation = Prompt("multi_turn", "one", 5, 4, turns=(Turn("two", 1, 6, 1.5), Turn("three", 1, 7, 1.5)))
    table = timetable(workload(), [conversation, PROMPT], [3, 9], model="m", continuous_usage=False)
    assert [(r.index, r.conversation, r.turn, r.t_intended_ns, r.think_s) for r in table] == [
        (0, 0, 0, 3, 0.0),
        (1, 0, 1, None, 1.5),
        (2, 0, 2, None, 1.5),
        (3, None, 0, 9, 0.0),
    ]
    assert [row.body["max_tokens"] for row in table] == [4, 6, 7, 4]
    open_answer = {"role": "assistant", "content": None}
    said = [{"role": "user", "content": text} for text in ("one", "two", "three")]
    assert table[2].body["messages"] == [said[0], open_answer, said[1], open_answer, said[2]]


def test_models_are_chosen_by_weight_and_a_conversation_keeps_its_own() -> None:
    asked = workload(models={"a": 3, "b": 1})
    table = timetable(asked, [PROMPT] * 2000, list(range(2000)), model="x", continuous_usage=False)
    assert sum(row.body["model"] == "a" for row in table) == pytest.approx(1500, abs=80)
    talk = Prompt("multi_turn", "one", 5, 4, turns=(Turn("two", 1, 6),) * 5)
    rows = timetable(asked, [talk] * 20, list(range(20)), model="x", continuous_usage=False)
    assert {len({r.body["model"] for r in rows if r.conversation == c}) for c in range(20)} == {1}
    assert {row.body["model"] for row in rows} == {"a", "b"}


def test_a_request_knows_its_stage() -> None:
    stages = [{"rate": "1/s", "duration": "2s"}, {"rate": "1/s", "duration": "2s"}]
    table = timetable(
        workload(arrival={"stages": stages}), [PROMPT] * 2, [0, 3 * 10**9], model="m", continuous_usage=False
    )
    assert [row.stage for row in table] == [0, 1]
