"""Parallelism: one model on several devices, cores or nodes.

Owns: the fields, flags and environment of the mode, and the evidence that all its ranks run. Knows nothing
about which devices or cores are really there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from serving.modes.cores import OMP_BINDING, omp_binding
from serving.modes.log_lines import engine_config, world
from serving.modes.mode import EngineContext, Flag, Mode, Observation, Verdict
from serving.modes.nodes import GLOO_INTERFACE, HOST_IP, Node, node_flags, nodes

Degree = Annotated[int, Field(ge=1)]


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise ValueError(
            f"'{text}' is no IP address, and vLLM is told addresses; `getent hosts {text}` shows a name's"
        ) from None


Host = Annotated[str, AfterValidator(_address)]


class Parallel(Mode):
    """Spread one model over several devices."""

    summary: ClassVar[str] = "spread one model over several devices"
    owns: ClassVar[Sequence[str]] = (
        "--tensor-parallel-size",
        "--pipeline-parallel-size",
        "--data-parallel-size",
        "--enable-expert-parallel",
        "--distributed-executor-backend",
        "--nnodes",
        "--node-rank",
        "--master-addr",
        "--master-port",
    )
    works_on: ClassVar[str] = (
        "tensor, several nodes: cpu, cuda, rocm; pipeline, data, expert, executor ray: cuda, rocm"
    )
    evidence: ClassVar[str] = (
        "all ranks in the log and, where looked at, as many workers alive; a request answered"
    )

    kind: Literal["parallel"] = "parallel"
    tensor: Degree = Field(1, description="ranks that share every layer")
    pipeline: Degree = Field(1, description="stages of consecutive layers")
    data: Degree = Field(1, description="copies behind one engine")
    expert: bool = Field(False, description="spread experts instead of sharing each")
    executor: Literal["mp", "ray"] | None = Field(
        None, description="who starts the ranks; ray spreads them over its cluster"
    )
    hosts: tuple[Host, ...] = Field(
        (), description="addresses of the machines that share the ranks; the first serves"
    )
    nnodes: Degree = Field(1, description="machines, where their addresses are not known beforehand")
    node_rank: Annotated[int, Field(ge=0)] = Field(0, description="this machine's number; 0 serves")
    master_addr: str | None = Field(None, description="address of the machine with node_rank 0")
    master_port: Annotated[int, Field(gt=0, le=65535)] | None = Field(
        None, description="a free port there; vLLM's own default is 29501"
    )
    host_ip: str | None = Field(None, description="this machine's address as the others reach it")

    @model_validator(mode="after")
    def _hosts_say_it_all(self) -> Parallel:
        if self.hosts and (self.nnodes > 1 or self.master_addr or self.host_ip):
            raise ValueError(
                "hosts say how many nodes there are and where; leave nnodes, master_addr and host_ip out"
            )
        if len(set(self.hosts)) < len(self.hosts):
            raise ValueError(f"hosts {', '.join(self.hosts)} name one twice; name each machine once")
        return self

    @model_validator(mode="after")
    def _nodes_fit_together(self) -> Parallel:
        if self.node_count == 1 and (self.master_addr or self.master_port or self.host_ip or self.node_rank):
            raise ValueError(
                "one node needs no node_rank, master_* or host_ip; name several hosts, or leave them out"
            )
        if self.nnodes > 1 and not self.master_addr:
            raise ValueError(f"{self.nnodes} nodes need a `master_addr`; give the address of node 0")
        if self.node_rank >= self.node_count:
            raise ValueError(f"node_rank {self.node_rank} is not below {self.node_count} nodes; count from 0")
        if self.world % self.node_count and self.executor != "ray":
            raise ValueError(
                f"{self.world} ranks cannot be shared by {self.node_count} nodes; change a degree"
            )
        return self

    @property
    def node_count(self) -> int:
        """Machines that share the ranks."""
        return len(self.hosts) or self.nnodes

    @property
    def own_address(self) -> str | None:
        """This machine's address as the others reach it; None: one machine, or vLLM is to find it."""
        if len(self.hosts) > 1:
            return self.hosts[self.node_rank]
        return self.host_ip or (self.master_addr if self.node_rank == 0 else None)

    def nodes(self) -> tuple[Node, ...]:
        """Each of the hosts with what vLLM is told there, in order; by Ray they are told nothing."""
        return () if self.executor == "ray" else nodes(self.hosts, self.master_port)

    @property
    def world(self) -> int:
        """Ranks that work on one request: every copy of `data` has so many."""
        return self.tensor * self.pipeline

    @property
    def local_ranks(self) -> int:
        """Ranks on this machine, of all copies."""
        return max(1, self.world * self.data // self.node_count)

    def asked(self) -> str:
        """The degrees above one."""
        degrees = {"tensor": self.tensor, "pipeline": self.pipeline, "data": self.data}
        degrees["nnodes"] = self.node_count
        parts = [f"{name}={degree}" for name, degree in degrees.items() if degree > 1]
        parts += ["expert"] if self.expert else []
        parts += [f"executor={self.executor}"] if self.executor else []
        return ", ".join(parts) or "one rank"

    def flags(self, context: EngineContext) -> Sequence[Flag]:
        """The degrees that differ from one, and how the nodes find each other."""
        degrees = zip(self.owns[:3], (self.tensor, self.pipeline, self.data), strict=True)
        flags: list[Flag] = [(flag, str(degree)) for flag, degree in degrees if degree > 1]
        if self.expert:
            flags.append(("--enable-expert-parallel", None))
        if self.executor:
            flags.append(("--distributed-executor-backend", self.executor))
        first = self.hosts[0] if self.hosts else self.master_addr
        if first and not (self.hosts and self.executor == "ray"):
            flags += node_flags(self.node_count, self.node_rank, first, self.master_port)
        return tuple(flags)

    def environment(self, context: EngineContext) -> Mapping[str, str]:
        """On CPU each local rank's cores (else vLLM wants a NUMA node for each), and this node's address."""
        variables = {}
        cores = context.slot.cores or (context.machine.cores if context.machine else ())
        if context.device == "cpu" and self.local_ranks > 1 and len(cores) >= self.local_ranks:
            variables[OMP_BINDING] = omp_binding(cores, self.local_ranks)
        own = self.own_address
        if own:
            variables[HOST_IP] = own
            interface = context.machine.interfaces.get(own) if context.machine else None
            variables |= {GLOO_INTERFACE: interface} if interface else {}
        return variables

    def verdict(self, seen: Observation, context: EngineContext) -> Verdict:
        """Every rank reported itself (on one machine), as many workers live, and the probe was answered."""
        told = world(seen.log)
        if self.world == 1 and self.data == 1:
            size = engine_config(seen.log, "tensor_parallel_size")
            in_effect = None if size is None else size == "1"
            return Verdict(self.kind, self.asked(), in_effect, "one rank was asked for")
        if told is None:
            return Verdict(self.kind, self.asked(), None, "no rank reported itself in the log")
        ranks, members = told
        wanted = self.world
        # Ray's workers are not children of the engine, and may be on any machine.
        here = self.local_ranks if seen.ranks is not None and self.executor != "ray" else None
        evidence = f"ranks {', '.join(map(str, sorted(ranks)))} of a world of {members}"
        if here is not None:
            evidence += f", {seen.ranks} of {here} workers alive"
        if (
            members % wanted
            or len(ranks) < wanted // self.node_count
            or (here is not None and seen.ranks != here)
        ):
            return Verdict(self.kind, self.asked(), False, f"{evidence}; {wanted} were asked for")
        answered = len(seen.answers) + len(seen.repeated)
        if not answered:
            return Verdict(self.kind, self.asked(), None, f"{evidence}; no request was answered yet")
        return Verdict(self.kind, self.asked(), True, f"{evidence}; {answered} requests answered")
