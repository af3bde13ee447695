"""Rollouts that never were: requests drawn by chance, and the real machine and gate deciding about them.

Owns: how two revisions are made up, and one simulated rollout. Knows nothing about real engines. Everything
is drawn from one seed. Requests arrive as a Poisson process, so the counts of histograms' buckets are
independent Poisson numbers; latencies and lengths are lognormal; both sides share slow and fast spells, and
each has its own.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

from deploy.rollout.evidence import (
    HISTOGRAMS,
    PARTS,
    Evidence,
    Health,
    Histogram,
    Quality,
    Side,
    Standing,
)
from deploy.rollout.gate import Judgement, judge, next_look
from deploy.rollout.machine import EventName, State, StateName, advance, due
from deploy.rollout.plan import Plan
from serving.gateway.metrics import BUCKETS_S

_NORMAL = NormalDist()
_BYTES = 2.0 * 1024**3
SECONDS = (*BUCKETS_S, math.inf)
"""The gateway's buckets."""
TOKENS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, math.inf)
"""vLLM's, for a context of 2048."""
_LASTS = 0.5
"""How much of an own spell is left at the next look."""
_PATH = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Lognormal:
    """A distribution by its median and the deviation of its logarithm."""

    median: float
    sigma: float

    def times(self, factor: float) -> Lognormal:
        """All values so many times as large."""
        return replace(self, median=self.median * factor)

    def above(self, bound: float) -> float:
        """The share of values above a bound."""
        return 1 - _NORMAL.cdf(math.log(bound / self.median) / self.sigma)

    def buckets(self, bounds: Sequence[float]) -> list[tuple[float, float]]:
        """Of each bucket its share of the values, and their mean."""
        found, below, below_weighted = [], 0.0, 0.0
        for bound in bounds:
            z = math.inf if math.isinf(bound) else math.log(bound / self.median) / self.sigma
            up_to, weighted = (1.0, 1.0) if math.isinf(z) else (_NORMAL.cdf(z), _NORMAL.cdf(z - self.sigma))
            share = up_to - below
            mean = self.median * math.exp(self.sigma**2 / 2) * (weighted - below_weighted)
            found.append((share, mean / share if share > 1e-12 else 0.0))
            below, below_weighted = up_to, weighted
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How a revision behaves. Shares are of its requests."""

    ttft_s: Lognormal = Lognormal(0.2, 0.6)
    tpot_s: Lognormal = Lognormal(0.03, 0.25)
    errors: float = 0.001
    aborts: float = 0.01
    failed_tries: float = 0.0
    stopped: float = 0.7
    """Of answers: ended by a stop token; the rest by length."""
    prompt: Lognormal = Lognormal(300, 1.0)
    asked: Lognormal = Lognormal(400, 0.5)
    answer: Lognormal = Lognormal(120, 0.8)
    failures: int = 0
    ready: bool = True
    in_effect: bool | None = True
    leak: float = 0.0
    """Growth of memory within ten minutes."""
    quality: Standing = "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Two revisions under load. `bad` is how the canary behaves from the step with weight `bad_from` on."""

    good: Behaviour = field(default_factory=Behaviour)
    bad: Behaviour | None = None
    bad_from: float = 0.0
    requests_per_s: float = 20.0
    spell: float = 0.1
    """Deviation of the logarithm of latencies that both sides share, from look to look."""
    own_spell: float = 0.03
    """And of each side for itself."""
    slos_s: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: {"ttft": (0.5, 0.9), "tpot": (0.05, 0.95)}
    )
    """Each objective's bound, and the share of requests that is to meet it."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a simulated rollout went."""

    end: StateName
    step: int
    """The step it ended in, from 0."""
    took_s: float
    requests: int
    """Of the canary, in the last window."""
    last: Judgement | None


def simulate(world: World, plan: Plan, seed: int) -> Course:
    """One rollout, from the first change of weights until it is promoted, goes back, or asks."""
    rng = random.Random(seed)
    now_s = 0.0
    state = advance(State(name="moving", step=0), "moved", plan, at_s=now_s)
    window, last_s, decided = _Window(world, plan, state), None, 0
    earlier: Side | None = None
    seen: Evidence | None = None
    judgement: Judgement | None = None
    while state.name in ("baking", "holding"):
        now_s += plan.look_every_s
        window.go_on(rng, plan.look_every_s)
        look = next_look(state, plan, last_s=last_s, decided=decided, now_s=now_s)
        event: EventName | None = None
        if look is not None:
            seen = window.evidence(now_s, earlier)
            judgement = judge(seen, plan, look)
            last_s, decided = now_s, decided + judgement.decided
            event = _EVENTS[judgement.verdict] if look.pass_tail or judgement.verdict == "FAIL" else None
        event = event if event in ("passed", "failed") else due(state, plan, now_s=now_s) or event
        if event is None:
            continue
        step = state.step
        state = advance(state, event, plan, at_s=now_s)
        if state.step != step:
            earlier = seen.baseline if seen is not None else earlier
            state = advance(state, "moved", plan, at_s=now_s)
            window, last_s, decided = _Window(world, plan, state), None, 0
    return Course(state.name, state.step or 0, now_s, seen.canary.n if seen else 0, judgement)


_EVENTS: Mapping[str, EventName] = {"PASS": "passed", "FAIL": "failed", "INCONCLUSIVE": "inconclusive"}


class _Window:
    """One step's counts so far."""

    def __init__(self, world: World, plan: Plan, state: State) -> None:
        step = plan.steps[state.step or 0]
        bad = world.bad if step.weight_ratio >= world.bad_from else None
        self._world = world
        self._start_s = state.window_s or 0.0
        self._skip_s = plan.settle_s
        self._weight = step.weight_ratio
        self._canary = bad or world.good
        self._spells = [0.0, 0.0]
        self._parts: list[tuple[Side, Side]] = []
        self._memory = [_BYTES]

    def go_on(self, rng: random.Random, for_s: float) -> None:
        """Let time pass; what comes while weights settle does not count."""
        counted_s, self._skip_s = max(0.0, for_s - self._skip_s), max(0.0, self._skip_s - for_s)
        world, n = self._world, self._world.requests_per_s * counted_s
        common = rng.gauss(0, world.spell)
        for at in (0, 1):
            fresh = rng.gauss(0, world.own_spell) * math.sqrt(1 - _LASTS**2)
            self._spells[at] = _LASTS * self._spells[at] + fresh
        mine, theirs = (math.exp(common + spell) for spell in self._spells)
        canary = _drawn(rng, self._canary, n * self._weight, mine, world)
        self._parts.append((canary, _drawn(rng, world.good, n * (1 - self._weight), theirs, world)))
        grown = self._memory[-1] + _BYTES * self._canary.leak * for_s / 600
        self._memory.append(grown + rng.gauss(0, 1e-4) * _BYTES)

    def evidence(self, now_s: float, earlier: Side | None) -> Evidence:
        """What a look sees. `earlier`: the baseline before, for when it gets nothing any more."""
        how, concurrent = self._canary, self._weight < 1
        every = -(-len(self._parts) // PARTS)
        parts = [self._parts[at : at + every] for at in range(0, len(self._parts), every)]
        sides = tuple((_together(c for c, _ in part), _together(b for _, b in part)) for part in parts)
        canary, baseline = _together(c for c, _ in sides), _together(b for _, b in sides)
        return Evidence(
            start_s=self._start_s,
            end_s=now_s,
            canary=canary,
            baseline=baseline if concurrent else earlier,
            concurrent=concurrent,
            parts=sides,
            health=Health(
                failures=how.failures,
                ready=1 if how.ready else 0,
                engines=1,
                modes={"prefix_cache": how.in_effect},
                memory_bytes={"http://127.0.0.1:9000": tuple(self._memory)},
            ),
            targets={"availability": 0.995, **{slo: share for slo, (_, share) in self._world.slos_s.items()}},
            quality=Quality(how.quality),
        )


def _drawn(rng: random.Random, how: Behaviour, n: float, slower: float, world: World) -> Side:
    """What happens to about n requests while latencies are so many times as large."""
    whole = 1 - how.errors - how.aborts
    ttft, tpot = how.ttft_s.times(slower), how.tpot_s.times(slower)
    judged = {"availability|false": how.errors, "availability|true": whole}
    for slo, latency in (("ttft", ttft), ("tpot", tpot)):
        if slo in world.slos_s:
            missed = latency.above(world.slos_s[slo][0])
            judged |= {f"{slo}|false": missed, f"{slo}|true": 1 - missed}
    outcomes = {"upstream_error": how.errors, "client_gone": how.aborts, "ok": whole}
    finished = {"stop": whole * how.stopped, "length": whole * (1 - how.stopped)}

    def counts(shares: Mapping[str, float]) -> dict[str, float]:
        return {key: poisson(rng, n * share) for key, share in shares.items()}

    def histogram(values: Lognormal, bounds: Sequence[float]) -> Histogram:
        buckets = [(poisson(rng, n * share), mean) for share, mean in values.buckets(bounds)]
        total = math.fsum(count * mean for count, mean in buckets)
        return Histogram(tuple(bounds), tuple(float(count) for count, _ in buckets), total)

    return Side(
        revision="",
        requests=counts({f"{_PATH}|{outcome}": share for outcome, share in outcomes.items()}),
        finished=counts(finished),
        judged=counts(judged),
        failed_tries=poisson(rng, n * how.failed_tries),
        first_byte=histogram(ttft, SECONDS),
        tpot=histogram(tpot, SECONDS),
        prompt_tokens=histogram(how.prompt, TOKENS),
        asked_tokens=histogram(how.asked, TOKENS),
        answer_tokens=histogram(how.answer, TOKENS),
    )


def _together(sides: Iterable[Side]) -> Side:
    """Several parts of a window as one."""
    every = tuple(sides)

    def counts(name: str) -> dict[str, float]:
        keys = getattr(every[0], name)
        return {key: math.fsum(getattr(side, name)[key] for side in every) for key in keys}

    def histogram(name: str) -> Histogram:
        each = [getattr(side, name) for side in every]
        summed = tuple(map(math.fsum, zip(*(h.counts for h in each), strict=True)))
        return Histogram(each[0].bounds, summed, math.fsum(h.total for h in each))

    histograms: dict[str, Any] = {name: histogram(name) for name in HISTOGRAMS}
    return Side(
        revision=every[0].revision,
        failed_tries=math.fsum(side.failed_tries for side in every),
        requests=counts("requests"),
        finished=counts("finished"),
        judged=counts("judged"),
        **histograms,
    )


def poisson(rng: random.Random, mean: float) -> int:
    """A Poisson number; of large means by the normal approximation."""
    if mean <= 0:
        return 0
    if mean > 50:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    limit, product, count = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        count += 1
    return count
