"""What an alert is, and how a rule file has it.

Owns: the parts of an alert, and the labels that tell alerts apart. Knows nothing about any one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dashboards.promql import Scope

Severity = Literal["critical", "warning"]
"""critical: users are hurt now, wake somebody. warning: look at it today."""
RUNBOOK = "docs/alerts.md"
DEPLOYMENT = Scope(by=("deployment",))
REVISION = DEPLOYMENT.split("revision")
ENGINE = REVISION.split("role", "instance")
"""Of what engines say."""
BACKEND = REVISION.split("role", "backend")
"""Of what the gateway says about engines: `backend` there is `instance` here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert. `summary` holds its labels and its value; `advice` is the first thing to do."""

    name: str
    expr: str
    severity: Severity
    summary: str
    advice: str
    hold: str | None = None
    """For how long the condition must hold; None: its own windows are patient enough."""
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def runbook(self) -> str:
        """Where it is written what to look at and what to do."""
        return f"{RUNBOOK}#{self.name.lower()}"

    def rule(self) -> dict[str, Any]:
        """The alert as a rule file has it."""
        return {
            "alert": self.name,
            "expr": self.expr,
            **({"for": self.hold} if self.hold else {}),
            "labels": {"severity": self.severity, **self.labels},
            "annotations": {
                "summary": self.summary,
                "description": self.advice,
                "runbook_url": self.runbook,
            },
        }


def both(*conditions: str) -> str:
    """All conditions at once; the value is the first one's."""
    return "\nand ".join(conditions)
