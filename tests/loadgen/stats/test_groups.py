import pytest

from loadgen.stats.groups import by_kind, by_stage
from loadgen.stats.plan import RunPlan, Slo, Stage

STAGES = RunPlan(
    arrival="stages",
    intended=6,
    slo=Slo(ttft_s=0.050),
    stages=(Stage(duration_s=1.0, rates=(2.0, 2.0)), Stage(duration_s=2.0, rates=(2.0, 4.0))),
)


def test_a_kind_that_was_never_sent_has_a_table_with_what_was_intended(record):
    plan = RunPlan(
        arrival="constant", intended=3, slo=Slo(ttft_s=0.050), intended_by_kind={"chat": 2, "code": 1}
    )

    tables = by_kind([record(40, kind="chat", output_tokens=1)], plan)

    assert (tables["chat"]["intended"], tables["chat"]["sent"], tables["chat"]["goodput_ratio"]) == (
        2,
        1,
        0.5,
    )
    assert (tables["code"]["sent"], tables["code"]["goodput_ratio"]) == (0, 0.0)


def test_what_a_closed_loop_intended_by_kind_is_not_known(record):
    tables = by_kind([record(40, kind="chat")], RunPlan(arrival="closed", intended=None))

    assert (tables["chat"]["intended"], tables["chat"]["goodput_ratio"]) == (None, None)


def test_requests_belong_to_the_stage_they_were_intended_in(record):
    # The measured phase begins at 500 ms: stages from 500 to 1500 and from 1500 to 3500 ms.
    records = [
        record(540, sent=500, intended=500, output_tokens=1),
        record(1600, sent=1499, intended=1499, output_tokens=1),
        record(1540, sent=1501, intended=1500, output_tokens=1, end=1550),
        record(sent=3000, intended=3000, outcome="failed", end=3100),
    ]

    first, second = by_stage(records, STAGES, start_ns=500_000_000)

    assert (first["from_s"], first["to_s"], first["sent"], first["goodput_ratio"]) == (0.0, 1.0, 2, 0.5)
    assert (second["from_s"], second["to_s"], second["ok"], second["failed"]) == (1.0, 3.0, 1, 1)
    assert (first["rate"], second["rate"]) == ({"from": 2.0, "to": 2.0}, {"from": 2.0, "to": 4.0})
    assert (first["sent_per_s"], second["sent_per_s"]) == (2.0, 1.0)
    assert first["ttft_s"]["mean"] == pytest.approx((0.040 + 0.101) / 2)


def test_a_stage_of_one_rate_is_judged_for_saturation_and_a_ramp_is_not(record):
    first, second = by_stage([record(40, intended=0)], STAGES, start_ns=0)

    assert first["saturation"]["verdict"] == "unknown"
    assert second["saturation"] is None


def test_requests_of_a_closed_stage_belong_where_they_were_sent(record):
    plan = RunPlan(
        arrival="stages",
        intended=None,
        stages=(Stage(duration_s=1.0, concurrency=1), Stage(duration_s=1.0, concurrency=4)),
    )
    records = [record(sent - 0 + 50, sent=sent) for sent in (0, 999, 1000, 1500)]

    first, second = by_stage(records, plan, start_ns=0)

    assert (first["concurrency"], first["sent"], second["concurrency"], second["sent"]) == (1, 2, 4, 2)


def test_a_run_without_stages_has_none(record):
    assert by_stage([record(40)], RunPlan(arrival="closed", intended=None), start_ns=0) == []
