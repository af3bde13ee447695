"""LeaderWorkerSet: one engine on several nodes, each engine a group of pods that lives and dies as one.

Owns: that object, and what each pod of a group is told. Knows nothing about what a node's flags are
(`serving.modes.nodes`), or about the gateway in front.

The pods find each other by vLLM's own means: the first one's address and each one's number are variables that
LeaderWorkerSet sets in every container (pkg/utils/pod/pod_utils.go).
"""

from __future__ import annotations

from typing import Any

from deploy.render.carried import escaped
from deploy.render.cluster import (
    check_deployment,
    engines,
    gpus_per_engine,
    metadata,
    nodes_per_engine,
    require_no_ray,
    selector,
)
from deploy.render.cluster_files import cluster_files
from deploy.render.containers import ContainerEngine
from deploy.render.engine_words import NAMED, flags_of, words_of
from deploy.render.pods import cache_claim, engine_pod
from deploy.render.target import Rendered, Request
from serving.errors import UsageError
from serving.modes.nodes import HOST_IP, node_flags
from serving.modes.parallel import Parallel

NAME = "lws"
LEADERS = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
"""A label of the one pod of a group that answers HTTP."""
_LEADER, _NUMBER = "$(LWS_LEADER_ADDRESS)", "$(LWS_WORKER_INDEX)"
_POD_IP = {"name": HOST_IP, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def render_lws(request: Request) -> Rendered:
    """Serving, scraping, rules, boards and load. Raises: UsageError."""
    check_deployment(request, NAME)
    require_no_ray(request, NAME)
    nodes = _nodes(request)
    mode = request.deployment.mode(Parallel)
    addresses = "hosts, nnodes and addresses: the pods of a group find each other"
    notes = (addresses,) if mode and mode.node_count > 1 else ()
    return cluster_files(request, NAME, [_set(request, nodes)], answering=LEADERS, notes=notes)


def _nodes(request: Request) -> int:
    """Pods of one engine. Raises: UsageError where one would do, or its ranks do not divide."""
    found, nodes = request.deployment.placed_mode(Parallel), nodes_per_engine(request)
    total = gpus_per_engine(request.deployment)
    where = request.document.where(("modes", found[0]) if found else ("modes",))
    if found is None or nodes == 1:
        raise UsageError(
            f"an engine of {total} rank{'s' if total > 1 else ''} fits on one node",
            where=where, fix="render kubernetes, or say --gpus-per-node if a node has fewer GPUs",
        )  # fmt: skip
    if found[1].data > 1:
        raise UsageError(
            "data-parallel copies over several nodes are not carried over to lws",
            where=where, fix="use replicas, each a group of its own",
        )  # fmt: skip
    if total % nodes:
        raise UsageError(
            f"{total} ranks cannot be shared by {nodes} nodes",
            where=where, fix="change tensor, pipeline or --gpus-per-node so that they divide",
        )  # fmt: skip
    return nodes


def _set(request: Request, nodes: int) -> dict[str, Any]:
    deployment = request.deployment
    name = deployment.name
    first = escaped(engines(request)[0])
    template = {
        "size": nodes,
        # Ranks cannot join a world that runs already.
        "restartPolicy": "RecreateGroupOnPodRestart",
        "leaderTemplate": _template(request, first, nodes, rank=0),
        "workerTemplate": _template(request, first, nodes, rank=1),
        "volumeClaimTemplates": [cache_claim()],
    }
    rolling = {"maxUnavailable": 1, "maxSurge": 0}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata(name, "engine"),
        "spec": {
            "replicas": deployment.replicas,
            # All pods at once: the first one waits for the others before it answers anything.
            "startupPolicy": "LeaderCreated",
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": rolling},
            "leaderWorkerTemplate": template,
        },
    }


def _template(request: Request, engine: ContainerEngine, nodes: int, *, rank: int) -> dict[str, Any]:
    """The pod of the first node (rank 0), or of all others."""
    told = node_flags(nodes, rank, _LEADER)
    # `--headless` is of `vllm serve` only, and a number that differs from pod to pod is a variable.
    own = [(flag, () if value is None else (str(value),)) for flag, value in told]
    own = [(flag, (_NUMBER,) if rank and flag == "--node-rank" else words) for flag, words in own]
    args = [request.deployment.model, *words_of([*flags_of(engine, without=NAMED[:1]), *own])]
    per_node = engine.devices[: len(engine.devices) // nodes]
    pod = engine_pod(
        engine, request.deployment, command=["vllm", "serve"], args=args, gpus=len(per_node), serves=not rank
    )
    pod["containers"][0]["env"].append(_POD_IP)
    return {"metadata": {"labels": selector(request.deployment.name, "engine")}, "spec": pod}
