"""The legs of a divided request as one table: what is done next, and what may follow.

Owns: the states of a divided request. Knows nothing about HTTP, engines or bodies. What the table does not
have cannot happen: it raises, so that a mistake is seen and not carried on.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal


class State(Enum):
    """What is being done."""

    PREFILL = "one engine computes the prompt"
    DECODE = "another writes the answer, from the transferred blocks"
    ALONE = "an engine answers without transfer"
    DONE = "the client has the answer, or the engine's own error"
    REFUSED = "the client gets an error of ours"


class Event(Enum):
    """What came of it."""

    TRANSFERABLE = "the prefilling engine answered, with params"
    PREFILL_FAILED = "it is dead, slow, refused, or gave no params"
    ANSWERED = "the first bytes of the answer are here and may go to the client"
    NOT_LOADED = "the decoding engine failed before that: its blocks did not come, or it is gone"


OnPrefillFailure = Literal["aggregate", "error"]

_TABLE: dict[tuple[State, Event], State] = {
    (State.PREFILL, Event.TRANSFERABLE): State.DECODE,
    (State.PREFILL, Event.PREFILL_FAILED): State.ALONE,
    (State.DECODE, Event.ANSWERED): State.DONE,
    # The params are used once, whatever became of it.
    (State.DECODE, Event.NOT_LOADED): State.ALONE,
    (State.ALONE, Event.ANSWERED): State.DONE,
}


class Division:
    """One divided request."""

    def __init__(self, on_prefill_failure: OnPrefillFailure) -> None:
        self.state = State.PREFILL
        self._on_failure = on_prefill_failure

    def on(self, event: Event) -> State:
        """What follows. Raises: RuntimeError if `event` cannot happen in this state."""
        after = _TABLE.get((self.state, event))
        if after is None:
            raise RuntimeError(f"{event.name} cannot happen in {self.state.name}")
        if event is Event.PREFILL_FAILED and self._on_failure == "error":
            after = State.REFUSED
        self.state = after
        return after
