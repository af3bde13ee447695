"""Watching on a cluster: scraping for the Prometheus Operator, our rules, boards for Grafana's sidecar.

Owns: these objects and the labels of decision 0010 on them. Knows nothing about what boards and rules say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from dashboards.alerts import alerts_text
from dashboards.boards import BOARDS
from dashboards.provisioned import FOLDER
from dashboards.render import board_text
from dashboards.rules import rules_text
from deploy.render.cluster import metadata, selector
from deploy.scrape_config import SCRAPE_INTERVAL_S

RELEASE = "kube-prometheus-stack"
"""The label `release` by which a Prometheus of that chart chooses its monitors and rules."""
_OPERATOR = "monitoring.coreos.com/v1"


def engine_monitor(name: str, revision: str, url: str, *, by_pod: bool = False) -> dict[str, Any]:
    """Scrapes every engine. `url`: its address as the gateway calls it, with `$1` for the pod's name.

    `by_pod`: their Service is not ours, and only pods with the port `http` are meant.
    """
    said = {"revision": revision, "role": "any"}
    instance = {"sourceLabels": ["__meta_kubernetes_pod_name"], "targetLabel": "instance", "replacement": url}
    kind = "PodMonitor" if by_pod else "ServiceMonitor"
    return _monitor(kind, name, "engine", "http", [*fixed(name, "engine", said), instance])


def gateway_monitor(name: str) -> dict[str, Any]:
    """Scrapes every gateway by its relay."""
    return _monitor("ServiceMonitor", name, "gateway", "metrics", fixed(name, "gateway"))


def load_monitor(name: str) -> dict[str, Any]:
    """Scrapes the load generator by its relay; it has no Service with that port."""
    return _monitor("PodMonitor", name, "load", "metrics", fixed(name, "load"))


def fixed(name: str, job: str, said: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Relabelling that gives each target of a job the labels that boards and rules ask for."""
    labels = {"job": job, "deployment": name, **(said or {})}
    return [{"targetLabel": label, "replacement": value} for label, value in labels.items()]


def rules() -> dict[str, Any]:
    """Recording rules and alerts; the same for every deployment, so they are there once."""
    groups = [group for text in (rules_text(), alerts_text()) for group in yaml.safe_load(text)["groups"]]
    return {
        "apiVersion": _OPERATOR,
        "kind": "PrometheusRule",
        "metadata": {"name": "teapot", "labels": {**_shared(), "release": RELEASE}},
        "spec": {"groups": groups},
    }


def boards() -> list[dict[str, Any]]:
    """A ConfigMap for each board; the same for every deployment. Grafana's sidecar goes by the label."""
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": board.uid,
                "labels": {**_shared(), "grafana_dashboard": "1"},
                "annotations": {"grafana_folder": FOLDER},
            },
            "data": {f"{board.uid}.json": board_text(board, BOARDS)},
        }
        for board in BOARDS
    ]


def _shared() -> dict[str, str]:
    return {"app.kubernetes.io/part-of": "teapot"}


def _monitor(kind: str, name: str, part: str, port: str, relabelings: list[dict[str, Any]]) -> dict[str, Any]:
    endpoint = {
        "port": port,
        "interval": f"{SCRAPE_INTERVAL_S}s",
        "scrapeTimeout": f"{SCRAPE_INTERVAL_S - 1}s",
        "relabelings": relabelings,
    }
    return {
        "apiVersion": _OPERATOR,
        "kind": kind,
        "metadata": metadata(name, part, labels={"release": RELEASE}),
        "spec": {
            "selector": {"matchLabels": selector(name, part)},
            "endpoints" if kind == "ServiceMonitor" else "podMetricsEndpoints": [endpoint],
        },
    }
