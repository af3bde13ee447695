"""What a change should gain, by the plan made again with it and by the engine's own step.

Owns: the measures that are predicted, and the bounds of each. Knows nothing about levers, nor where a plan's
question comes from (`question`). Gains are ratios of now to then, above 1 where it is better, whatever the
measure.

The bounds of a step's time rest on what is not known of it: a step takes longer than its floor, and the rest
either stays as it is (the host's work) or shrinks as the floor does (a share of the device not reached). In a
larger batch it may also grow with the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from deploy.diagnose.evidence import Evidence, StepFloor
from serving.planner.plan import Plan, speed
from serving.planner.roofline import decode_floor
from serving.planner.speculation import measured_tokens

KV_TOKENS = "kv_tokens"
USERS = "users"
TPOT = "tpot_s"
TTFT = "ttft_s"
OUTPUT = "output_tokens_per_s"
REQUESTS = "requests_per_s"
NAMES = {
    KV_TOKENS: "KV tokens",
    USERS: "requests at once",
    TPOT: "TPOT",
    TTFT: "TTFT",
    OUTPUT: "output tokens/s",
    REQUESTS: "requests/s",
}


@dataclass(frozen=True, slots=True)
class Gain:
    """A ratio of one measure, bounded by `low` and `high`; above 1 is better."""

    measure: str
    low: float
    high: float
    how: str
    """The formula, or the measurement it is from."""


def step_floor(
    plan: Plan, evidence: Evidence, *, batch: float | None = None, tokens: int = 1
) -> StepFloor | None:
    """The floor of a decode step at the window's batch and lengths; None where they or the rates are not
    known. `tokens`: of each request in the step, its drafts among them."""
    served, lengths = speed(plan.ask), evidence.lengths
    at_once = batch if batch is not None else evidence.decoding
    if served is None or lengths is None or at_once is None:
        return None
    context = round(lengths[0] + lengths[1] / 2)
    found = decode_floor(served, batch=max(1, round(at_once)), context=context, tokens_each=tokens)
    return StepFloor(memory_s=found.memory_s, compute_s=found.compute_s)


def effects(before: Plan, after: Plan, evidence: Evidence) -> tuple[Gain, ...]:
    """What the plan says that a change does, measure by measure; nothing of those it leaves as they are."""
    grown = _grown(before, after, evidence)
    found = [_kv_tokens(before, after), _users(before, after, evidence)]
    found += (
        [_tpot(before, after, evidence)]
        if grown == 1
        else [_output(before, after, evidence, grown), _ttft(evidence)]
    )
    return tuple(gain for gain in found if gain is not None)


def drafted(
    plan: Plan, evidence: Evidence, *, now: int, then: int, accepted: tuple[float, ...]
) -> Gain | None:
    """TPOT with `then` drafted tokens a step in place of `now` (0: none), by shares of drafts whose token at
    each position was accepted.

    Formula: E * step / E' * step', with E the tokens of a step (docs/planner.md). A look-up costs nothing.
    """
    floor, other = step_floor(plan, evidence, tokens=now + 1), step_floor(plan, evidence, tokens=then + 1)
    if floor is None or other is None or not evidence.tpot_s:
        return None
    made, makes = measured_tokens(accepted[:now]), measured_tokens(accepted[:then])
    steps = _step_ratios(evidence.tpot_s * made, floor, other)
    ratios = sorted(makes / made / step for step in steps)
    how = (
        f"{makes:.2f} tokens a step instead of {made:.2f}, in steps of {then + 1} tokens instead of {now + 1}"
    )
    return Gain(TPOT, ratios[0], ratios[-1], how)


def room(plan: Plan, evidence: Evidence) -> int:
    """Requests of the window's own lengths that an engine holds at once."""
    lengths = evidence.lengths
    tokens = round(sum(lengths)) if lengths else plan.ask.max_model_len
    return min(plan.ask.batch.max_num_seqs, plan.pool.users(plan.capacity.blocks, tokens))


def _grown(before: Plan, after: Plan, evidence: Evidence) -> float:
    """By how much more requests run at once: as the room for them grows, and at most all that there are."""
    now, held = evidence.running_mean or 0.0, room(before, evidence)
    then = room(after, evidence)
    if now <= 0 or held <= 0 or then == held:
        return 1.0
    wanted = now + (evidence.waiting_mean or 0.0)
    return min(wanted, now * then / held) / now


def _kv_tokens(before: Plan, after: Plan) -> Gain | None:
    now, then = before.capacity.tokens, after.capacity.tokens
    if now == then or not now:
        return None
    ends = [then / now]
    if least := _least(before):
        ends.append(_least(after) / least)
    return Gain(KV_TOKENS, min(ends), max(ends), f"the plan made again: {now:,} -> {then:,} tokens")


def _users(before: Plan, after: Plan, evidence: Evidence) -> Gain | None:
    now, then = room(before, evidence), room(after, evidence)
    if now == then or not now or evidence.lengths is None:
        return None
    how = f"the plan made again: {now} -> {then} of {sum(evidence.lengths):.0f} tokens, as seen"
    return Gain(USERS, then / now, then / now, how)


def _least(plan: Plan) -> int:
    """Tokens if every overhead is at the upper end of its band."""
    return plan.pool.capacity(plan.budget.low_bytes, plan.ask.max_model_len).tokens


def _tpot(before: Plan, after: Plan, evidence: Evidence) -> Gain | None:
    floor, other = step_floor(before, evidence), step_floor(after, evidence)
    if floor is None or other is None or floor == other or not evidence.tpot_s:
        return None
    ratios = sorted(1 / step for step in _step_ratios(evidence.tpot_s, floor, other))
    return Gain(TPOT, ratios[0], ratios[-1], _floors(floor, other, evidence.tpot_s))


def _output(before: Plan, after: Plan, evidence: Evidence, grown: float) -> Gain | None:
    """Tokens a second of a larger batch; the time in which prompts are computed gains nothing (Amdahl)."""
    batch = evidence.decoding
    if batch is None or not evidence.tpot_s or evidence.prefill_s is None or not evidence.decode_s:
        return None
    floor, other = step_floor(before, evidence), step_floor(after, evidence, batch=batch * grown)
    prompts = evidence.prefill_s / (evidence.prefill_s + evidence.decode_s)
    steps = [1.0, grown]
    if floor and other:
        # The third: what is above the floor grows with the batch, as the host's work for each request does.
        stays, goes = _step_ratios(evidence.tpot_s, floor, other)
        steps = [stays, goes, stays + (grown - 1) * (1 - min(floor.seconds / evidence.tpot_s, 1.0))]
    ratios = sorted(1 / (prompts + (1 - prompts) / (grown / step)) for step in steps)
    how = f"{batch * grown:.0f} requests in a step instead of {batch:.0f}"
    return Gain(
        OUTPUT,
        ratios[0],
        ratios[-1],
        how + (f"; {_floors(floor, other, evidence.tpot_s)}" if floor and other else ""),
    )


def _ttft(evidence: Evidence) -> Gain | None:
    if evidence.ttft_s is None or evidence.queue_s is None or evidence.ttft_s <= evidence.queue_s:
        return None
    return Gain(
        TTFT, 1.0, evidence.ttft_s / (evidence.ttft_s - evidence.queue_s), "at best nothing queues any more"
    )


def _step_ratios(step_s: float, floor: StepFloor, other: StepFloor) -> tuple[float, float]:
    """How long the step then takes of what it takes now: the rest of it stays, or goes with the floor."""
    known = min(floor.seconds, step_s)
    return (step_s - known + other.seconds * known / floor.seconds) / step_s, other.seconds / floor.seconds


def _floors(floor: StepFloor, other: StepFloor, step_s: float) -> str:
    return (
        f"the floor of a step {floor.seconds * 1000:.2f} -> {other.seconds * 1000:.2f} ms, "
        f"of {step_s * 1000:.1f} ms that it takes"
    )
