"""Goodput: the share of the intended requests that met every objective.

Owns: who is in the numerator and who in the denominator. Knows nothing about distributions.

The denominator is every intended request: failed, cut and never sent ones were wanted too and met
nothing. A TPOT that is undefined (a one-token answer) fails no objective and passes none: the request
is left out of the TPOT objective's own test, the other objectives decide on it, and where TPOT is the
only one it stays in the denominator without being good (vLLM's bench passes it as TPOT 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.records import RequestRecord
from loadgen.stats.definitions import e2e_s, tpot_is_undefined, tpot_s, ttft_s
from loadgen.stats.intervals import wilson
from loadgen.stats.plan import Slo


@dataclass(frozen=True, slots=True)
class SloResult:
    """How one objective fared: `met` of `tested` requests; `undefined` ones are in neither."""

    limit_s: float
    met: int
    tested: int
    undefined: int

    def as_dict(self) -> dict[str, Any]:
        """The JSON form, with the ratio (None if nothing was tested)."""
        return {
            "limit_s": self.limit_s,
            "met": self.met,
            "tested": self.tested,
            "undefined": self.undefined,
            "ratio": self.met / self.tested if self.tested else None,
        }


@dataclass(frozen=True, slots=True)
class Goodput:
    """`good` of `intended` requests met every objective that could be asked of them, and at least one."""

    good: int
    intended: int
    by_slo: dict[str, SloResult]
    good_tokens: int | None = None
    """Output tokens of the good requests; None if one of them is uncounted."""

    @property
    def ratio(self) -> float | None:
        """Good / intended; None without any objective, for then nothing is good or bad."""
        return self.good / self.intended if self.by_slo and self.intended > 0 else None

    def as_dict(self, *, window_s: float | None) -> dict[str, Any]:
        """The JSON form; all None without any objective, for then nothing is good or bad."""
        asked = self.ratio is not None
        interval = wilson(self.good, self.intended) if asked else None
        tokens = self.good_tokens if asked else None
        return {
            "ratio": self.ratio,
            "ci95": list(interval) if interval else None,
            "good": self.good if asked else None,
            "requests_per_s": self.good / window_s if asked and window_s else None,
            "output_tokens_per_s": tokens / window_s if tokens is not None and window_s else None,
            "by_slo": {name: result.as_dict() for name, result in self.by_slo.items()},
        }


def verdicts(record: RequestRecord, slo: Slo) -> dict[str, bool | None]:
    """For each objective asked for: met, not met, or None for a TPOT that is undefined.

    A request that is not ok meets none, however early its first token came.
    """
    found: dict[str, bool | None] = {}
    values = (("ttft", slo.ttft_s, ttft_s), ("tpot", slo.tpot_s, tpot_s), ("e2e", slo.e2e_s, e2e_s))
    for name, limit, measure in values:
        if limit is None:
            continue
        value = measure(record) if record.outcome == "ok" else None
        if name == "tpot" and record.outcome == "ok" and tpot_is_undefined(record):
            found[name] = None
        else:
            found[name] = value is not None and value <= limit
    return found


def is_good(record: RequestRecord, slo: Slo) -> bool:
    """Whether the request failed no objective and passed at least one."""
    found = verdicts(record, slo).values()
    return False not in found and True in found


def goodput(records: Sequence[RequestRecord], *, intended: int, slo: Slo) -> Goodput:
    """Requests that met every objective / all intended requests, failed, cut and unsent ones included.

    `records` are the measured phase's, and no more than `intended`.
    """
    each = [verdicts(record, slo) for record in records]
    limits = {"ttft": slo.ttft_s, "tpot": slo.tpot_s, "e2e": slo.e2e_s}
    by_slo: dict[str, SloResult] = {}
    for name, limit in limits.items():
        if limit is None:
            continue
        undefined = sum(found[name] is None for found in each)
        met = sum(found[name] is True for found in each)
        by_slo[name] = SloResult(limit, met, intended - undefined, undefined)
    good = [record for record in records if is_good(record, slo)]
    tokens = [record.output_tokens for record in good]
    known = [count for count in tokens if count is not None]
    return Goodput(len(good), intended, by_slo, sum(known) if len(known) == len(tokens) else None)
