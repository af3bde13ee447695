"""Binding: one port for all, and words where it cannot be had."""

from __future__ import annotations

import socket

import pytest

from serving.errors import Failed
from serving.gateway.sockets import bind, close, url_of


def test_several_processes_get_sockets_of_one_port() -> None:
    sets = bind("127.0.0.1", 0, "port", sets=3)
    ports = {one.getsockname()[1] for some in sets for one in some}
    assert len(sets) == 3
    assert len(ports) == 1
    for some in sets:
        close(some)


@pytest.mark.parametrize("sets", [1, 2])
def test_a_port_that_another_has_is_not_shared_with_it(sets: int) -> None:
    # The other would let us: it set SO_REUSEPORT, as another teapot does.
    (theirs,) = bind("127.0.0.1", 0, "port", sets=1)
    other = socket.socket()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    other.bind(("127.0.0.1", 0))
    other.listen()
    for taken in (theirs[0], other):
        port = taken.getsockname()[1]
        with pytest.raises(Failed, match=f"port {port} on 127.0.0.1 is in use"):
            bind("127.0.0.1", port, "port", sets=sets)
        taken.close()


def test_a_name_that_is_nobodys_is_said_with_the_host_key() -> None:
    with pytest.raises(Failed) as caught:
        bind("no-such-host.invalid", 0, "port")
    assert caught.value.problems[0].where == "gateway.host"


def test_an_address_is_spelled_for_clients() -> None:
    (sockets,) = bind("127.0.0.1", 0, "port")
    port = sockets[0].getsockname()[1]
    assert url_of("127.0.0.1", sockets[0], tls=False) == f"http://127.0.0.1:{port}"
    assert url_of("::1", sockets[0], tls=True) == f"https://[::1]:{port}"
    close(sockets)
