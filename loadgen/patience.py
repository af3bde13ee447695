"""How long a worker that lives may show no progress before the run goes on without it.

Owns: the rule. Knows nothing about messages, clocks or what progress is. While sends are still to come, a
worker may be silent for as long as the timetable is; once all are sent, every answer comes, is cut or is
given up within known limits, and what may go on longer (reading) shows in its figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.limits import Limits
from loadgen.records import Planned

TELL_S = 5.0
"""What a worker gets beyond all limits, to tell how it went."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Allowed silence of a worker, in seconds."""

    limits: Limits
    tell_s: float = TELL_S
    longest_pause_s: float = 0.0
    """Between two turns of a conversation."""
    sends_for_s: float | None = None
    """From the start of the measured phase to its last send with a time of its own; None: not known,
    since each request waits for one before it."""

    @classmethod
    def of(
        cls, arrival: Mapping[str, Any], timetable: Sequence[Planned], limits: Limits, *, tell_s: float
    ) -> Patience:
        """That of a run, from its normalized arrivals and its timetable."""
        stages = arrival.get("stages") or ()
        closed = bool(arrival.get("concurrency") or any(stage.get("concurrency") for stage in stages))
        times = [planned.t_intended_ns for planned in timetable if planned.t_intended_ns is not None]
        sends_for_s: float | None = max(times, default=0) / 1e9
        if closed:
            durations = [stage["duration"] for stage in stages] or [arrival.get("duration")]
            sends_for_s = None if None in durations else sum(durations)
        pause_s = max((planned.think_s for planned in timetable), default=0.0)
        return cls(limits, tell_s, pause_s, sends_for_s)

    def due_before_start_s(self, changed_s: float) -> float:
        """When a worker that warms up must have shown progress, if it last did at `changed_s`."""
        return changed_s + self._one_request_s

    def due_s(self, changed_s: float, *, started_s: float) -> float:
        """The same of the measured phase."""
        if self.sends_for_s is None:
            return changed_s + self._one_request_s
        return self.due_after_stop_s(changed_s, stopped_s=started_s + self.sends_for_s)

    def due_after_stop_s(self, changed_s: float, *, stopped_s: float, cut: bool = False) -> float:
        """The same once nothing new is sent, or even what is in flight is cut."""
        drain_s = 0.0 if cut else self.limits.drain_s
        return max(changed_s, stopped_s) + drain_s + self.limits.connect_s + self.tell_s

    @property
    def _one_request_s(self) -> float:
        return self.limits.connect_s + self.limits.total_s + self.longest_pause_s + self.tell_s
