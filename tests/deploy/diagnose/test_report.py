"""A diagnosis as text and as JSON."""

from __future__ import annotations

import json

from deploy.diagnose.evidence import Evidence
from deploy.diagnose.report import diagnose, document, text

SEATS = Evidence(
    source="http://127.0.0.1:8100", seconds=60, requests=200, running_mean=8, running_max=8, waiting_mean=5,
    waiting_capacity_max=5, kv_usage_max_ratio=0.3, preemptions=0, queue_s=1.5, prefill_s=0.1, decode_s=0.4,
    ttft_s=1.6, tpot_s=0.02, e2e_s=2.0, max_num_seqs=8,
)  # fmt: skip


def test_the_text_says_what_binds_with_numbers_and_what_to_change() -> None:
    said = text([diagnose(SEATS)])
    assert "bound by: max_num_seqs (slow first token)" in said
    assert "8 of 8 seats were taken while 5.0 requests waited on average" in said
    assert "1. let more requests run at once: engine: {max_num_seqs: <twice as many>}" in said
    assert "predicted TTFT 1.00x to 16.00x" in said  # 1.6 s with 1.5 s of it in the queue
    assert "queue 1500.0 ms (75%)" in said
    assert "could not tell, for want of what was not seen: host needs bandwidth_ratio, flops_ratio" in said


def test_too_little_data_is_said_and_nothing_else() -> None:
    each = diagnose(Evidence(source="e", seconds=60, requests=3))
    assert text([each]).splitlines() == [
        "e: 3 requests finished within 60 s",
        "  no diagnosis: 3 requests finished within 60 s and 20 are needed",
    ]
    assert each.bound is None


def test_the_document_is_json_with_the_same_content() -> None:
    [engine] = json.loads(json.dumps(document([diagnose(SEATS)])))["engines"]
    assert engine["bound"] == "max_num_seqs"
    assert [finding["rule"] for finding in engine["findings"]] == ["seats", "queue"]
    gain = engine["levers"][0]["gain"]
    assert (gain["of"], gain["low"], gain["how"]) == ("TTFT", 1.0, "at best nothing queues any more")
    assert engine["refused"] is None


def test_where_no_rule_sees_anything_that_is_said() -> None:
    calm = Evidence(source="e", seconds=60, requests=100)
    assert "no rule saw anything that binds" in text([diagnose(calm)])
