"""One engine on several machines: what each of them is told, so that they find each other.

Owns: vLLM's flags and variables of a node. Knows nothing about how a machine is reached or an engine started.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from serving.modes.mode import Flag

DEFAULT_MASTER_PORT = 29501
"""vLLM's own (0.32.0, --master-port)."""
HOST_IP = "VLLM_HOST_IP"
GLOO_INTERFACE = "GLOO_SOCKET_IFNAME"
"""Without it gloo takes the address that the machine's own name stands for: often 127.0.1.1, which the other
machines cannot reach."""


class Node(NamedTuple):
    """One machine of an engine. Node 0 has the API; the others answer no HTTP."""

    rank: int
    address: str
    """As the others reach it."""
    flags: tuple[Flag, ...]

    @property
    def headless(self) -> bool:
        """Whether it answers no HTTP; such a node is `vllm serve`, for the server's module lacks the flag."""
        return self.rank > 0


def nodes(addresses: Sequence[str], master_port: int | None = None) -> tuple[Node, ...]:
    """Every machine of an engine with what vLLM is told there, in order; one machine is told nothing."""
    count = len(addresses)
    return tuple(
        Node(rank, address, node_flags(count, rank, addresses[0], master_port))
        for rank, address in enumerate(addresses)
    )


def node_flags(count: int, rank: int, master_addr: str, master_port: int | None = None) -> tuple[Flag, ...]:
    """The flags of one node of `count`, run with vLLM 0.32.0. The address may be a variable."""
    if count == 1:
        return ()
    flags: list[Flag] = [("--nnodes", str(count)), ("--node-rank", str(rank)), ("--master-addr", master_addr)]
    flags += [("--master-port", str(master_port))] if master_port else []
    flags += [("--headless", None)] if rank else []
    return tuple(flags)
