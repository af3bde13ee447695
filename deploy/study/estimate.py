"""How long a study takes: before it begins, and while it runs.

Owns: what a start and a cell are thought to cost, and what would fit a budget. Knows nothing about clocks or
where earlier costs are kept: they come in.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from deploy.compiling import EAGER
from deploy.study.counting import many
from deploy.study.rows import QUALITIES, QUALITY, Estimate, PlannedCell, PlannedStart
from loadgen.workload import Workload
from loadgen.workload_arrivals import Closed, Stages, TraceTimes
from loadgen.workload_lengths import Fixed
from loadgen.workload_prompts import MultiTurn, PromptSet, RandomTokens, SharedPrefix
from serving.config.arguments import argument_flags
from serving.config.schema import Deployment
from serving.config.units import format_duration
from serving.modes.mode import Device

START_S: Mapping[Device, float] = {"cpu": 60.0, "cuda": 120.0, "rocm": 120.0}
"""Where no start was seen yet. CPU: 27 to 60 s without compiling (a small model, 2 cores), and an end of some
seconds. GPUs: assumed, not measured."""
COMPILING_S: Mapping[Device, float] = {"cpu": 60.0, "cuda": 60.0, "rocm": 60.0}
"""More where torch.compile runs: 70 s when it is the first time, little when not."""
STEP_S: Mapping[Device, float] = {"cpu": 0.06, "cuda": 0.02, "rocm": 0.02}
"""A decode step of a small model. CPU: 54 ms were measured at one stream."""
PROMPT_TOKENS_PER_S: Mapping[Device, float] = {"cpu": 1_000.0, "cuda": 20_000.0, "rocm": 20_000.0}
"""CPU: 2,611 tokens took 2.55 s."""
AROUND_S = 8.0
"""Of a cell, beside its load: prompts are written and counted, processes begin and end, a report is drawn."""
QUALITY_S: Mapping[Device, float] = {"cpu": 60.0, "cuda": 20.0, "rocm": 20.0}
UNKNOWN_S = 60.0
"""Of a trace's times without an end."""
SHORT_PROMPT_TOKENS = 128
"""Of prompts whose lengths are known only to the target's tokenizer."""


@dataclass(frozen=True, slots=True)
class StartKey:
    """What makes two starts cost alike."""

    model: str
    device: Device
    compiles: bool
    modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What a start or a cell took earlier on this machine."""

    what: StartKey | tuple[str, str]
    """A start's key; of a cell the model and the workload's fingerprint."""
    took_s: float


@dataclass(frozen=True, slots=True)
class Costs:
    """What is known of costs: seen ones, and assumptions for the rest."""

    seen: Sequence[Seen] = ()

    def start_s(self, key: StartKey) -> tuple[float, str]:
        """Of one start with its end, and where that is from."""
        same = [row.took_s for row in self.seen if row.what == key]
        if same:
            return statistics.median(same), f"{many(len(same), 'earlier start')} alike"
        alike = [
            row.took_s
            for row in self.seen
            if isinstance(row.what, StartKey)
            and (row.what.model, row.what.device, row.what.compiles) == (key.model, key.device, key.compiles)
        ]
        if alike:
            return statistics.median(
                alike
            ), f"{many(len(alike), 'earlier start')} of {key.model} in other modes"
        assumed = START_S[key.device] + (COMPILING_S[key.device] if key.compiles else 0.0)
        return assumed, f"assumed {assumed:.0f} s a start: none of {key.model} was seen yet"

    def cell_s(self, model: str, fingerprint: str, assumed: float) -> float:
        """Of one cell with all around it."""
        same = [row.took_s for row in self.seen if row.what == (model, fingerprint)]
        return statistics.median(same) if same else assumed


def start_key(deployment: Deployment, device: Device) -> StartKey:
    """Of a deployment's start."""
    eager = any(flag == EAGER for _, flag, _ in argument_flags(deployment.engine.args))
    kinds = tuple(sorted(f"{mode.kind} {mode.asked()}" for mode in deployment.modes))
    return StartKey(deployment.model, device, not eager, kinds)


def load_s(workload: Workload, device: Device) -> float:
    """How long the load of a workload is thought to last, with its warm-up."""
    arrival = workload.arrival
    prompt, answer, pauses = _of_a_request(workload)
    one = answer * STEP_S[device] + prompt / PROMPT_TOKENS_PER_S[device] + pauses
    slots = arrival.concurrency if isinstance(arrival, Closed) else 1
    warm = math.ceil(workload.warmup.requests / slots) * one
    if isinstance(arrival, Closed) and arrival.requests is not None:
        waves = math.ceil(arrival.requests / slots)
        each = answer * STEP_S[device] + slots * prompt / PROMPT_TOKENS_PER_S[device] + pauses
        whole = waves * each
        return warm + (whole if arrival.duration is None else min(whole, arrival.duration + one))
    if isinstance(arrival, Stages):
        return warm + sum(stage.duration for stage in arrival.stages) + one
    if arrival.duration is not None:
        return warm + arrival.duration + one
    if isinstance(arrival, TraceTimes | Closed) or arrival.requests is None:
        return warm + UNKNOWN_S
    return warm + arrival.requests / arrival.rate + one


def _of_a_request(workload: Workload) -> tuple[int, int, float]:
    """Tokens that are prefilled and decoded, and seconds between turns: a conversation is all of its turns.

    Each turn brings new words and all that was said before; what a prefix cache spares is not counted.
    """
    (prompt, answer), prompts = lengths_of(workload), workload.prompts
    if not isinstance(prompts, MultiTurn):
        return prompt, answer, 0.0
    turns, new = prompts.turns, prompts.input_tokens
    words = new.tokens if isinstance(new, Fixed) else SHORT_PROMPT_TOKENS
    read = words * turns * (turns + 1) // 2 + answer * turns * (turns - 1) // 2
    return read, turns * answer, (turns - 1) * prompts.think


def lengths_of(workload: Workload) -> tuple[int, int]:
    """Tokens of a prompt and of an answer, as far as the file tells them; else short ones."""
    prompts, most = workload.prompts, workload.sampling.max_tokens
    answer = getattr(prompts, "output_tokens", None)
    output = answer.tokens if isinstance(answer, Fixed) else most or SHORT_PROMPT_TOKENS
    if isinstance(prompts, RandomTokens) and isinstance(prompts.input_tokens, Fixed):
        return prompts.input_tokens.tokens, output
    if isinstance(prompts, SharedPrefix) and isinstance(prompts.suffix_tokens, Fixed):
        return prompts.prefix_tokens + prompts.suffix_tokens.tokens, output
    return SHORT_PROMPT_TOKENS, output


def lengths_are_told(workload: Workload) -> bool:
    """Whether the file tells how long its prompts are, or they are known to be short."""
    return workload.one_length is not None or isinstance(workload.prompts, PromptSet | SharedPrefix)


@dataclass(frozen=True, slots=True)
class Pace:
    """What each start of an arm and each cell of a workload is thought to take."""

    starts: Mapping[str, float]
    """By arm."""
    cells: Mapping[tuple[str, str], float]
    """By arm and workload."""
    sources: tuple[str, ...]

    def start(self, start: PlannedStart) -> float:
        """Of a start without its cells."""
        return self.starts[start.arm]

    def cell(self, cell: PlannedCell) -> float:
        """Of one cell."""
        return self.cells[cell.arm, cell.workload]

    def whole(self, starts: Iterable[PlannedStart]) -> float:
        """Of all starts with their cells."""
        return sum(self.start(start) + sum(map(self.cell, start.cells)) for start in starts)


def pace(
    arms: Mapping[str, StartKey], workloads: Mapping[str, Workload], costs: Costs, *, quality: bool
) -> Pace:
    """What is known beforehand, by arm and workload."""
    starts, cells, sources = {}, {}, []
    for arm, key in arms.items():
        starts[arm], source = costs.start_s(key)
        sources.append(source)
        for name, workload in workloads.items():
            assumed = load_s(workload, key.device) + AROUND_S
            cells[arm, name] = costs.cell_s(key.model, workload.fingerprint(), assumed)
        for name in QUALITIES if quality else ():
            cells[arm, name] = costs.cell_s(key.model, QUALITY, QUALITY_S[key.device])
    return Pace(starts, cells, tuple(dict.fromkeys(sources)))


def estimate(starts: Sequence[PlannedStart], known: Pace) -> Estimate:
    """The whole study's."""
    each = [known.start(start) for start in starts]
    mean = statistics.fmean(each) if each else 0.0
    return Estimate(total_s=known.whole(starts), start_s=mean, sources=known.sources)


def what_would_fit(
    starts: Sequence[PlannedStart], known: Pace, budget_s: float, *, repeats: int, hold: bool
) -> str:
    """The nearest that fits a budget: holding engines, fewer repeats, or the arms that could be left out."""
    total = known.whole(starts)
    loads = sum(known.cell(cell) for start in starts for cell in start.cells)
    once = sum(known.starts[arm] for arm in dict.fromkeys(start.arm for start in starts))
    if not hold and once + loads <= budget_s:
        return f"with hold: true (one start an arm) it takes {format_duration(once + loads)}"
    held = once if hold else 0.0
    fixed = 0.0 if hold else (total - loads) / repeats
    for fewer in range(repeats - 1, 0, -1):
        shorter = held + fewer * fixed + loads * fewer / repeats
        if shorter <= budget_s:
            return f"with repeats: {fewer} it takes {format_duration(shorter)}"
    shortest = once + loads / repeats
    return f"even one repeat takes {format_duration(shortest)}: leave arms or workloads out, or raise budget"


@dataclass(slots=True)
class Remaining:
    """What is left, corrected by how far off the thoughts were: of starts and of cells apart."""

    known: Pace
    _starts: list[float] = field(default_factory=lambda: [0.0, 0.0])
    _cells: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def start_took(self, start: PlannedStart, took_s: float) -> None:
        """A start is over, without its cells."""
        self._starts[0] += took_s
        self._starts[1] += self.known.start(start)

    def cell_took(self, cell: PlannedCell, took_s: float) -> None:
        """A cell is over."""
        self._cells[0] += took_s
        self._cells[1] += self.known.cell(cell)

    def of(self, starts: Iterable[PlannedStart], cells: Iterable[PlannedCell]) -> float:
        """Of these starts without their cells, and of these cells."""
        lives = sum(map(self.known.start, starts)) * _off(self._starts)
        return lives + sum(map(self.known.cell, cells)) * _off(self._cells)


def _off(taken_and_thought: Sequence[float]) -> float:
    taken, thought = taken_and_thought
    return taken / thought if thought else 1.0
