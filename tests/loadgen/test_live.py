from __future__ import annotations

import json

from loadgen.live import Live, Tally, together
from loadgen.records import RequestRecord
from loadgen.stats.plan import Slo

MS = 1_000_000
SLO = Slo(ttft_s=0.020)


def record(ttft_ms: int, *, outcome: str = "ok", kind: str = "code") -> RequestRecord:
    output = (ttft_ms * MS, (ttft_ms + 10) * MS, (ttft_ms + 20) * MS) if outcome == "ok" else ()
    return RequestRecord(
        0,
        "measure",
        kind,
        outcome,
        -2 * MS,
        0,
        99 * MS,
        output_ns=output,
        output_tokens=3,  # type: ignore[arg-type]
    )


def test_a_tally_of_one_request_holds_its_latencies() -> None:
    tally = Tally.of(record(15), SLO)
    assert (tally.ok, tally.good, tally.output_tokens, tally.ended) == (1, 1, 3, 1)
    assert (tally.ttft.mean_s, tally.tpot.mean_s, tally.e2e.mean_s) == (0.015, 0.010, 0.035)
    assert (tally.itl.n, tally.itl.mean_s) == (2, 0.010)
    assert tally.lag.mean_s == 0.002


def test_a_failed_request_is_in_no_latency_but_the_lag() -> None:
    tally = Tally.of(record(0, outcome="failed"), SLO)
    assert (tally.failed, tally.good, tally.ttft.n, tally.lag.n) == (1, 0, 0, 1)


def test_good_needs_an_objective_and_every_one_met() -> None:
    assert Tally.of(record(25), SLO).good == 0
    assert Tally.of(record(15), Slo()).good == 0
    assert Tally.of(record(15), Slo()).goodput_ratio is None
    assert Tally.of(record(25), SLO).goodput_ratio == 0
    assert Tally.of(record(0, outcome="failed"), SLO).goodput_ratio == 0
    assert Tally.of(record(15), Slo(ttft_s=1, tpot_s=0.001)).good == 0


def test_processes_add_up_to_what_one_would_have_counted() -> None:
    whole, a, b = Live(), Live(sent=2, in_flight=1), Live(sent=3, warmup=1)
    for number, one in enumerate(record(ms, kind=kind) for ms in (5, 15, 40) for kind in ("code", "story")):
        tally = Tally.of(one, SLO)
        whole.add((one.kind, number % 3), tally)
        (a if number % 2 else b).add((one.kind, number % 3), tally)
    merged = together([a, Live.from_wire(json.loads(json.dumps(b.to_wire())))])
    assert merged.groups == whole.groups
    assert merged.by_kind() == whole.by_kind()
    assert [tally.ok for tally in merged.by_kind().values()] == [3, 3]
    assert [(stage, tally.ok) for stage, tally in merged.by_stage().items()] == [(0, 2), (1, 2), (2, 2)]
    assert merged.total() == whole.total()
    assert (merged.sent, merged.in_flight, merged.warmup) == (5, 1, 1)
    assert whole.total().goodput_ratio == 4 / 6


def test_nothing_has_no_goodput() -> None:
    assert Tally().goodput_ratio is None
