from __future__ import annotations

import json

from loadgen.records import Planned, RequestRecord


def test_a_planned_request_survives_its_line() -> None:
    planned = Planned(3, "measure", 5, "code", "/v1/completions", {"prompt": "a\u2028b\nc"})
    assert "\n" not in planned.to_json()
    assert Planned.from_json(planned.to_json()) == planned


def test_a_record_survives_its_line_and_names_its_schema() -> None:
    record = RequestRecord(1, "measure", "code", "ok", None, 10, 30, output_ns=(20, 30), events={"done": 1})
    assert RequestRecord.from_json(record.to_json()) == record
    assert json.loads(record.to_json())["schema"] == 1
