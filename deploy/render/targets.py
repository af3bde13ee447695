"""All render targets: one file each, and a line here.

Owns: the registry. Knows nothing about any of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from deploy.render.target import Target

_HERE = "deploy.render"
_ON_KUBERNETES = frozenset({"gateway", "gpus_per_node", "image_prefix"})
_ON_PLATFORMS = _ON_KUBERNETES | {"platform_url"}

TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target(
            "compose",
            "docker-compose.yml with engine, gateway, Prometheus, Grafana and load",
            f"{_HERE}.compose:render_compose",
        ),
        Target(
            "systemd",
            "units for one machine or several, and the scripts of several",
            f"{_HERE}.systemd:render_systemd",
        ),
        Target(
            "kubernetes",
            "manifests with engines, gateway, probes, monitors, rules, boards and load",
            f"{_HERE}.kubernetes:render_kubernetes",
            _ON_KUBERNETES,
        ),
        Target(
            "lws",
            "the same with a LeaderWorkerSet, for engines on several nodes",
            f"{_HERE}.lws:render_lws",
            _ON_KUBERNETES,
        ),
        Target(
            "kserve",
            "an LLMInferenceService, with prefill and decode apart where asked for",
            f"{_HERE}.kserve:render_kserve",
            _ON_PLATFORMS,
        ),
        Target(
            "production-stack",
            "Helm values for vLLM's production-stack",
            f"{_HERE}.production_stack:render_production_stack",
            _ON_PLATFORMS,
        ),
        Target(
            "ray",
            "a Ray Serve LLM configuration",
            f"{_HERE}.ray_serve:render_ray",
            _ON_PLATFORMS - {"gpus_per_node"},
        ),
    )
}
