"""Jumps of the clock, by which a bake would end early or late: it was set, or the machine slept.

Owns: by how much the clock went otherwise than time does. Knows nothing about what follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

LEAST_S = 5.0
"""Slower corrections, and what a busy machine takes between two readings, are less."""


@dataclass(slots=True)
class Jumps:
    """`clock` tells Unix seconds; `steady` is set by nobody, and sleeps with the machine."""

    clock: Callable[[], float]
    steady: Callable[[], float]
    _apart_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._apart_s = self.clock() - self.steady()

    def jump_s(self, before_s: float) -> float | None:
        """By how much it has jumped since it was forgotten last, forward or less than 0; None: it has not.

        `before_s`: a time that was told before this process began, and is past.
        """
        now_s = self.clock()
        jumped_s = now_s - self.steady() - self._apart_s
        if abs(jumped_s) >= LEAST_S:
            return jumped_s
        return now_s - before_s if before_s - now_s >= LEAST_S else None

    def forget(self) -> None:
        """What was told is dealt with."""
        self._apart_s = self.clock() - self.steady()
