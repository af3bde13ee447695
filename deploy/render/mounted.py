"""The files that containers are given: the gateway's deployment file and Prometheus' configuration.

Owns: what they say. Knows nothing about services.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deploy.render.places import ADMIN_PORT, DCGM_PORT, PROMETHEUS_PORT, PUBLIC_PORT, TARGETS
from deploy.scrape_config import EVALUATION_INTERVAL_S, SCRAPE_INTERVAL_S
from serving.config.document import Document
from serving.config.revisions import own_revision
from serving.config.schema import Deployment

_PLACED = ("host", "port", "admin_host", "admin_port", "keys_file", "allow_anonymous", "tls", "tracing")
"""Keys of the gateway that a container's own addresses, mounts and packages decide."""


def _said_of_gateway(document: Document) -> dict[str, Any]:
    """All else that a deployment file says of its gateway, in its own words: limits, routing, times."""
    written = document.data.get("gateway") or {}
    return {key: value for key, value in written.items() if key not in _PLACED}


def left_out_of_gateway(deployment: Deployment) -> tuple[str, ...]:
    """What it says that a container cannot have."""
    notes = []
    if deployment.gateway.tls is not None:
        notes.append("gateway.tls: end TLS in front of the gateway, as an Ingress or a proxy does")
    if deployment.gateway.tracing is not None:
        notes.append("gateway.tracing: the image is built without OpenTelemetry's packages")
    return tuple(notes)


def gateway_file(
    deployment: Deployment,
    document: Document,
    urls: Sequence[str],
    *,
    keys_file: str | None,
    health: str | None = "/health",
) -> dict[str, Any]:
    """What a gateway in a container serves: these base addresses (without /v1), in the file's own words.

    `keys_file`: where the container has it; None: requests need no keys.
    """
    section: dict[str, Any] = {"host": "0.0.0.0", "port": PUBLIC_PORT, "admin_port": ADMIN_PORT}
    section |= {"keys_file": keys_file} if keys_file else {"allow_anonymous": True}
    revision: dict[str, Any] = {"name": own_revision(deployment), "urls": [f"{url}/v1" for url in urls]}
    found = {
        "name": deployment.name,
        "revisions": [revision | ({"health": health} if health else {})],
        "gateway": section | _said_of_gateway(document),
        "slo": document.data.get("slo") or {},
        "prometheus": {"enabled": False},
    }
    return {key: value for key, value in found.items() if value != {}}


def scrape_file(deployment: Deployment, urls: Sequence[str]) -> dict[str, Any]:
    """Jobs and labels as decision 0010 has them."""
    whose = {"deployment": deployment.name}
    engines = [
        {
            "targets": [url.removeprefix("http://")],
            "labels": {**whose, "revision": own_revision(deployment), "role": "any", "instance": url},
        }
        for url in urls
    ]

    def job(name: str, *groups: Mapping[str, Any]) -> dict[str, Any]:
        return {"job_name": name, "static_configs": list(groups)}

    return {
        "global": {
            "scrape_interval": f"{SCRAPE_INTERVAL_S}s",
            "scrape_timeout": f"{SCRAPE_INTERVAL_S - 1}s",
            "evaluation_interval": f"{EVALUATION_INTERVAL_S}s",
        },
        "rule_files": ["/etc/prometheus/rules/*.yaml"],
        "scrape_configs": [
            job("gateway", {"targets": [f"127.0.0.1:{ADMIN_PORT}"], "labels": whose}),
            job("engine", *engines),
            {
                "job_name": "load",
                "file_sd_configs": [{"files": [f"{TARGETS}/*.json"], "refresh_interval": "30s"}],
                "relabel_configs": [{"target_label": "deployment", "replacement": deployment.name}],
            },
            # Found by its name: where its profile is off there is no target, and none that is down.
            {
                "job_name": "dcgm",
                "dns_sd_configs": [{"names": ["dcgm-exporter"], "type": "A", "port": DCGM_PORT}],
                "relabel_configs": [{"target_label": "deployment", "replacement": deployment.name}],
            },
            job("prometheus", {"targets": [f"127.0.0.1:{PROMETHEUS_PORT}"], "labels": whose}),
        ],
    }
