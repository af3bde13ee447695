"""The changes that are tried: where each makes sense, and two of them together."""

from __future__ import annotations

from fakes.planning import ask, cache_of, facts, plan, shape

from serving.facts.load import overheads
from serving.planner.advise import advise
from serving.planner.ask import Lengths
from serving.planner.changes import SOURCES, Change
from serving.planner.plan import Plan
from serving.planner.weights import Ranks


def flags(found: Plan) -> set[str]:
    return {change.flags for source in SOURCES for change in source(found, facts().choices)}


def change(flags: str, risk: str, grade: int, **asked: object) -> Change:
    return Change(flags.strip("-"), flags, f"keys of {flags}", risk, grade, ask(**asked))


def test_a_shorter_limit_is_no_gain_where_all_fits_for_blocks_are_shared() -> None:
    found = advise(plan(users=20), facts().choices, overheads())
    assert found
    assert not any("--max-model-len" in advice.flags for advice in found)


def test_requests_that_the_limit_refuses_are_given_room() -> None:
    short = plan(max_model_len=2048, lengths=Lengths(3000, 500, 3500, 4000))
    assert [limit.name for limit in short.limits if limit.blocks] == ["max_model_len"]
    [room] = (a for a in advise(short, facts().choices, overheads()) if a.fits)
    assert room.flags == "--max-model-len 4096"


def test_the_split_of_experts_stays_where_devices_are_added() -> None:
    experts = plan(shape("Qwen/Qwen3-30B-A3B"), ranks=Ranks(2, expert=True))
    wider = [a for a in advise(experts, facts().choices, overheads()) if "parallel" in a.keys]
    assert wider
    assert all("expert: true" in advice.keys for advice in wider)


def test_a_cpu_has_no_more_devices_and_no_formats_of_gpus() -> None:
    small = shape("Qwen/Qwen3-0.6B")
    found = flags(plan(small, device="cpu", gpu=None, memory_bytes=2**33, kv_cache_bytes=2**31))
    assert "--kv-cache-dtype fp8" in found
    assert not any("parallel" in flag or "int4" in flag or "--quantization" in flag for flag in found)


def test_two_changes_are_one_with_both_flags_and_both_risks() -> None:
    first = change("--a 1", "medium: of a", 2)
    both = first.then(change("--b 2", "none to answers; longer requests are refused", 0, users=7))
    assert (both.flags, both.keys) == ("--a 1 --b 2", "keys of --a 1 and keys of --b 2")
    assert (both.risk, both.grade) == ("medium: of a; longer requests are refused", 2)
    assert both.ask.users == 7
    none = change("--a 1", "none to answers", 0).then(change("--b 2", "none to answers beyond rounding", 0))
    assert none.risk == "none to answers"


def test_what_is_no_flag_is_not_run_into_one() -> None:
    both = change("a checkpoint in awq as --model", "low", 1).then(change("--b 2", "low", 1))
    assert both.flags == "a checkpoint in awq as --model and --b 2"
    assert both.risk == "low"


def test_a_quantized_cache_is_not_quantized_again() -> None:
    assert not any("--kv-cache-dtype" in flag for flag in flags(plan(cache=cache_of("fp8"))))


def test_a_limit_above_the_models_own_is_brought_down_to_it() -> None:
    beyond = plan(max_model_len=200_000)
    assert not beyond.fits
    assert "--max-model-len 131072" in flags(beyond)
    [back] = (a for a in advise(beyond, facts().choices, overheads()) if "--max-model-len" in a.flags)
    assert back.fits
