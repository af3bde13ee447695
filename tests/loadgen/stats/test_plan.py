from dataclasses import asdict

from loadgen.stats.plan import RunPlan, ServerView, Slo


def test_a_server_view_that_was_never_filled_knows_nothing_rather_than_zero():
    empty = asdict(ServerView())

    assert empty.pop("cache_config") == empty.pop("prompt_tokens_by_source") == {}
    assert empty.pop("acceptance_by_position") == ()
    assert set(empty.values()) == {None}


def test_a_plan_without_objectives_asks_for_none():
    assert RunPlan(arrival="closed", intended=None).slo == Slo(ttft_s=None, tpot_s=None, e2e_s=None)
