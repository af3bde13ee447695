"""The ranking: what is ready first, in the guide's order, with the reason for the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fakes.diagnosed import ask_of

from deploy.diagnose.advice import Planned, Ranked, elsewhere, ranked
from deploy.diagnose.evidence import Evidence, Speculated
from deploy.diagnose.levers import LEVERS, Seen
from deploy.diagnose.rules import Bound
from serving.errors import UsageError
from serving.facts.load import overheads
from serving.planner.ask import Ask
from serving.planner.plan import Plan, make_plan

ENGINE = Evidence(
    source="engine", seconds=60, requests=120, running_mean=6.0, waiting_mean=6.0, busy_ratio=1.0,
    queue_s=1.0, prefill_s=1.0, decode_s=2.0, ttft_s=2.0, tpot_s=0.1, prompt_tokens=120 * 256,
    output_tokens=120 * 256, max_num_seqs=8, cache_config={"cache_dtype": "auto"},
)  # fmt: skip
TIGHT = "device: cpu, max_model_len: 1024, max_num_seqs: 8, kv_cache_memory: 46MiB"


def plan_of(engine: str = TIGHT, **rates: float) -> Plan:
    ask: Ask = ask_of(f"engine: {{{engine}}}", **({"bandwidth": 10.0, "flops": 1000.0} | rates))
    return make_plan(ask, overheads())


def by_id(bound: Bound, seen: Seen, planned: Planned | None = None) -> dict[str, Ranked]:
    return {each.lever.id: each for each in ranked(bound, seen, planned)}


def ids(bound: Bound, seen: Seen) -> list[str]:
    return [each.lever.id for each in ranked(bound, seen)]


def test_scaling_out_comes_after_what_needs_no_device() -> None:
    found = ids(Bound.KV_CAPACITY, Seen(ENGINE))
    assert (found[0], found[-1]) == ("kv-memory", "replicas")


def test_a_lever_that_is_pulled_already_comes_last_with_the_reason() -> None:
    last = ranked(Bound.KV_CAPACITY, Seen(replace(ENGINE, cache_config={"cache_dtype": "fp8"})))[-1]
    assert (last.lever.id, last.why_not_first) == ("kv-dtype", "the KV cache is fp8 already")
    assert last.gains == ()


def test_only_the_first_needs_no_reason_why_it_is_not() -> None:
    for bound in Bound:
        assert all(each.why_not_first for each in ranked(bound, Seen(ENGINE))[1:])


def test_what_risks_answers_stands_behind_what_does_not() -> None:
    found = by_id(Bound.KV_CAPACITY, Seen(ENGINE))
    assert found["kv-dtype"].why_not_first == "'more memory for the KV cache' puts no answer at risk"
    assert found["tensor"].why_not_first == "the guide puts 'more memory for the KV cache' before it"


def test_each_lever_is_either_offered_or_said_to_act_elsewhere() -> None:
    for bound in Bound:
        offered = set(ids(bound, Seen(ENGINE)))
        assert offered | {lever.id for lever, _ in elsewhere(bound)} == {lever.id for lever in LEVERS}
        assert offered.isdisjoint(lever.id for lever, _ in elsewhere(bound))


def test_what_the_planner_refuses_is_not_first_and_says_why() -> None:
    def refuse(fragment: Any) -> Plan:
        if "modes" in fragment:
            raise UsageError("9 heads do not divide by 2")
        return plan_of(TIGHT.replace("46MiB", "92MiB"))

    found = by_id(Bound.KV_CAPACITY, Seen(ENGINE, ask=plan_of().ask), Planned(plan_of(), refuse))
    assert found["kv-memory"].why_not_first is None
    assert found["kv-dtype"].why_not_first == "it cannot be had here: 9 heads do not divide by 2"


def test_what_lost_when_it_was_measured_here_is_not_first() -> None:
    more = plan_of(TIGHT.replace("46MiB", "92MiB"))
    planned = Planned(plan_of(), lambda _: more, {"kv-memory": "it lost when it was measured here: ..."})
    found = by_id(Bound.KV_CAPACITY, Seen(ENGINE, ask=plan_of().ask), planned)
    assert found["kv-memory"].why_not_first == "it lost when it was measured here: ..."
    assert found["kv-dtype"].why_not_first is None


def test_what_does_not_fit_says_so() -> None:
    too_small = plan_of(TIGHT.replace("46MiB", "8MiB"))
    found = by_id(Bound.KV_CAPACITY, Seen(ENGINE, ask=plan_of().ask), Planned(plan_of(), lambda _: too_small))
    assert "it does not fit: one request of 1,024 tokens needs" in (found["kv-memory"].why_not_first or "")


def test_what_is_predicted_to_gain_nothing_is_not_first() -> None:
    # Operations bind, at a rate that leaves nothing to gain from a second batch.
    slow, seats = plan_of(TIGHT.replace("46MiB", "460MiB"), flops=0.001), ENGINE
    more = plan_of(TIGHT.replace("46MiB", "460MiB").replace("seqs: 8", "seqs: 16"), flops=0.001)
    seen = Seen(replace(seats, tpot_s=1.08), ask=slow.ask)
    found = by_id(Bound.SEATS, seen, Planned(slow, lambda _: more))
    assert "predicted to gain too little" in (found["seats"].why_not_first or "")


def test_seats_that_the_cache_cannot_hold_are_not_offered_first() -> None:
    more = plan_of(TIGHT.replace("seqs: 8", "seqs: 16"))
    found = by_id(Bound.SEATS, Seen(ENGINE, ask=plan_of().ask), Planned(plan_of(), lambda _: more))
    assert found["seats"].why_not_first == "the KV cache holds no more than 3 such requests"


def test_twice_the_engines_are_at_best_twice_the_requests() -> None:
    plan = make_plan(ask_of("engine: {device: cuda}", gpu="l40s"), overheads())
    found = by_id(Bound.PREFILL, Seen(ENGINE, ask=plan.ask), Planned(plan, lambda _: plan))["replicas"]
    assert [(gain.measure, gain.low, gain.high) for gain in found.gains] == [("requests_per_s", 1.0, 2.0)]


def test_a_told_acceptance_predicts_speculation() -> None:
    plan = plan_of()
    found = by_id(Bound.DECODE, Seen(ENGINE, ask=plan.ask, acceptance=0.5), Planned(plan, lambda _: plan))
    [gain] = found["speculation"].gains
    assert gain.high == pytest.approx(1 + 0.5 + 0.25 + 0.125 + 0.0625)


def test_fewer_drafts_are_found_by_the_acceptance_of_each_position() -> None:
    plan = plan_of(flops=0.01)
    told = Speculated(acceptance_ratio=0.16, acceptance_length=1.65, positions=(0.5, 0.1, 0.05, 0.0))
    seen = Seen(
        replace(ENGINE, tpot_s=0.2, speculated=told),
        ask=plan.ask,
        speculative={"kind": "speculative", "method": "ngram", "tokens": 4, "prompt_lookup_max": 4},
    )
    # 2 * 134.5 M operations a token at 0.01 TFLOP/s: where operations bind, every draft costs its whole time.
    drafts = by_id(Bound.COMPUTE, seen, Planned(plan, lambda _: plan))["drafts"]
    assert "take the mode out" in (drafts.why_not_first or "")


@pytest.mark.parametrize("bound", [Bound.TRAFFIC])
def test_nothing_is_offered_where_nothing_binds(bound: Bound) -> None:
    assert ranked(bound, Seen(ENGINE)) == []
