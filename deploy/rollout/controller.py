"""A rollout as it goes: what is seen becomes events, events become states, states become actions.

Owns: that order, and that nothing is done that is not in the journal before. It may be killed anywhere: when
started again, it does its last state's actions again. Knows nothing about how the gate judges (`gate`), what
follows on what (`machine`), or how things are done (`doing`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from deploy.rollout import telling
from deploy.rollout.client import Admin, Away, Declined
from deploy.rollout.doing import do
from deploy.rollout.entries import moved, noted
from deploy.rollout.journal import DiskFull, Journal
from deploy.rollout.jumps import Jumps
from deploy.rollout.machine import (
    WATCHED,
    Action,
    EventName,
    Refused,
    State,
    actions,
    advance,
    begun_anew,
    due,
)
from deploy.rollout.patience import Patience
from deploy.rollout.plan import Plan
from deploy.rollout.seen import Seen, came_again, event_of, lost, read, shares, stays
from deploy.rollout.sight import Sight
from deploy.rollout.sources import Source, source
from deploy.rollout.warming import Event, Hands, Warming
from deploy.rollout.watch import Looked, Watch
from serving.errors import EXIT_FAILED, EXIT_INVALID_MEASUREMENT, EXIT_OK, TeapotError

TICK_S = 1.0
TELL_EVERY_S = 5.0
"""So often a rollout says that it is alive."""
PATIENCE_S = 600.0
"""With a deployment that cannot be reached or declines what must be done; then a person has to look."""
_REPEATED = ("clearing", "promoting", "rolling_back")
"""States whose actions wait for each other, and are done again until their event comes."""


@dataclass(slots=True)
class Talk:
    """Whom a rollout tells. None of them may block for long or raise."""

    say: Callable[[str], None] = lambda text: None
    progress: Callable[[str], None] = lambda text: None
    verdict: Callable[[str], None] = lambda text: None
    """A decision on a revision, for the boards."""


@dataclass(slots=True)
class Controller:
    """One rollout of one deployment. Whoever makes it holds the lock."""

    plan: Plan
    state: State
    journal: Journal
    admin: Admin
    hands: Hands
    watch: Watch
    talk: Talk = field(default_factory=Talk)
    asked: Callable[[], EventName | None] = lambda: None
    """What a person has asked for since it was asked last."""
    clock: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    tick_s: float = TICK_S
    sources: Callable[[Seen, Admin, Plan], Source] = source
    patience_s: float = PATIENCE_S
    _todo: list[Action] = field(default_factory=list)
    _once: set[str] = field(default_factory=set)
    """What was said, and is not to be said again."""
    _pending: Event | None = None
    """What has happened and could not be written down yet."""
    _bad: bool = False
    """That is a way back."""
    _told_s: float | None = None
    _sight: Sight = field(init=False)
    _jumps: Jumps = field(init=False)
    _patience: Patience = field(init=False)

    def __post_init__(self) -> None:
        self._sight = Sight(self.plan, self.admin, self.journal, self.talk.say, self.clock, self.sources)
        self._jumps = Jumps(self.clock, self.steady)
        self._patience = Patience(self.talk.say, self.steady, self.patience_s)

    def run(self) -> int:
        """Go on until it is over, or asks a person; returns the exit code. Raises: Failed."""
        self._todo = list(actions(self.state, self.plan))
        self.talk.say(telling.line(self.state, self.plan))
        while not self.state.over:
            self._tick()
            if self.state.name == "asking":
                self._tell()
                return EXIT_INVALID_MEASUREMENT
            if not self.state.over:
                self.sleep(self.tick_s)
        self._tell()
        return EXIT_OK if self.state.name == "done" else EXIT_FAILED

    def _tick(self) -> None:
        seen: Seen | None = None
        try:
            seen = self._read()
            self._mind_clock()
            if came_again(self.state, self.plan, seen):
                raise Away("it was started again with the new file and is not ready", where=self.admin.url)
            event = self._person() or self._pending or self._act(seen)
            if event is None:
                event = self._look(seen)
                if event is None or event[0] == "inconclusive":
                    event = self._timer() or event
            if event is not None:
                self._move(*event)
            self._patience.over()
            self._tell_sometimes()
        except (Away, Declined, DiskFull) as error:
            if isinstance(error, DiskFull) and seen is not None:
                self._keep_safe(seen)
                self._tell_sometimes()
            self._patience.bear(error)

    def _mind_clock(self) -> None:
        """Where the clock was set, let timers and the window begin anew: they are times of another clock."""
        jump_s = self._jumps.jump_s(self.state.since_s)
        if jump_s is None:
            return
        state = begun_anew(self.state, self.plan, at_s=self.clock())
        self.journal.append(moved(state, "clock"))
        self._jumps.forget()
        self.state = state
        self.talk.say(f"the clock was set by {jump_s:+.0f} s: what is timed begins anew")

    def _read(self) -> Seen:
        seen = read(self.admin.status())
        if seen.deployment != self.plan.deployment:
            raise Away(
                f"'{seen.deployment}' runs there, and this rollout is of '{self.plan.deployment}'",
                where=self.admin.url,
                fix="start that deployment again, or give its --admin URL",
            )
        return seen

    def _act(self, seen: Seen) -> Event | None:
        """Do what is to be done; else see what has happened."""
        if self.state.name == "planned" and (event := event_of(self.state, self.plan, seen)) is not None:
            return event
        if self._todo:
            while self._todo:
                try:
                    event = self._do(self._todo[0], seen)
                except Declined:
                    # What it declined for may be something that this state knows the way out of.
                    event = event_of(self.state, self.plan, self._read())
                    if event is None:
                        raise
                    return event
                self._todo.pop(0)
                if event is not None:
                    return event
            if self.state.name not in _REPEATED:
                # What was seen is older than what was done.
                return None
            seen = self._read()
        event = event_of(self.state, self.plan, seen)
        if event is None and self.state.name in _REPEATED:
            self._todo = list(actions(self.state, self.plan))
            if self.state.name == "rolling_back" and (text := stays(self.plan, seen)):
                self._note(text)
        return event

    def _do(self, action: Action, seen: Seen) -> Event | None:
        if action.kind == "plan":
            try:
                self.hands.plan(self.plan)
            except TeapotError as error:
                return "refused", str(error)
            return "fits", ""
        if action.kind == "warm":
            return self._warm(seen)
        try:
            do(action, self.state, self.plan, seen, self.admin)
        except Declined as error:
            if action.kind == "start_canary":
                return "engines_failed", str(error)
            raise
        return None

    def _warm(self, seen: Seen) -> Event:
        if (event := event_of(self.state, self.plan, seen)) is not None:
            return event
        warming = Warming(self.plan, self.hands, self.watch, self._read, self.talk.say, self.clock)
        if (event := warming.event(seen)) is not None:
            return event
        if seen.row(self.plan.baseline) is not None:
            self._sight.look(lambda source: self.watch.begin(source, seen, self.clock()), seen)
        return event_of(self.state, self.plan, self._read()) or ("warmed", "")

    def _look(self, seen: Seen) -> Event | None:
        if self.state.name not in WATCHED or self._todo:
            return None
        if (gone := lost(self.plan, seen)) is not None and not self.watch.unopposed:
            # The new one has all requests anyway.
            self._note(f"{gone}: there is nothing to go back to any more")
        now_s = self.clock()
        found: list[Looked | None] = []
        before = self._sight.blind
        why = self._sight.look(
            lambda source: found.append(self.watch.look(self.state, source, seen, now_s)), seen
        )
        if why is not None:
            return None if before else ("blind", why)
        if before:
            return "sighted", ""
        looked = found[0] if found else None
        return None if looked is None else self._decided(looked, seen)

    def _note(self, text: str) -> None:
        if text not in self._once:
            self.journal.append(noted(text, at_s=self.clock()))
            self._once.add(text)
            self.talk.say(text)

    def _decided(self, looked: Looked, seen: Seen) -> Event | None:
        verdict, why = looked.judgement.verdict, "; ".join(looked.judgement.reasons())
        if verdict == "INCONCLUSIVE":
            return ("inconclusive", why) if looked.decisive else None
        self.talk.verdict(f"{self.plan.canary}: {verdict}{': ' + why if why else ''}")
        return ("passed" if verdict == "PASS" else "failed"), why

    def _person(self) -> Event | None:
        event = self.asked()
        return None if event is None else (event, "asked for by a person")

    def _timer(self) -> Event | None:
        event = due(self.state, self.plan, now_s=self.clock())
        if event is None:
            return None
        last = self.watch.last
        still = "still too little to tell" if last is None else "; ".join(last.judgement.reasons())
        return event, {"timed_out": "it took too long", "waited_out": still}.get(event, "")

    def _move(self, event: EventName, why: str) -> None:
        now_s = self.clock()
        try:
            following = advance(self.state, event, self.plan, at_s=now_s, why=why)
        except Refused as error:
            self._pending = None
            self.talk.say(str(error))
            return
        if following == self.state:
            return
        # A pass that could not be kept is not to be taken later, when nobody has looked since.
        self._pending = None if event in ("passed", "inconclusive") else (event, why)
        self._bad = following.name == "rolling_back"
        self.journal.append(moved(following, event))
        self._pending, self._bad = None, False
        self.watch.unopposed |= event == "lost"
        self.state = following
        self._todo = list(actions(following, self.plan))
        self.talk.say(telling.line(following, self.plan))
        if following.over:
            self.talk.verdict(telling.line(following, self.plan))
        self._tell()

    def _keep_safe(self, seen: Seen) -> None:
        """Take the requests of a canary that is not to have them, although no line can be kept of it.

        This is the one thing that is done without: once lines can be kept again, the weights are seen not to
        be as they were set, and that leads to the same state.
        """
        baseline = seen.row(self.plan.baseline)
        if (self._bad or self.watch.failing) and baseline is not None and baseline.answers:
            try:
                self.admin.weigh(shares(seen, self.plan, 0.0))
            except (Away, Declined) as error:
                self.talk.say(str(error))

    def _tell_sometimes(self) -> None:
        now_s = self.clock()
        self.talk.progress(telling.progress(self.state, self.plan, self.watch, now_s))
        if self._told_s is None or self.steady() - self._told_s >= TELL_EVERY_S:
            self._tell()

    def _tell(self) -> None:
        self._told_s = self.steady()
        try:
            self.admin.tell(telling.document(self.state, self.plan, self.watch, self.clock()))
        except (Away, Declined):
            return  # Only for show; that nobody answers is seen at the next look.
