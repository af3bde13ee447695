from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from loadgen.workload_arrivals import Arrival, Closed, Stages


def read(**keys: Any) -> Any:
    return TypeAdapter(Arrival).validate_python(keys)


def stages(*rows: dict[str, Any], **keys: Any) -> Any:
    return read(stages=list(rows), **keys)


def test_a_closed_loop_bounded_by_time_prepares_two_requests_a_second_for_each_slot() -> None:
    assert Closed(process="closed", concurrency=3, duration="10s").prepared_requests() == 60
    assert Closed(process="closed", concurrency=3, requests=7).prepared_requests() == 7


def test_stages_need_no_name_of_a_process() -> None:
    made = stages({"rate": "2/s", "duration": "30s"})
    assert isinstance(made, Stages)
    assert (made.process, made.gaps, made.closed) == ("stages", "poisson", False)


def test_stages_know_their_length_and_their_mean_rate() -> None:
    made = stages(
        {"rate": "2/s", "duration": "30s"}, {"from_rate": "2/s", "to_rate": "8/s", "duration": "10s"}
    )
    assert made.duration == 40
    assert made.rate == (60 + 50) / 40
    assert made.model_dump()["duration"] == 40


def test_closed_stages_have_no_rate() -> None:
    made = stages({"concurrency": 2, "duration": "30s"}, {"concurrency": 4, "duration": "30s"})
    assert (made.closed, made.rate, made.prepared_requests()) == (True, None, 360)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"process": "gamma", "rate": "1/s", "requests": 1}, "burstiness"),
        ({"process": "gamma", "rate": "1/s", "requests": 1, "burstiness": 0.0}, "greater than 0"),
        ({"process": "trace", "speed": 0.0}, "greater than 0"),
        ({"stages": []}, "has no stages"),
        ({"stages": [{"duration": "1s"}]}, "says not one thing"),
        ({"stages": [{"rate": "1/s", "concurrency": 1, "duration": "1s"}]}, "says not one thing"),
        ({"stages": [{"from_rate": "1/s", "duration": "1s"}]}, "says not one thing"),
        ({"stages": [{"rate": "0/s", "duration": "1s"}]}, "sends nothing"),
        ({"stages": [{"rate": "1/s"}]}, "duration"),
        (
            {"stages": [{"rate": "1/s", "duration": "1s"}, {"concurrency": 1, "duration": "1s"}]},
            "mixes rates and concurrency",
        ),
        ({"stages": [{"rate": "1/s", "duration": "1s"}], "burstiness": 2.0}, "burstiness that is not used"),
        ({"process": "poisson", "rate": "1/s"}, "has no end"),
    ],
)
def test_what_cannot_be_sent_is_refused(keys: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        read(**keys)
