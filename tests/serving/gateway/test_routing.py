"""Which backend a request goes to, against backends and times set by hand."""

from __future__ import annotations

from collections import Counter

from serving.gateway.backends import Backend, BackendSet, Revision, Role
from serving.gateway.policies.policy import Ask
from serving.gateway.routing import Router
from serving.gateway.routing_settings import RoutingSettings

ANY: tuple[Role, ...] = ("any",)
ASK = Ask()


def made(*backends: Backend, settings: RoutingSettings | None = None) -> Router:
    several = BackendSet()
    for backend in backends:
        several.add(backend)
    return Router(several, settings or RoutingSettings(slow_start_s=0))


def only(router: Router) -> Revision:
    (revision,) = router.backends.revisions()
    return revision


def backend(name: str, in_flight: int = 0, state: str = "ready", revision: str = "main") -> Backend:
    return Backend(name, state=state, in_flight=in_flight, revision=revision)


def test_the_least_busy_ready_backend_is_chosen() -> None:
    router = made(backend("a", 3), backend("b", 1), backend("c", 0, "starting"))
    assert router.choose(only(router), ANY, ASK, 0).url == "b"


def test_of_equals_the_first_is_chosen() -> None:
    router = made(backend("a", 1), backend("b", 1))
    assert router.choose(only(router), ANY, ASK, 0).url == "a"


def test_no_backend_is_chosen_when_none_is_ready() -> None:
    router = made(backend("a", 0, "starting"), backend("b", 0, "draining"), backend("c", 0, "down"))
    assert router.choose(only(router), ANY, ASK, 0) is None
    assert router.revision(ASK) is None


def test_a_backend_that_was_tried_is_not_chosen_again() -> None:
    first, second = backend("a"), backend("b", 9)
    router = made(first, second)
    assert router.choose(only(router), ANY, ASK, 0, [first]) is second
    assert router.choose(only(router), ANY, ASK, 0, [first, second]) is None


def test_a_backend_of_another_role_is_not_chosen() -> None:
    prefill, decode = backend("p"), backend("d", 9)
    prefill.role, decode.role = "prefill", "decode"
    router = made(prefill, decode)
    assert router.choose(only(router), ("any", "decode"), ASK, 0) is decode
    assert router.choose(only(router), ("prefill",), ASK, 0) is prefill


def test_a_backend_that_refused_rests_and_is_used_again_later() -> None:
    first, second = backend("a"), backend("b", 5)
    router = made(first, second)
    router.rest(first, 10, 2)
    assert router.choose(only(router), ANY, ASK, 11) is second
    assert router.choose(only(router), ANY, ASK, 12) is first


def test_if_every_backend_rests_they_are_tried_all_the_same() -> None:
    first, second = backend("a"), backend("b", 5)
    router = made(first, second)
    router.rest(first, 10, 2)
    router.rest(second, 10, 2)
    assert router.choose(only(router), ANY, ASK, 11) is first


def test_a_backend_that_came_back_gets_its_full_share_by_and_by() -> None:
    old, back = backend("old", 4), backend("back", 0, "down")
    router = made(old, back, settings=RoutingSettings(slow_start_s=10))
    assert router.choose(only(router), ANY, ASK, 0) is old
    back.state, back.in_flight = "ready", 1
    # At 100 s it is seen to be back: one request of its own already counts as many.
    assert router.choose(only(router), ANY, ASK, 100) is old
    assert router.choose(only(router), ANY, ASK, 110) is back


def test_requests_are_spread_by_the_weights_of_revisions() -> None:
    router = made(backend("a", revision="old"), backend("b", revision="new"))
    router.backends.set_weights({"old": 9, "new": 1})
    counts = Counter(router.revision(ASK).name for _ in range(1000))
    assert abs(counts["new"] - 100) <= 2


def test_the_first_hundred_requests_already_reach_a_canary_of_one_in_a_hundred() -> None:
    router = made(backend("a", revision="old"), backend("b", revision="new"))
    router.backends.set_weights({"old": 99, "new": 1})
    assert 1 <= Counter(router.revision(ASK).name for _ in range(100))["new"] <= 2


def test_a_revision_without_a_share_serves_nobody() -> None:
    router = made(backend("a", state="down", revision="old"), backend("b", revision="new"))
    router.backends.set_weights({"old": 1, "new": 0})
    assert router.revision(ASK) is None


def test_a_revision_that_cannot_answer_lends_its_share() -> None:
    router = made(backend("a", state="down", revision="old"), backend("b", revision="new"))
    router.backends.set_weights({"old": 9, "new": 1})
    assert {router.revision(ASK).name for _ in range(20)} == {"new"}


def test_a_sticky_key_stays_with_its_revision_and_the_share_is_kept_over_keys() -> None:
    settings = RoutingSettings(sticky="key")
    router = made(backend("a", revision="old"), backend("b", revision="new"), settings=settings)
    router.backends.set_weights({"old": 1, "new": 1})
    keys = [f"key-{number}" for number in range(400)]
    before = {key: router.revision(Ask(key=key)).name for key in keys}
    assert before == {key: router.revision(Ask(key=key)).name for key in keys}
    assert 150 < Counter(before.values())["new"] < 250
    router.backends.set_weights({"old": 1, "new": 3})
    after = {key: router.revision(Ask(key=key)).name for key in keys}
    assert all(after[key] == "new" for key in keys if before[key] == "new")


def test_a_sticky_session_stays_whatever_its_key() -> None:
    settings = RoutingSettings(sticky="session")
    router = made(backend("a", revision="old"), backend("b", revision="new"), settings=settings)
    ask = Ask(session="s", key="k")
    assert len({router.revision(ask._replace(key=key)).name for key in "abcdefgh"}) == 1


def test_a_proven_revision_steps_in_without_a_share_where_no_other_can_answer() -> None:
    old = backend("a", revision="old")
    router = made(old, backend("b", revision="new"), backend("c", revision="away"))
    router.backends.set_weights({"old": 1})
    router.backends.let_step_in({"new"})
    assert router.first(ASK)[0].name == "old"
    old.state = "down"
    chosen, stands_in = router.first(ASK)
    assert (chosen.name, stands_in) == ("new", True)
    assert router.revision(ASK, without=["new"]) is None


def test_only_requests_that_were_due_to_a_revision_that_cannot_answer_count_as_lent() -> None:
    router = made(backend("a", revision="old"), backend("b", state="down", revision="new"))
    router.backends.set_weights({"old": 3, "new": 1})
    firsts = [router.first(ASK) for _ in range(400)]
    assert {chosen.name for chosen, _ in firsts} == {"old"}
    assert abs(sum(stands_in for _, stands_in in firsts) - 100) <= 2
