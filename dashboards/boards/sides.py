"""Canary against baseline as a table: one line an indicator, with how many samples each side has.

Owns: what is compared, and the queries that make the columns. Knows nothing about verdicts: a gate decides
(`deploy`), a table shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dashboards.gateway_slis import WORK
from dashboards.panels import Query
from dashboards.promql import RANGE, Scope, increase, total
from dashboards.slis import SLIS, own

_SCOPE = Scope(('deployment="$deployment"',), window=RANGE)
BASELINE = _SCOPE.only('revision="$baseline"')
CANARY = _SCOPE.only('revision="$canary"')


@dataclass(frozen=True, slots=True)
class Compared:
    """A line: an indicator, what it is called, and the histogram or counter whose events it is made of."""

    sli: str
    what: str
    of: str
    labels: tuple[tuple[str, str], ...] = ()


_CLIENT = ("traffic", "client")
_FIRST_BYTE, _TPOT, _DURATION = (
    f"{own(key)}_count" for key in ("gateway_first_byte", "gateway_tpot", "gateway_duration")
)
COMPARED = (
    Compared("ttft_mean", "TTFT, mean, s", _FIRST_BYTE, (_CLIENT, ("streamed", "true"))),
    Compared("ttft_p95", "TTFT, p95, s", _FIRST_BYTE, (_CLIENT, ("streamed", "true"))),
    Compared("tpot_mean", "TPOT, mean, s", _TPOT, (_CLIENT,)),
    Compared("tpot_p95", "TPOT, p95, s", _TPOT, (_CLIENT,)),
    Compared("e2e_mean", "E2E, mean, s", _DURATION, (_CLIENT, ("outcome", "ok"))),
    Compared("e2e_p95", "E2E, p95, s", _DURATION, (_CLIENT, ("outcome", "ok"))),
    Compared("errors", "Errors, share", own("gateway_requests"), (_CLIENT,)),
    Compared("client_gone", "Clients that left, share", own("gateway_requests"), (_CLIENT,)),
)


def compared() -> tuple[Query, ...]:
    """The columns: baseline, canary, their ratio, both numbers of samples, whether the smaller is enough."""
    columns: tuple[Callable[[Compared], str], ...] = (
        lambda line: SLIS[line.sli].query(BASELINE),
        lambda line: SLIS[line.sli].query(CANARY),
        lambda line: f"{SLIS[line.sli].query(CANARY)} / ({SLIS[line.sli].query(BASELINE)} > 0)",
        lambda line: f"round({_samples(line, BASELINE)})",
        lambda line: f"round({_samples(line, CANARY)})",
        lambda line: (
            f"({_samples(line, BASELINE)} >= bool $enough) * ({_samples(line, CANARY)} >= bool $enough)"
        ),
    )
    return tuple(Query(expr=_lines(column), instant=True) for column in columns)


def _samples(line: Compared, side: Scope) -> str:
    return total(increase(line.of, side.only(WORK), **dict(line.labels)), side)


def _lines(column: Callable[[Compared], str]) -> str:
    return "\nor ".join(f'label_replace({column(line)}, "what", "{line.what}", "", "")' for line in COMPARED)
