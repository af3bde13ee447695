"""Plain Kubernetes: engines with names that stay, and our gateway that chooses among them.

Owns: which files there are and what is in each. Knows nothing about nodes that share an engine: that is lws.

Engines are a StatefulSet: the gateway, boards and rules know an engine by its address, and each keeps its
own cache of weights. Without a gateway a Service deals connections out to them.
"""

from __future__ import annotations

from typing import Any

from deploy.render.carried import escaped
from deploy.render.cluster import (
    check_deployment,
    engines,
    metadata,
    require_no_ray,
    require_one_node,
    selector,
)
from deploy.render.cluster_files import cluster_files
from deploy.render.containers import ENGINE_PORT
from deploy.render.edge import service
from deploy.render.pods import cache_claim, engine_pod
from deploy.render.target import Rendered, Request

NAME = "kubernetes"


def render_kubernetes(request: Request) -> Rendered:
    """Serving, scraping, rules, boards and load. Raises: UsageError."""
    check_deployment(request, NAME)
    require_no_ray(request, NAME)
    require_one_node(request, NAME)
    found = [service(request.deployment.name, "engine", ENGINE_PORT, headless=True), _engines(request)]
    return cluster_files(request, NAME, found)


def _engines(request: Request) -> dict[str, Any]:
    deployment = request.deployment
    name, labels = deployment.name, selector(deployment.name, "engine")
    first = escaped(engines(request)[0])
    pod = engine_pod(first, deployment, command=["python3"], args=first.argv)
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(name, "engine"),
        "spec": {
            "replicas": deployment.replicas,
            "serviceName": f"{name}-engine",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
            "volumeClaimTemplates": [cache_claim()],
        },
    }
