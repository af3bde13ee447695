"""All render targets: one file each, and a line here.

Owns: the registry. Knows nothing about any of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from deploy.render.compose import render_compose
from deploy.render.target import Target

TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target(
            "compose", "docker-compose.yml with engine, gateway, Prometheus, Grafana and load", render_compose
        ),
    )
}
