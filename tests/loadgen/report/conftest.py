"""A small run told by hand, for everything that shows runs."""

from collections.abc import Callable
from typing import Any

import pytest

from loadgen.records import RequestRecord
from loadgen.stats.plan import RunPlan, ServerView, Slo
from loadgen.stats.summarize import Summary, summarize

_MS = 1_000_000
MakeRecords = Callable[[int], list[RequestRecord]]


def _answer(index: int, **other: Any) -> RequestRecord:
    """Sent every 100 ms; TTFT 40 ms; 3 tokens, 10 ms apart."""
    sent = index * 100 * _MS
    stamps = tuple(sent + ms * _MS for ms in (40, 50, 60))
    fields: dict[str, Any] = {
        "index": index,
        "phase": "measure",
        "kind": "chat",
        "outcome": "ok",
        "t_intended_ns": sent,
        "t_sent_ns": sent,
        "t_end_ns": stamps[-1],
        "output_ns": stamps,
        "output_tokens": 3,
        "prompt_tokens": 12,
    }
    return RequestRecord(**(fields | other))


@pytest.fixture
def answer() -> Callable[..., RequestRecord]:
    return _answer


@pytest.fixture
def plan() -> RunPlan:
    return RunPlan(arrival="constant", intended=100, rate_per_s=10.0, duration_s=10.0, slo=Slo(0.050, 0.020))


@pytest.fixture
def records() -> list[RequestRecord]:
    """100 requests, of which the last failed with markup in its error."""
    failed = _answer(
        99, outcome="failed", output_ns=(), output_tokens=None, error="<script>alert('no')</script>"
    )
    return [*map(_answer, range(99)), failed]


@pytest.fixture
def summary(records: list[RequestRecord], plan: RunPlan) -> Summary:
    return summarize(records, plan=plan, server=ServerView(ttft_mean_s=0.038, restarted=False))
