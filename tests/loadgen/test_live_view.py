from __future__ import annotations

from loadgen.live import Live, Tally
from loadgen.live_view import COLUMNS, line, rows, view
from loadgen.records import RequestRecord
from loadgen.stats.plan import Slo

MS = 1_000_000


def tally(ttft_ms: int, *, outcome: str = "ok") -> Tally:
    output = (ttft_ms * MS, (ttft_ms + 30) * MS) if outcome == "ok" else ()
    record = RequestRecord(0, "measure", "any", outcome, -MS, 0, 9, output_ns=output, output_tokens=4)  # type: ignore[arg-type]
    return Tally.of(record, Slo(ttft_s=0.1))


def live(*ttfts_ms: int, failed: int = 0) -> Live:
    made = Live(sent=len(ttfts_ms) + failed + 2, in_flight=2)
    for number, ttft_ms in enumerate(ttfts_ms):
        made.add(("code" if number % 2 else "story", None), tally(ttft_ms))
    for _ in range(failed):
        made.add(("code", None), tally(0, outcome="failed"))
    return made


def test_rates_are_increases_over_the_time_between() -> None:
    shown = view(live(*[50] * 10), before=live(*[50] * 4), over_s=2.0, elapsed_s=8.0)
    assert (shown["sent_per_s"], shown["ended_per_s"], shown["output_tokens_per_s"]) == (3.0, 3.0, 12.0)
    assert (shown["sent"], shown["in_flight"], shown["ok"]) == (12, 2, 10)


def test_a_percentile_is_withheld_while_n_is_too_small_for_it() -> None:
    few = view(live(*[50] * 5), before=Live(), over_s=1, elapsed_s=1)
    assert (few["ttft_s"]["n"], few["ttft_s"]["p50"], few["ttft_s"]["max"]) == (5, None, 0.05)
    some = view(live(*[50] * 93), before=Live(), over_s=1, elapsed_s=1)
    assert abs(some["ttft_s"]["p95"] - 0.05) <= 0.0005
    assert some["ttft_s"]["p99"] is None


def test_goodput_is_of_what_has_ended_and_unknown_before() -> None:
    assert view(live(50, 150, failed=2), before=Live(), over_s=1, elapsed_s=1)["goodput_ratio"] == 0.25
    assert view(Live(), before=Live(), over_s=1, elapsed_s=1)["goodput_ratio"] is None


def test_without_an_objective_nothing_is_said_of_goodput() -> None:
    output = (50 * MS, 80 * MS)
    record = RequestRecord(0, "measure", "any", "ok", -MS, 0, 9, output_ns=output, output_tokens=4)
    made = Live(sent=1)
    made.add(("any", None), Tally.of(record, Slo()))
    shown = view(made, before=Live(), over_s=1, elapsed_s=1)
    assert (shown["good"], shown["goodput_ratio"]) == (None, None)
    assert "good" not in line(shown)
    assert rows(shown)[-1]["goodput"] == "-"


def test_the_line_says_it_in_one_line() -> None:
    text = line(view(live(*[50] * 6, failed=1), before=Live(), over_s=1, elapsed_s=3))
    assert text == (
        "3 s: 9.0/s sent, 2 in flight, 6 ok, 1 failed | TTFT 50.0 ms p95 - | TPOT 10.0 ms"
        " | 24 tok/s | lag 1.0 ms | good 86%"
    )
    assert "TTFT - p95 -" in line(view(Live(), before=Live(), over_s=1, elapsed_s=0))


def test_the_table_has_a_row_for_each_kind_and_one_for_all() -> None:
    table = rows(view(live(*[50] * 12), before=Live(), over_s=1, elapsed_s=1))
    assert [(row["name"], row["ok"]) for row in table] == [("code", 6), ("story", 6), ("all", 12)]
    assert all(row.keys() == {key for key, _ in COLUMNS} for row in table)
    assert table[-1]["ttft_p50"].startswith(("49.", "50."))
    assert table[-1]["itl_p99"] == "-"
