"""The summary as text for a terminal, at most 100 columns wide.

Owns: the layout. Knows nothing about how numbers are computed. Widths and digits do not depend on the
values, so that the tables of two runs can be compared with diff.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from loadgen.report.figures import (
    LATENCIES,
    UNKNOWN,
    duration,
    latency,
    limit,
    rate,
    requests_line,
    share,
    unit_of,
)
from loadgen.stats.intervals import SMALLEST_N

WIDTH = 100
_ROWS = ("ttft_s", "ttft_from_intended_s", "tpot_s", "itl_s", "e2e_s")
_COLUMNS = ("mean", "p50", "p95", "p99")
_LABEL = 12


def table(summary: Mapping[str, Any]) -> str:
    """Lay out a summary: latencies first, then what was asked, sent and met, and whether to believe it."""
    return "\n".join([*_latencies(summary), "", *_facts(summary), "", *_verdict(summary)])


def _latencies(summary: Mapping[str, Any]) -> Iterator[str]:
    names = dict(LATENCIES)
    yield f"{'':20}{'unit':>4} {'n':>8}" + "".join(f"{column:>11}" for column in _COLUMNS)
    withheld: set[int] = set()
    for key in _ROWS:
        sample = summary[key]
        if key == "ttft_from_intended_s" and not sample["n"]:
            continue
        unit = unit_of(sample)
        cells = "".join(f"{latency(sample[column], unit):>11}" for column in _COLUMNS)
        yield f"{names[key]:20}{unit:>4} {sample['n']:>8}{cells}"
        withheld |= {percent for percent in (50, 95, 99) if sample[f"p{percent}"] is None}
    if withheld:
        needs = ", ".join(f"p{percent} needs {SMALLEST_N[percent]}" for percent in sorted(withheld))
        yield f"{UNKNOWN} n too small for a 95 % interval: {needs}"


def _facts(summary: Mapping[str, Any]) -> Iterator[str]:
    yield from _line("requests", requests_line(summary["requests"]))
    yield from _line("rate", _rates(summary))
    yield from _goodput(summary["goodput"])
    per_s, tokens_per_s = rate(summary["requests_per_s"]), rate(summary["output_tokens_per_s"])
    yield from _line(
        "throughput",
        f"{per_s} requests/s, {tokens_per_s} output tokens/s over {duration(summary['window_s'])},"
        f" {rate(summary['tokens_per_chunk'])} tokens per chunk",
    )
    server = summary["server"]
    if server:
        yield from _line(
            "server",
            f"TTFT mean {duration(server['ttft_mean_s'])} by its own account,"
            f" client minus server {duration(server['client_minus_server_ttft_s'])}",
        )
    for error in summary["errors"]:
        yield from _line("error", f"{error['count']} x {_one_line(error['text'])}")


def _rates(summary: Mapping[str, Any]) -> str:
    rates, lag = summary["rate"], summary["schedule_lag_s"]
    if rates["requested"] is None:
        users = summary["concurrency"]
        return f"closed loop{f' of {users}' if users else ''}, {rate(rates['achieved'])}/s sent"
    return (
        f"{rate(rates['requested'])}/s asked, {rate(rates['scheduled'])}/s in the timetable,"
        f" {rate(rates['achieved'])}/s sent; lag p50 {duration(lag['p50'])}, max {duration(lag['max'])}"
    )


def _goodput(goodput: Mapping[str, Any]) -> Iterator[str]:
    if goodput["ratio"] is None:
        yield from _line("goodput", "no SLO was given")
        return
    low, high = goodput["ci95"]
    yield from _line(
        "goodput",
        f"{share(goodput['ratio'])} of the intended requests (95 % interval {share(low)} to {share(high)}),"
        f" {rate(goodput['requests_per_s'])}/s",
    )
    for name, slo in goodput["by_slo"].items():
        yield from _line("", f"{share(slo['ratio']):>8} {name.upper()} <= {limit(slo['limit_s'])}")


def _verdict(summary: Mapping[str, Any]) -> Iterator[str]:
    yield from _line("valid", "yes" if summary["valid"] else "NO, do not use these numbers")
    for reason in summary["reasons"]:
        yield from _line("", f"- {_one_line(reason)}")
    for note in summary["notes"]:
        yield from _line("note", _one_line(note))


def _line(label: str, text: str) -> list[str]:
    """A labelled line, wrapped under itself."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{label:{_LABEL}}",
        subsequent_indent=" " * _LABEL,
        break_on_hyphens=False,
    ) or [label]


def _one_line(text: str) -> str:
    """Text from outside without line ends and control characters, which could rewrite the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)
