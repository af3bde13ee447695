"""summary.json as types: every number of a study with its interval, its n, its tag and the cells it is from.

Owns: the shapes that the page, the terminal table, the words and `teapot diagnose --verify` read. Knows
nothing about how a number is worked out (`summarize`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from serving.errors import EXIT_INVALID_MEASUREMENT, EXIT_OK

SUMMARY_SCHEMA = 1
LEVEL = 0.95
Tag = Literal["measured", "projected", "calibrated"]
ArmState = Literal["done", "partly", "failed", "ruled out", "not reached"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number. `low` and `high` are None where there is no interval, as with one repeat."""

    value: float
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    n: int
    """Repeats (blocks) behind it; of a share: trials."""
    tag: Tag = "measured"
    unit: str
    cells: tuple[str, ...] = ()
    """Ids of the cells, or `start NNN` for what a start told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A measure of an arm. `workload` is None for what holds of the arm whatever is sent."""

    arm: str
    workload: str | None
    measure: str
    figure: Figure
    each: tuple[float, ...] = ()
    """The value of each block, in the order of `figure.cells`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A measure of an arm over that of another, block by block."""

    arm: str
    over: str
    """The arm it is divided by: the control, or the arm that this one stands on."""
    workload: str | None
    measure: str
    figure: Figure
    paired: bool
    """Whether the two of a block ran near in time, each in a start of its own; not so with `hold`."""
    better: bool | None
    """True: the interval lies on the better side of 1; False: on the worse; None: it holds 1, there is no
    interval, or the measure has no better side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What the planner said a lever would do, beside what it did. Both are ratios to `over`."""

    arm: str
    over: str
    workload: str | None
    measure: str
    predicted: float
    measured: Figure
    tag: Tag
    """projected: from the planner alone; calibrated: with a figure measured here, such as acceptance."""
    formula: str
    error_ratio: float
    """(measured - predicted) / predicted."""
    held: bool | None
    """Whether the prediction lies in the measured interval; exact counts: whether they are equal. None: no
    interval."""
    over_workload: str | None = None
    """Within an arm: the workload that this one is divided by."""

    @property
    def undecided(self) -> bool:
        """Whether the interval holds what was predicted and no effect at all too, and so decides nothing."""
        low, high = self.measured.low, self.measured.high
        if not self.held or low is None or high is None:
            return False
        return low <= 1 <= high and self.predicted != 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmResult:
    """What became of an arm."""

    name: str
    state: ArmState
    reason: str | None = None
    model: str
    labels: Mapping[str, str] = field(default_factory=dict)
    on: str | None = None
    fragment: Mapping[str, Any] = field(default_factory=dict)
    modes: tuple[Mapping[str, Any], ...] = ()
    """{kind, asked, in_effect, evidence} of its last start."""
    starts: tuple[int, ...] = ()
    cells_done: int = 0
    cells_planned: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A start or a cell that did not give what it was to give."""

    what: Literal["arm", "start", "cell"]
    id: str
    arm: str
    reason: str
    log_tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """summary.json."""

    name: str
    title: str = ""
    control: str
    repeats: int
    hold: bool
    complete: bool
    """Whether every cell that was planned is done or failed."""
    arms: tuple[ArmResult, ...]
    workloads: Mapping[str, Mapping[str, Any]]
    rows: tuple[Row, ...]
    ratios: tuple[Ratio, ...]
    predictions: tuple[Prediction, ...]
    missing: tuple[Missing, ...]
    words: tuple[str, ...] = ()
    quality: tuple[Mapping[str, Any], ...] = ()
    """Verdicts of `deploy.study.quality`, one an arm, as JSON."""
    notes: tuple[str, ...] = ()
    """What limits the whole: one repeat, held starts."""
    doubts: tuple[str, ...] = ()
    """Cells whose load run is not valid, with its reasons; they are counted all the same."""
    cost: Mapping[str, float] = field(default_factory=dict)
    """`starts`, `cells`, `wall_s`, `start_mean_s`, `estimated_s`."""
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 1
    schema: int = SUMMARY_SCHEMA

    @property
    def sound(self) -> bool:
        """Whether all was measured that was to be (what was ruled out was not), by loads that are valid."""
        lost = [each for each in self.missing if each.what != "arm"]
        return self.complete and not lost and not self.doubts

    @property
    def exit_code(self) -> int:
        """Of a study that ended by itself, and of a folder that is summarized again."""
        return EXIT_OK if self.sound else EXIT_INVALID_MEASUREMENT

    def find(self, measure: str, *, arm: str, workload: str | None = None) -> Row | None:
        """One measure of an arm; None where it was not measured."""
        wanted = (measure, arm, workload)
        return next((row for row in self.rows if (row.measure, row.arm, row.workload) == wanted), None)

    def ratio(self, measure: str, *, arm: str, workload: str | None = None) -> Ratio | None:
        """A measure over the control's; None where it was not measured in both."""
        return next(
            (
                ratio
                for ratio in self.ratios
                if (ratio.measure, ratio.arm, ratio.workload, ratio.over)
                == (measure, arm, workload, self.control)
            ),
            None,
        )

    def of(self, measure: str, workload: str | None = None) -> Iterator[Row]:
        """A measure of every arm that has it, in the order of the arms."""
        return (row for row in self.rows if row.measure == measure and row.workload == workload)
