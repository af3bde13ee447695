from __future__ import annotations

import pytest

from serving.gateway.backends import Backend, BackendSet


def test_a_request_is_in_flight_only_while_it_is_served_even_if_it_fails() -> None:
    backend = Backend("http://127.0.0.1:9")

    def fail() -> None:
        with backend.serving():
            assert backend.in_flight == 1
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert backend.in_flight == 0


def test_backends_are_grouped_by_revision_and_revisions_share_equally() -> None:
    a, b, c = Backend("a", revision="old"), Backend("b", revision="new"), Backend("c", revision="old")
    backends = BackendSet()
    for backend in (a, b, c):
        backends.add(backend)
    old, new = backends.revisions()
    assert (old.name, old.weight, old.backends) == ("old", 0.5, (a, c))
    assert (new.name, new.weight, new.backends) == ("new", 0.5, (b,))


def test_a_removed_backend_is_forgotten_and_its_twin_is_not() -> None:
    first, twin = Backend("a"), Backend("a")
    backends = BackendSet()
    backends.add(first)
    backends.add(twin)
    backends.remove(first)
    assert list(backends) == [twin]
    assert len(backends) == 1
    assert next(iter(backends)) is twin
