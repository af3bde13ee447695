"""The mistakes that rule files ship with: names that do not exist, and burn rates that are none.

Owns: the checks on a rule file as Prometheus reads it. Knows nothing about boards, or how ours are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from dashboards.catalogue import Catalogue, Series
from dashboards.metric_names import GROW, read, undivided_sums

Json = Mapping[str, Any]
FACTORS = ("14.4", "6")
"""Of the SRE workbook, for a budget of 30 days: 2 % of it in an hour, 5 % in six."""
SHORTEST = timedelta(minutes=1)
"""Four scrapes at 15 s."""


def with_recorded(document: Json, catalogue: Catalogue) -> dict[str, Series]:
    """The catalogue and the series that recording rules add; a rule may use those above it."""
    known = dict(catalogue)
    for rule in _rules(document):
        if "record" in rule:
            known[rule["record"]] = Series("gauge", read(rule["expr"], known).labels)
    return known


def problems(document: Json, catalogue: Catalogue) -> Iterator[str]:
    """Everything that is wrong with a rule file; `catalogue` has what its rules record."""
    for rule in _rules(document):
        name = rule.get("alert") or rule["record"]
        found = read(rule["expr"], catalogue)
        for problem in found.problems:
            yield f"{name}: {problem}"
        for sum_name in undivided_sums(rule["expr"]):
            yield f"{name}: {sum_name} alone is no time; divide its rate by that of the count"
        for function, window in found.windows:
            if function in GROW and window < SHORTEST:
                yield f"{name}: {function} over {window} holds too few scrapes; use at least {SHORTEST}"
        if "alert" in rule:
            yield from (f"{name}: {problem}" for problem in _alert(rule, found.names))


def _alert(rule: Json, names: frozenset[str] | set[str]) -> Iterator[str]:
    notes = rule.get("annotations", {})
    for key in ("summary", "description", "runbook_url"):
        if not notes.get(key):
            yield f"has no {key}; say what happened, what to do, and where that is written"
    if "severity" not in rule.get("labels", {}):
        yield "has no severity; is somebody to be woken?"
    burns = [name for name in names if "burn" in name]
    if "burn" in rule["alert"].lower() and len(burns) < 2:
        yield "is called a burn rate and looks at one window; ask a long and a short one"
    if burns and not any(f"> {factor}" in rule["expr"] for factor in FACTORS):
        yield f"compares a burn rate with none of {', '.join(FACTORS)}; those tell what of a budget is spent"


def _rules(document: Json) -> Iterator[Json]:
    for group in document["groups"]:
        yield from group["rules"]
