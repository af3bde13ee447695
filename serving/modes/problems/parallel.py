"""What does not go with parallelism: the model's heads, the machine's cores and memory, other modes.

Owns: these rows. Knows nothing about how a finding is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, ip_address

from serving.modes.mode import ModelFacts
from serving.modes.parallel import Parallel
from serving.modes.problems.row import Asked, Hit, Row
from serving.modes.speculative import Speculative

RING_BYTES = 10 * 16 * 1024**2
"""The ring by which an executor tells its ranks what to do: 10 chunks of 16 MiB."""


def divides(model: ModelFacts, tensor: int) -> bool:
    """Whether heads divide among ranks: KV heads too, or the ranks among these (vllm layers/linear.py)."""
    few, many = sorted((model.kv_heads, tensor))
    return model.attention_heads % tensor == 0 and many % few == 0


def _heads(asked: Asked) -> Iterator[Hit]:
    found, model = asked.find(Parallel), asked.context.model
    if found and model and not divides(model, found[1].tensor):
        heads, tensor = model.attention_heads, found[1].tensor
        divisors = ", ".join(str(n) for n in range(1, heads + 1) if divides(model, n))
        named = f"{heads} attention heads" if heads % tensor else f"{model.kv_heads} KV heads"
        what = f"{named} cannot be shared by {tensor} tensor-parallel ranks"
        yield Hit(what=what, fix=f"set tensor to one of {divisors}", mode=found[0], key="tensor")


def _kv_heads(asked: Asked) -> Iterator[Hit]:
    found, model = asked.find(Parallel), asked.context.model
    if found and model and model.kv_heads < found[1].tensor and divides(model, found[1].tensor):
        what = (
            f"{found[1].tensor} ranks share {model.kv_heads} KV heads, so KV heads are stored several times"
        )
        fix = f"expect no more KV cache than {model.kv_heads} ranks give, or use data for the rest"
        yield Hit(what=what, fix=fix, mode=found[0], key="tensor")


def _layers(asked: Asked) -> Iterator[Hit]:
    found, model = asked.find(Parallel), asked.context.model
    if found and model and found[1].pipeline > model.layers:
        what = f"{model.layers} layers cannot be divided into {found[1].pipeline} stages"
        yield Hit(what=what, fix=f"set pipeline to {model.layers} or less", mode=found[0], key="pipeline")


def _pipeline_speculation(asked: Asked) -> Iterator[Hit]:
    found, drafts = asked.find(Parallel), asked.find(Speculative)
    if found and drafts and found[1].pipeline > 1 and drafts[1].method != "eagle3":
        what = f"pipeline {found[1].pipeline} with speculation by {drafts[1].method}"
        yield Hit(what=what, fix="set pipeline: 1, or method: eagle3", mode=found[0], key="pipeline")


def _experts(asked: Asked) -> Iterator[Hit]:
    found, model = asked.find(Parallel), asked.context.model
    if found and model and found[1].expert and not model.experts:
        what = f"{model.name} has no experts to spread"
        yield Hit(what=what, fix="leave expert out", mode=found[0], key="expert")


def _external_balancing(asked: Asked) -> Iterator[Hit]:
    model = asked.context.model
    given = {"--data-parallel-external-lb", "--data-parallel-hybrid-lb", "--data-parallel-rank"}
    for flag in sorted(given & asked.context.args.keys()):
        if model and not model.experts:
            key = f"engine.args.{flag[2:].replace('-', '_')}"
            what = f"{flag} shares a mixture's experts out, and {model.name} is dense"
            yield Hit(what=what, fix="use replicas: N for copies of a dense model", key=key)


def _pipeline_on_cpu(asked: Asked) -> Iterator[Hit]:
    found, context = asked.find(Parallel), asked.context
    nodes = context.machine.numa_nodes if context.machine else 0
    if found and context.device == "cpu" and found[1].pipeline > 1 and nodes == 1:
        what = f"pipeline {found[1].pipeline} on a CPU with one NUMA node"
        yield Hit(what=what, fix="set pipeline: 1", mode=found[0], key="pipeline")


def _ray_on_cpu(asked: Asked) -> Iterator[Hit]:
    found = asked.find(Parallel)
    if found and found[1].executor == "ray" and asked.context.device == "cpu":
        yield Hit(what="the ray executor on CPU", fix="leave executor out", mode=found[0], key="executor")


def _ray_and_nodes(asked: Asked) -> Iterator[Hit]:
    found = asked.find(Parallel)
    if found and found[1].executor == "ray" and found[1].nnodes > 1:
        what = f"the ray executor with nnodes {found[1].nnodes}"
        fix = "name the machines as hosts or not at all, for ray knows its own; or use executor: mp"
        yield Hit(what=what, fix=fix, mode=found[0], key="executor")


def _headless(asked: Asked) -> Iterator[Hit]:
    found = asked.find(Parallel)
    if found and found[1].node_rank:
        what = f"node_rank {found[1].node_rank} answers no HTTP, so nothing on it can be proven or routed to"
        fix = "serve node_rank: 0 with teapot; here run the script of `teapot render systemd`"
        yield Hit(what=what, fix=fix, mode=found[0], key="node_rank")


def _several_engines(asked: Asked) -> Iterator[Hit]:
    found = asked.find(Parallel)
    if found and found[1].node_count > 1 and found[1].executor != "ray" and asked.context.peers:
        count = len(asked.context.peers) + 1
        what = f"{count} engines on the same {found[1].node_count} nodes"
        fix = "a deployment file for each engine, and one with `revisions` that names their addresses"
        yield Hit(what=what, fix=fix, mode=found[0])


def _foreign_address(asked: Asked) -> Iterator[Hit]:
    found, machine = asked.find(Parallel), asked.context.machine
    own = found[1].own_address if found else None
    if machine and machine.interfaces and own and _is_ipv4(own) and own not in machine.interfaces:
        what = f"this machine is to be {own}, and its addresses are {', '.join(sorted(machine.interfaces))}"
        fix = "give the address by which the others reach this machine; the first of hosts serves"
        yield Hit(what=what, fix=fix, mode=found[0] if found else None)


def _is_ipv4(text: str) -> bool:
    """A name, or an address of IPv6: not among the addresses that are read of a machine."""
    try:
        return isinstance(ip_address(text), IPv4Address)
    except ValueError:
        return False


def _shared_memory(asked: Asked) -> Iterator[Hit]:
    found, machine = asked.find(Parallel), asked.context.machine
    if found and machine and found[1].local_ranks > 1 and machine.shared_memory_free_bytes < RING_BYTES:
        free, need = machine.shared_memory_free_bytes >> 20, RING_BYTES >> 20
        what = f"/dev/shm has {free} MiB free, and ranks talk through {need} MiB of it"
        fix = "enlarge it: docker run --ipc=host or --shm-size=2g, mount -o remount,size=2g /dev/shm"
        yield Hit(what=what, fix=fix, mode=found[0], key="tensor")


ROWS = (
    Row(
        "heads_not_divisible",
        "attention heads that tensor-parallel ranks cannot share evenly",
        "error",
        "every rank computes the same number of heads; vLLM says so only after 11 s of imports",
        "measured: vLLM 0.32.0 with 9 heads; config/model.py",
        _heads,
    ),
    Row(
        "kv_heads_replicated",
        "more tensor-parallel ranks than KV heads",
        "warning",
        "a KV head cannot be divided, so each rank keeps a copy and the cache does not grow with the ranks",
        "read: vLLM 0.33.0 config/model.py get_num_kv_heads",
        _kv_heads,
    ),
    Row(
        "stages_without_layers",
        "more pipeline stages than layers",
        "error",
        "a stage without a layer computes nothing",
        "read: vLLM 0.32.0 distributed/utils.py get_pp_indices",
        _layers,
    ),
    Row(
        "pipeline_with_speculation",
        "pipeline parallelism with speculation other than EAGLE3",
        "error",
        "it does not boot or corrupts answers",
        "vLLM #57755",
        _pipeline_speculation,
    ),
    Row(
        "experts_of_a_dense_model",
        "expert parallelism for a model without experts",
        "error",
        "vLLM stops: the number of experts must be greater than 0",
        "read: vLLM 0.32.0 config/model.py _verify_with_expert_parallelism",
        _experts,
    ),
    Row(
        "external_data_parallel_of_a_dense_model",
        "data parallelism balanced from outside, for a dense model",
        "error",
        "ranks that are balanced from outside only make sense where they share experts",
        "read: vLLM 0.33.0 config/parallel.py",
        _external_balancing,
    ),
    Row(
        "pipeline_on_one_numa_node",
        "pipeline parallelism on a CPU with one NUMA node",
        "error",
        "vLLM wants a NUMA node a stage; with cores bound by hand it starts, and the first request is a 500",
        "measured: vLLM 0.32.0 on CPU",
        _pipeline_on_cpu,
    ),
    Row(
        "ray_on_cpu",
        "the ray executor on CPU",
        "error",
        "vLLM: current platform cpu does not support ray",
        "measured: vLLM 0.32.0; v1/executor/ray_utils.py",
        _ray_on_cpu,
    ),
    Row(
        "ray_with_nnodes",
        "the ray executor together with nnodes",
        "error",
        "nnodes is the multiprocessing executor's way to several machines",
        "read: vLLM 0.32.0 config/parallel.py",
        _ray_and_nodes,
    ),
    Row(
        "headless_node",
        "a node that is not the first",
        "error",
        "only node_rank 0 has an API",
        "measured: vLLM 0.32.0 with --nnodes 2; `--headless` exists for `vllm serve` only",
        _headless,
    ),
    Row(
        "nodes_of_several_engines",
        "several engines over the same nodes",
        "error",
        "their first nodes would all wait on one master port",
        "read: vLLM 0.32.0 config/parallel.py",
        _several_engines,
    ),
    Row(
        "address_not_here",
        "an own address that this machine does not have",
        "error",
        "the nodes could not reach it, and wait for each other until their time-out",
        "read: vLLM 0.32.0 v1/executor/multiproc_executor.py",
        _foreign_address,
    ),
    Row(
        "shared_memory_too_small",
        "/dev/shm too small for several ranks",
        "error",
        "ranks and NCCL exchange data through /dev/shm; Docker gives a container 64 MiB",
        "vLLM #1710, #16841; 0.32.0 distributed/device_communicators/shm_broadcast.py",
        _shared_memory,
    ),
)
