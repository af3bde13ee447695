from __future__ import annotations

import json
from typing import Any

import pytest

from loadgen.traces.reading import Trace, fitting, read_trace
from serving.errors import UsageError


def row(at_s: float, tokens: int = 10, output: int = 5) -> str:
    return json.dumps({"at_s": at_s, "input_tokens": tokens, "output_tokens": output})


def read(*lines: str, **keys: Any) -> Trace:
    return read_trace(lines, name="t.jsonl", **keys)


def refusal(*lines: str, **keys: Any) -> list[str]:
    with pytest.raises(UsageError) as error:
        read(*lines, **keys)
    return str(error.value).splitlines()


def test_times_begin_at_zero_and_blank_lines_are_no_rows() -> None:
    trace = read(row(7.5), "", row(8.0), "  ")
    assert [(r.line, r.at_s) for r in trace.rows] == [(1, 0.0), (3, 0.5)]
    assert trace.notes == ()


def test_times_out_of_order_are_sorted_with_a_note() -> None:
    trace = read(row(2), row(1), row(3))
    assert [(r.line, r.at_s) for r in trace.rows] == [(2, 0), (1, 1), (3, 2)]
    assert "were sorted" in trace.notes[0]


def test_every_wrong_row_is_told_with_its_line_and_what_was_expected() -> None:
    told = refusal(row(0), row(-1), '{"at_s": 1}', "nonsense", row(2))
    assert told == [
        "t.jsonl:2: at_s is -1, before the begin; expected a time of 0 or more",
        "t.jsonl:3: input_tokens is missing; expected a whole number of tokens",
        "t.jsonl:4: is not JSON; each line is one JSON object",
    ]


def test_ten_wrong_rows_are_told_in_full_and_the_rest_as_a_number() -> None:
    told = refusal(row(0), *["nonsense"] * 14)
    assert len(told) == 11
    assert told[-1] == "t.jsonl: 4 more rows are wrong"


def test_a_length_of_zero_is_refused_or_left_out_with_a_note() -> None:
    assert "t.jsonl:2: asks for 0 tokens in and 5 out" in refusal(row(0), row(1, tokens=0))[0]
    trace = read(row(0), row(1, output=0), row(2), skip_unfit=True)
    assert [r.line for r in trace.rows] == [1, 3]
    assert trace.notes == ("t.jsonl: 1 rows with a length of zero were left out",)
    assert len(read(row(0, output=0), times_only=True).rows) == 1


def test_only_the_first_rows_are_read_where_so_many_are_asked_for() -> None:
    assert len(read(row(0), row(1), "nonsense", rows=2).rows) == 2


def test_each_form_is_recognised_by_its_first_line() -> None:
    mooncake = '{"timestamp": 500, "input_length": 5, "output_length": 2, "hash_ids": [1]}'
    assert read(mooncake).rows[0].hash_ids == (1,)
    azure = read("TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 18:15:46.6805900,374,44")
    assert (azure.rows[0].line, azure.rows[0].at_s, azure.rows[0].input_tokens) == (2, 0, 374)
    header = "\ufeffTimestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"
    burst = read(header, "5,ChatGPT,472,18,490,Conversation log")
    assert (burst.rows[0].input_tokens, burst.rows[0].output_tokens) == (472, 18)


def test_an_unknown_form_is_told_with_those_that_are_known() -> None:
    (told,) = refusal("when,how many", "1,2")
    assert told.startswith("t.jsonl:1: 'when,how many' begins no known form of trace")
    assert all(name in told for name in ("plain", "mooncake", "burstgpt", "azure"))


def test_a_form_that_was_named_and_is_not_there_is_told() -> None:
    assert "is not the header of azure" in refusal("a,b", "1,2", form="azure")[0]


@pytest.mark.parametrize("lines", [(), ("",), ("TIMESTAMP,ContextTokens,GeneratedTokens",)])
def test_a_file_without_rows_is_refused(lines: tuple[str, ...]) -> None:
    assert "has no rows" in refusal(*lines)[0]


def test_rows_that_the_model_cannot_be_asked_are_refused() -> None:
    trace = read(row(0, 90, 20), row(1, 50, 50), row(2, 9, 1))
    with pytest.raises(UsageError) as error:
        fitting(trace, name="t", least_tokens=10, max_model_len=100, skip_unfit=False)
    first, second = str(error.value).splitlines()
    assert first.startswith("t:1: needs 110 tokens; the model takes 100: set unfit_rows: skip")
    assert second.startswith("t:3: has 9 tokens in; the chat template and a word cost 10")


def test_rows_that_the_model_cannot_be_asked_are_left_out_with_a_note() -> None:
    trace = read(row(0, 90, 20), row(1, 50, 50), row(2, 9, 1))
    kept = fitting(trace, name="t", least_tokens=1, max_model_len=100, skip_unfit=True)
    assert [(r.line, r.at_s) for r in kept.rows] == [(2, 0), (3, 1)]
    assert kept.notes == ("t: 1 rows shorter or longer than this model can be asked were left out",)
    with pytest.raises(UsageError, match="has no row that this model can be asked"):
        fitting(trace, name="t", least_tokens=1, max_model_len=1, skip_unfit=True)


def test_without_a_known_limit_and_with_short_templates_every_row_fits() -> None:
    trace = read(row(0, 10**6), row(1))
    assert fitting(trace, name="t", least_tokens=1, max_model_len=None, skip_unfit=False) is trace
