from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving.engine.ports import free_port, is_free, port_holder, require_free
from serving.errors import Failed


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_free_port_can_be_listened_on() -> None:
    port = free_port()
    assert is_free("127.0.0.1", port)
    require_free("127.0.0.1", port, "gateway.port")


def test_a_taken_port_names_its_holder_and_the_key(taken: int) -> None:
    with pytest.raises(Failed) as caught:
        require_free("127.0.0.1", taken, "gateway.port")
    said = str(caught.value)
    assert said.startswith(f"127.0.0.1:{taken}: port {taken} is taken by process {os.getpid()} (")
    assert said.endswith("stop that, or set gateway.port to a free port")


def test_port_0_is_the_kernels_choice() -> None:
    require_free("127.0.0.1", 0, "gateway.port")


def test_the_holder_of_a_port_is_found(taken: int) -> None:
    holder = port_holder(taken)
    assert holder is not None
    assert holder.pid == os.getpid()


def test_a_holder_that_may_not_be_seen_is_none(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    header = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    )
    row = (
        "   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1\n"
    )
    (tmp_path / "net" / "tcp").write_text(header + row)
    (tmp_path / "12").mkdir()
    assert port_holder(8000, tmp_path) is None


def test_only_listening_sockets_hold_a_port(taken: int) -> None:
    with socket.create_connection(("127.0.0.1", taken)) as client:
        assert port_holder(client.getsockname()[1]) is None
