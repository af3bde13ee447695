"""What crosses between the parent and its workers."""

from __future__ import annotations

import pickle

from serving.connectors.nixl import Nixl
from serving.gateway.backends import Backend
from serving.gateway.mirror import Report, add_up, put, take
from serving.gateway.state import GatewayState, ShadowShare


def parent() -> GatewayState:
    state = GatewayState("demo", phase="ready")
    for url, revision in (("http://a", "main"), ("http://b", "new")):
        state.backends.add(Backend(url, revision=revision, state="ready"))
    state.backends.set_weights({"main": 3.0, "new": 1.0})
    state.shadow = ShadowShare("new", 0.5)
    return state


def test_a_worker_lets_the_same_revisions_step_in_and_tells_clients_the_same_time_to_wait() -> None:
    state, worker = parent(), GatewayState("demo")
    state.backends.let_step_in({"new"})
    state.legs, state.again_in_s = Nixl.legs, 90
    put(pickle.loads(pickle.dumps(take(state))), worker)
    assert worker.backends.steps_in == {"new"}
    assert (worker.legs, worker.again_in_s) == (Nixl.legs, 90)


def test_a_worker_decides_as_its_parent_would() -> None:
    state, worker = parent(), GatewayState("demo")
    put(pickle.loads(pickle.dumps(take(state))), worker)
    assert worker.document() == state.document()
    assert worker.shadow == state.shadow
    assert worker.refuses() is None


def test_a_backend_that_stays_keeps_its_requests_and_one_that_goes_is_down() -> None:
    state, worker = parent(), GatewayState("demo")
    put(take(state), worker)
    stays, goes = worker.backends
    stays.in_flight = goes.in_flight = 2
    first, second = state.backends
    first.state = "draining"
    state.backends.remove(second)
    put(take(state), worker)
    assert list(worker.backends) == [stays]
    assert (stays.state, stays.in_flight, goes.state) == ("draining", 2, "down")


def test_a_gateway_without_backends_has_a_snapshot_too() -> None:
    worker = GatewayState("demo")
    put(take(GatewayState("demo", phase="draining")), worker)
    assert worker.phase == "draining"


def test_the_parent_shows_what_all_workers_do_together() -> None:
    state = parent()
    reports = [Report(3, 1, (("http://a", 2), ("http://gone", 1)), ()), Report(1, 2, (("http://a", 1),), ())]
    assert add_up(reports, state) == 3
    assert state.in_flight == 4
    assert [backend.in_flight for backend in state.backends] == [3, 0]
    assert add_up([], state) == 0
    assert state.in_flight == 0
