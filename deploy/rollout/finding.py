"""What a check is asked and what it answers.

Owns: these shapes. Knows nothing about which checks there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from deploy.rollout.evidence import Evidence, Side
from deploy.rollout.statistics import Look
from serving.config.rollout import GatesSection

Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE"]
Answer = Literal["PASS", "FAIL", "INCONCLUSIVE", "NOT JUDGED"]
"""Not judged: the check says nothing here, and why is told; no pass and no reason to wait."""
MATERIAL = 0.25
"""Something is failed only if it looks worse by more than this part of its gate, however sure that is."""
FEWEST = 30
"""Values below which a mean's interval, or a share that was measured before, is not believed."""
Numbers = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Asked:
    """One look: the evidence, and by what it is judged."""

    evidence: Evidence
    gates: GatesSection
    look: Look
    min_requests: int
    quality: bool
    """Whether answers had to be compared."""

    @property
    def concurrent(self) -> bool:
        """Whether there is a baseline that had its requests at the same time."""
        return self.evidence.concurrent and self.evidence.baseline is not None

    @property
    def baseline(self) -> Side:
        """The other side; where there never was one, one that did nothing."""
        return self.evidence.baseline or Side(revision="none")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check says."""

    answer: Answer
    why: str
    numbers: Numbers = field(default_factory=dict)
