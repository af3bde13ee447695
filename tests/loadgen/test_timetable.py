from __future__ import annotations

from typing import Any

import pytest

from loadgen.prompts.prompt import Prompt
from loadgen.timetable import body, timetable
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
