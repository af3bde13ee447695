"""What one Prometheus has, no other has."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from deploy.prometheus_claims import claim_folder, claim_port
from serving.engine.ports import free_port
from serving.errors import Failed


def test_a_folder_is_had_by_one_until_its_descriptor_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "demo" / "lock"
    held = claim_folder(file)
    with pytest.raises(Failed, match="another teapot serves a deployment of this name") as refused:
        claim_folder(file)
    assert str(tmp_path / "demo") in str(refused.value)
    os.close(held)
    os.close(claim_folder(file))


def test_a_port_is_the_one_asked_for_where_it_is_free() -> None:
    port = free_port()
    assert claim_port(port) == port


def test_a_taken_port_is_left_for_one_after_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert port < claim_port(port) < port + 10


def test_where_none_is_free_it_says_which_were_tried() -> None:
    with (
        socket.create_server(("127.0.0.1", 65535)),
        pytest.raises(Failed, match=r"ports 65535 to 65535 are taken; set it to a free one"),
    ):
        claim_port(65535)
