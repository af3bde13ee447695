"""All render targets: one file each, and a line here.

Owns: the registry. Knows nothing about any of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from deploy.render.compose import render_compose
from deploy.render.kserve import render_kserve
from deploy.render.kubernetes import render_kubernetes
from deploy.render.lws import render_lws
from deploy.render.production_stack import render_production_stack
from deploy.render.ray_serve import render_ray
from deploy.render.systemd import render_systemd
from deploy.render.target import Target

_ON_KUBERNETES = frozenset({"gateway", "gpus_per_node", "image_prefix"})
_ON_PLATFORMS = _ON_KUBERNETES | {"platform_url"}

TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target(
            "compose", "docker-compose.yml with engine, gateway, Prometheus, Grafana and load", render_compose
        ),
        Target(
            "kubernetes",
            "manifests with engines, gateway, probes, monitors, rules, boards and load",
            render_kubernetes,
            _ON_KUBERNETES,
        ),
        Target(
            "lws",
            "the same with a LeaderWorkerSet, for engines on several nodes",
            render_lws,
            _ON_KUBERNETES,
        ),
        Target(
            "kserve",
            "an LLMInferenceService, with prefill and decode apart where asked for",
            render_kserve,
            _ON_PLATFORMS,
        ),
        Target(
            "production-stack",
            "Helm values for vLLM's production-stack",
            render_production_stack,
            _ON_PLATFORMS,
        ),
        Target("ray", "a Ray Serve LLM configuration", render_ray, _ON_PLATFORMS - {"gpus_per_node"}),
        Target("systemd", "units for one machine or several, and the scripts of several", render_systemd),
    )
}
