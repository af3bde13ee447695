"""All render targets: one file each, and a line here.

Owns: the registry. Knows nothing about any of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from deploy.render.compose import render_compose
from deploy.render.kubernetes import render_kubernetes
from deploy.render.lws import render_lws
from deploy.render.systemd import render_systemd
from deploy.render.target import Target

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
            frozenset({"gateway", "gpus_per_node", "image_prefix"}),
        ),
        Target(
            "lws",
            "the same with a LeaderWorkerSet, for engines on several nodes",
            render_lws,
            frozenset({"gateway", "gpus_per_node", "image_prefix"}),
        ),
        Target("systemd", "units for one machine or several, and the scripts of several", render_systemd),
    )
}
