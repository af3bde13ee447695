"""Which engines a deployment has, and what of the machine belongs to each of them.

Owns: names and roles of engines, and the sharing out of cores, devices and side-channel ports. Knows nothing
about how cores are bound or whether a port is free: the machine's facts and free ports come in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from serving.config.document import Document
from serving.config.schema import Deployment
from serving.errors import Problem
from serving.modes.disaggregated import Disaggregated
from serving.modes.mode import Device, EngineSlot, MachineFacts, Role
from serving.modes.parallel import Parallel

CPU_KV_CACHE_BYTES = 2 * 1024**3
"""Given where a deployment says nothing: on CPU vLLM would otherwise reserve most of the machine."""
_KV_STEP = 256 * 1024**2
FIRST_SIDE_CHANNEL_PORT = 5600
SIDE_CHANNEL_STEP = 100
"""vLLM adds an engine's data-parallel rank to its port, so the ports of two engines stand well apart."""


def engine_slots(
    deployment: Deployment,
    machine: MachineFacts | None,
    *,
    device: Device,
    ports: Sequence[int] | None = None,
    free: Sequence[int] | None = None,
) -> tuple[EngineSlot, ...]:
    """The place of every engine: `demo-0`, `demo-1` ... or `demo-prefill-0`, `demo-decode-0` ...

    `ports`, one an engine, take the place of 5600, 5700 ... for the side channel of a connector. Where the
    machine has too little (see `layout_problems`) or was not looked at, engines are given no cores.
    `free`: the devices that other engines leave, of which each is then given its own.
    """
    roles = _roles(deployment)
    cores = _cores(deployment, machine, device, len(roles))
    size = ranks(deployment)
    has_channel = deployment.mode(Disaggregated) is not None
    shared = len(roles) > 1 and not _placed_by_ray(deployment)
    slots = []
    for number, (role, index) in enumerate(roles):
        middle = "" if role == "any" else f"{role}-"
        port = ports[number] if ports else FIRST_SIDE_CHANNEL_PORT + SIDE_CHANNEL_STEP * number
        first = number * size
        if free is not None and device != "cpu":
            devices = tuple(free[first : first + size])
        else:
            devices = _devices(machine, device, first, size) if shared else ()
        slots.append(
            EngineSlot(
                name=f"{deployment.name}-{middle}{index}",
                role=role,
                index=index,
                cores=cores[number],
                devices=devices,
                side_channel_port=port if has_channel else None,
            )
        )
    return tuple(slots)


def default_kv_cache_bytes(deployment: Deployment, machine: MachineFacts | None) -> int:
    """On CPU, where nobody said: 2 GiB an engine, less where all of them would fill half of the memory."""
    most = CPU_KV_CACHE_BYTES
    if machine is not None:
        most = min(most, machine.memory_available_bytes // (2 * len(_roles(deployment))))
    return max(most // _KV_STEP, 1) * _KV_STEP


def ranks(deployment: Deployment) -> int:
    """Worker processes of one engine on this machine, each of which needs cores or a device."""
    parallel = deployment.mode(Parallel)
    return parallel.local_ranks if parallel else 1


def layout_problems(
    deployment: Deployment, document: Document, machine: MachineFacts, *, device: Device
) -> list[Problem]:
    """What the machine has too few of for the engines that are asked for."""
    problems = _too_few_cores if device == "cpu" else _too_few_devices
    return list(problems(deployment, document, machine))


def _too_few_cores(deployment: Deployment, document: Document, machine: MachineFacts) -> Iterator[Problem]:
    asked, engines, size = deployment.engine.cores, len(_roles(deployment)), ranks(deployment)
    where = document.where(("engine", "cores"))
    have = len(machine.cores)
    if isinstance(asked, tuple):
        missing = [core for core in asked if core not in machine.cores]
        if missing:
            what = f"this process may not use {_counted(missing)}"
            fix = f"the cores here are {', '.join(map(str, machine.cores))}"
            yield Problem(what, where, fix)
    pool = len(asked) if isinstance(asked, tuple) else have
    each = asked if isinstance(asked, int) else size
    if each < size:
        what = f"{each} cores an engine are fewer than its {size} ranks"
        yield Problem(what, where, f"give each at least {size}")
    if engines * each > pool:
        what = f"{engines} engines need {engines * each} cores and there are {pool}"
        fix = "ask for fewer engines or ranks, or for fewer cores each"
        yield Problem(what, where, fix)


def _too_few_devices(deployment: Deployment, document: Document, machine: MachineFacts) -> Iterator[Problem]:
    engines, size, have = len(_roles(deployment)), ranks(deployment), len(machine.accelerators)
    if have and engines * size > have and not _placed_by_ray(deployment):
        what = f"{engines} engines of {size} ranks need {engines * size} devices and there are {have}"
        kinds = [str(mode.kind) for mode in deployment.modes]
        decisive = "disaggregated" if "disaggregated" in kinds else "parallel"
        by_mode = deployment.replicas == 1 and decisive in kinds
        path = ("modes", kinds.index(decisive)) if by_mode else ("replicas",)
        yield Problem(what, document.where(path), "ask for fewer engines or ranks")


def _placed_by_ray(deployment: Deployment) -> bool:
    """Ray puts ranks on whatever machines its cluster has: the devices here neither limit nor bind them."""
    parallel = deployment.mode(Parallel)
    return parallel is not None and parallel.executor == "ray"


def _roles(deployment: Deployment) -> list[tuple[Role, int]]:
    pair = deployment.mode(Disaggregated)
    if pair is None:
        return [("any", index) for index in range(deployment.replicas)]
    prefill: list[tuple[Role, int]] = [("prefill", index) for index in range(pair.prefill)]
    return [*prefill, *(("decode", index) for index in range(pair.decode))]


def _cores(
    deployment: Deployment, machine: MachineFacts | None, device: Device, engines: int
) -> list[tuple[int, ...]]:
    """Consecutive cores for each engine: as many as asked for, else equal shares, the first ones one more."""
    asked, size = deployment.engine.cores, ranks(deployment)
    none: list[tuple[int, ...]] = [()] * engines
    if device != "cpu" or (asked == "auto" and engines == size == 1):
        return none
    pool = asked if isinstance(asked, tuple) else machine.cores if machine else ()
    if isinstance(asked, int):
        counts = [asked] * engines
    else:
        each, more = divmod(len(pool), engines)
        counts = [each + (number < more) for number in range(engines)]
    if sum(counts) > len(pool) or min(counts) < size:
        return none
    starts = [sum(counts[:number]) for number in range(engines)]
    return [tuple(pool[start : start + count]) for start, count in zip(starts, counts, strict=True)]


def _devices(machine: MachineFacts | None, device: Device, first: int, count: int) -> tuple[int, ...]:
    if device == "cpu" or (machine and machine.accelerators and first + count > len(machine.accelerators)):
        return ()
    return tuple(range(first, first + count))


def _counted(cores: Sequence[int]) -> str:
    return f"core{'s' if len(cores) > 1 else ''} {', '.join(map(str, cores))}"
