"""The life of one engine as a table, why engines end, and when they are started again.

Owns: states and what leads from one to another, kinds of exits, back-off and giving up. Pure: time comes in.
Knows nothing about processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from serving.facts.messages import Cause


class EngineState(StrEnum):
    """Where an engine is in its life."""

    PLANNED = "planned"
    STARTING = "starting"
    PROVING = "proving"
    READY = "ready"
    DRAINING = "draining"
    STOPPED = "stopped"
    CRASHED = "crashed"
    """What is left of it is being removed."""
    WAITING = "waiting"
    """It is started again after a pause."""
    FAILED = "failed"
    """Given up."""


class Event(StrEnum):
    """What happens to an engine."""

    START = "start"
    GENERATED = "generated"
    """It has generated its first token."""
    PROVEN = "proven"
    CRASHED = "crashed"
    """It ended by itself, or was found stuck."""
    CLEARED = "cleared"
    """Nothing of it is left, and it may be started again."""
    GIVEN_UP = "given up"
    STOP = "stop"
    GONE = "gone"


_S, _E = EngineState, Event
TABLE: Mapping[tuple[EngineState, Event], EngineState] = {
    (_S.PLANNED, _E.START): _S.STARTING,
    (_S.STARTING, _E.GENERATED): _S.PROVING,
    (_S.PROVING, _E.PROVEN): _S.READY,
    (_S.STARTING, _E.CRASHED): _S.CRASHED,
    (_S.PROVING, _E.CRASHED): _S.CRASHED,
    (_S.READY, _E.CRASHED): _S.CRASHED,
    (_S.CRASHED, _E.CLEARED): _S.WAITING,
    (_S.CRASHED, _E.GIVEN_UP): _S.FAILED,
    (_S.WAITING, _E.START): _S.STARTING,
    (_S.PLANNED, _E.STOP): _S.DRAINING,
    (_S.STARTING, _E.STOP): _S.DRAINING,
    (_S.PROVING, _E.STOP): _S.DRAINING,
    (_S.READY, _E.STOP): _S.DRAINING,
    (_S.CRASHED, _E.STOP): _S.DRAINING,
    (_S.WAITING, _E.STOP): _S.DRAINING,
    (_S.FAILED, _E.STOP): _S.FAILED,
    (_S.DRAINING, _E.STOP): _S.DRAINING,
    (_S.STOPPED, _E.STOP): _S.STOPPED,
    (_S.DRAINING, _E.GONE): _S.STOPPED,
    (_S.FAILED, _E.GONE): _S.FAILED,
}


def following(state: EngineState, event: Event) -> EngineState:
    """The state after an event. Raises: ValueError where the event cannot happen in this state."""
    if (state, event) not in TABLE:
        raise ValueError(f"'{event}' cannot happen to an engine that is {state}")
    return TABLE[state, event]


class ExitKind(StrEnum):
    """Why an engine ended. Only a crash may go better the next time."""

    WRONG_FLAG = "wrong flag"
    """Or a mode or a size that this engine, model or machine does not have."""
    OUT_OF_MEMORY = "out of memory"
    PORT = "port taken"
    MISSING_FILE = "missing file"
    SHARED_MEMORY = "shared memory or NCCL"
    CRASH = "crash"


KIND_OF_CAUSE: Mapping[str, ExitKind] = {
    **dict.fromkeys(
        (
            "gpu_memory_taken", "cpu_memory_share", "cpu_kv_memory", "max_model_len_too_long_for_kv",
            "kv_too_small_for_any_length", "no_memory_for_kv", "out_of_gpu_memory", "out_of_memory",
        ),
        ExitKind.OUT_OF_MEMORY,
    ),
    **dict.fromkeys(("port_in_use", "port_in_use_unnamed"), ExitKind.PORT),
    **dict.fromkeys(
        (
            "gated_model", "hub_offline", "missing_tokenizer", "not_a_model", "broken_weights", "no_weights",
            "other_weights", "missing_module", "no_compiler", "no_python_headers", "no_nixl", "no_mooncake",
            "no_permission",
        ),
        ExitKind.MISSING_FILE,
    ),
    **dict.fromkeys(("no_space_left", "shared_memory", "nccl"), ExitKind.SHARED_MEMORY),
    **dict.fromkeys(("unknown", "nodes_do_not_meet", "too_many_files"), ExitKind.CRASH),
}  # fmt: skip
"""By the id of a row of messages.toml. A row that is not here tells of something asked for that cannot be."""
EXIT_CODE_USAGE = 2
"""argparse's, which vLLM ends with on a flag it does not know."""


def classify(code: int | None, cause: Cause | None) -> ExitKind:
    """The kind of an exit, from what the log names and else from the exit code (-N: signal N)."""
    if code == EXIT_CODE_USAGE and (cause is None or cause.id == "unknown"):
        return ExitKind.WRONG_FLAG
    return ExitKind.CRASH if cause is None else KIND_OF_CAUSE.get(cause.id, ExitKind.WRONG_FLAG)


LONGEST_PAUSE_S = 60.0
WINDOW_S = 600.0
CRASHES_ALLOWED = 5


@dataclass(frozen=True, slots=True)
class Again:
    """Start once more after a pause."""

    pause_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not start again."""

    reason: str


def after_crash(kind: ExitKind, *, crashes_s: Sequence[float], was_ready: bool) -> Again | GiveUp:
    """What to do after an engine ended. `crashes_s`: when it crashed, the last one now, in order.

    Pauses are 1, 2, 4 ... 60 s; a crash later than WINDOW_S after the one before begins anew. What cannot go
    better is not tried again; an engine that has served and ran out of memory only met an odd load.
    """
    hopeless = kind is not ExitKind.CRASH and not (kind is ExitKind.OUT_OF_MEMORY and was_ready)
    if hopeless:
        return GiveUp(f"{kind} is not tried again")
    recent = [at for at in crashes_s if crashes_s[-1] - at < WINDOW_S]
    if len(recent) >= CRASHES_ALLOWED:
        return GiveUp(f"{len(recent)} crashes within {WINDOW_S / 60:g} minutes")
    return Again(min(2.0 ** (_row(crashes_s) - 1), LONGEST_PAUSE_S))


def _row(crashes_s: Sequence[float]) -> int:
    """How many crashes there were in a row, each within the window after the one before."""
    count = 1
    for earlier, later in zip(reversed(crashes_s[:-1]), reversed(crashes_s), strict=False):
        if later - earlier >= WINDOW_S:
            break
        count += 1
    return count
