"""A figure with what it is worth: its kind, its source, its band.

Owns: the type and its JSON. Knows nothing about which figures there are.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Kind = Literal["exact", "formula", "fitted", "default", "given", "measured", "calibrated"]
"""exact: counted, to the unit. formula: derived, true if its assumptions are. fitted: from a constant fitted
to measurements. default: an assumption of ours or of vLLM. given: by the user. measured: from a run.
calibrated: a floor over an efficiency."""


class Figure(NamedTuple):
    """One number of a plan."""

    value: int | float | None
    unit: str
    kind: Kind
    source: str
    low: int | float | None = None
    high: int | float | None = None

    def document(self) -> dict[str, Any]:
        """For JSON, without what is empty."""
        row: dict[str, Any] = {
            "value": self.value,
            "unit": self.unit,
            "kind": self.kind,
            "source": self.source,
        }
        if self.low is not None or self.high is not None:
            row |= {"low": self.low, "high": self.high}
        return row
