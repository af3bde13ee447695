"""Recording rules: what boards and alerts ask often over long windows, worked out once.

Owns: which rules there are, their names, and the form of rule files. Knows nothing about alerts.

Names are `level:metric:operations`: the labels kept apart, what was counted, and what was done to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from dashboards.promql import Scope, increase, series, total
from dashboards.slis import missed_ratio, own

LEVEL = Scope(by=("deployment", "slo"))
WINDOWS = ("5m", "30m", "1h", "6h")
"""Of burn rates: a long window says that it matters, a short one that it still goes on."""
LONG_WINDOWS = ("1h", "6h")
_REQUESTS = "deployment_slo:teapot_slo_requests"
TARGET = "deployment_slo:teapot_slo_target_ratio:max"
_HEAD = "# Made by `teapot dashboards build` from {source}; a change here is lost.\n"


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording rule."""

    record: str
    expr: str


def missed_name(window: str) -> str:
    """The share of judged requests that missed an objective, by deployment and objective."""
    return f"{_REQUESTS}:missed_ratio_rate{window}"


def missed_count_name(window: str) -> str:
    """How many requests missed an objective, by deployment and objective."""
    return f"{_REQUESTS}:missed_increase{window}"


def burn_name(window: str) -> str:
    """How many times too fast the budget of misses is spent (1: it lasts exactly for its period)."""
    return f"{_REQUESTS}:burn_rate{window}"


def _recordings() -> tuple[Recording, ...]:
    missed = missed_ratio()
    misses = {
        window: total(increase(own("slo_requests"), LEVEL.over(window), met="false"), LEVEL)
        for window in LONG_WINDOWS
    }
    return (
        # Several gateways of a deployment, or an old one beside a new one: the strictest objective holds.
        Recording(TARGET, total(series(own("slo_target")), LEVEL, "max")),
        *(Recording(missed_name(window), missed(LEVEL.over(window))) for window in WINDOWS),
        *(Recording(missed_count_name(window), expr) for window, expr in misses.items()),
        *(
            Recording(burn_name(window), f"{missed_name(window)} / on (deployment, slo) (1 - {TARGET})")
            for window in WINDOWS
        ),
    )


RECORDINGS: tuple[Recording, ...] = _recordings()
"""In the order in which they are worked out: a rule may use those above it."""


def rules_text() -> str:
    """The rule file with all recording rules."""
    rules = [{"record": rule.record, "expr": rule.expr} for rule in RECORDINGS]
    return rule_file({"teapot-objectives": rules}, source="dashboards/rules.py")


def rule_file(groups: Mapping[str, Sequence[Mapping[str, Any]]], source: str) -> str:
    """A rule file as Prometheus reads it; groups by name."""
    document = {"groups": [{"name": name, "rules": list(rules)} for name, rules in groups.items()]}
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    return _HEAD.format(source=source) + text


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as several lines."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
