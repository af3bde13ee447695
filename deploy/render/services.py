"""The services of the compose file: engines, gateway, Prometheus, Grafana, load generator, GPU metrics.

Owns: images, health checks, what is published, mounted and allowed. Knows nothing about what mounts say.

Only the gateway, Prometheus, Grafana and locust are published, on loopback. Prometheus and locust live in the
gateway's network namespace, since what they read and tell is served on loopback only.
"""

from __future__ import annotations

import math
from typing import Any

from deploy.render.containers import CACHE, ENGINE_PORT, ContainerEngine
from deploy.render.places import (
    EXPORTER_PORT,
    FOLDER,
    GRAFANA_PORT,
    LOCUST_PORT,
    PROMETHEUS_PORT,
    PUBLIC_PORT,
    SCRATCH,
    TARGETS,
)
from serving.config.flags import SHUTDOWN_MARGIN_S
from serving.config.schema import Deployment

PROMETHEUS = "prom/prometheus:v3.5.0"
GRAFANA = "grafana/grafana:12.2.0"
DCGM = "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.2-4.7.1-ubuntu22.04"
VOLUMES = ("engine-cache", "prometheus-data", "grafana-data", "runs", "targets")
STOP_MARGIN_S = 15
_TOKEN = {"HF_TOKEN": "${HF_TOKEN:-}"}
"""Of the hub, from `.env`; a file that names its own goes first."""


def engine(engine: ContainerEngine, deployment: Deployment, profile: str) -> dict[str, Any]:
    """One engine, under its name in the engines' network."""
    drain_s = math.ceil(deployment.gateway.drain_timeout)
    service: dict[str, Any] = {
        "image": engine.image,
        "profiles": [profile],
        "entrypoint": ["python3"],
        "command": list(engine.argv),
        "environment": {**engine.environment, **({} if "HF_TOKEN" in engine.environment else _TOKEN)},
        "networks": {"engines": {"aliases": [engine.name]}},
        "volumes": [f"engine-cache:{CACHE}"],
        # vLLM's processes hand each other tensors through it; with --ipc=host they would share the host's.
        "shm_size": "8gb",
        "healthcheck": _python_check(
            ENGINE_PORT, "/health", start_s=math.ceil(deployment.engine.start_timeout)
        ),
        # SIGTERM with requests in flight: vLLM lets them finish for --shutdown-timeout.
        "stop_grace_period": f"{drain_s + SHUTDOWN_MARGIN_S + STOP_MARGIN_S}s",
        **_guarded(read_only=False),
    }
    if not engine.devices and isinstance(deployment.engine.cores, int):
        service["cpus"] = deployment.engine.cores
    if engine.devices:
        reserved = {
            "driver": "nvidia",
            "device_ids": [str(d) for d in engine.devices],
            "capabilities": ["gpu"],
        }
        service["deploy"] = {"resources": {"reservations": {"devices": [reserved]}}}
    return service


def gateway(deployment: Deployment) -> dict[str, Any]:
    """The gateway, with its deployment file."""
    drain_s = math.ceil(deployment.gateway.drain_timeout + deployment.gateway.grace)
    volumes = [f"./{FOLDER}/gateway.yaml:/etc/teapot/gateway.yaml:ro"]
    if deployment.gateway.keys_file is not None:
        volumes.append(f"./{FOLDER}/keys.yaml:/etc/teapot/keys.yaml:ro")
    return {
        "build": {"context": ".", "dockerfile": "deploy/images/gateway.Dockerfile"},
        "image": "teapot-gateway:local",
        "command": ["serve", "/etc/teapot/gateway.yaml"],
        "networks": ["engines", "front"],
        # Prometheus and locust share this network namespace, so their ports are published here.
        "ports": [_loopback(PUBLIC_PORT), _loopback(PROMETHEUS_PORT), _loopback(LOCUST_PORT)],
        "volumes": volumes,
        "healthcheck": _python_check(PUBLIC_PORT, "/health/live", start_s=30),
        "stop_grace_period": f"{drain_s + STOP_MARGIN_S}s",
        **_guarded(read_only=True),
    }


def prometheus() -> dict[str, Any]:
    """Prometheus, beside the gateway."""
    return {
        "image": PROMETHEUS,
        "network_mode": "service:gateway",
        "depends_on": ["gateway"],
        "command": [
            "--config.file=/etc/prometheus/prometheus.yml",
            "--storage.tsdb.path=/prometheus",
            "--storage.tsdb.retention.time=15d",
            "--storage.tsdb.retention.size=2GB",
        ],
        "volumes": [
            f"./{FOLDER}/prometheus.yml:/etc/prometheus/prometheus.yml:ro",
            "./dashboards/generated/rules.yaml:/etc/prometheus/rules/rules.yaml:ro",
            "./dashboards/generated/alerts.yaml:/etc/prometheus/rules/alerts.yaml:ro",
            "prometheus-data:/prometheus",
            f"targets:{TARGETS}:ro",
        ],
        "healthcheck": _check_with("wget", "-q", "-O", "-", f"http://127.0.0.1:{PROMETHEUS_PORT}/-/ready"),
        **_guarded(read_only=True),
    }


def grafana() -> dict[str, Any]:
    """Grafana with all boards; its password comes from outside."""
    boards = "/etc/teapot/boards"
    return {
        "image": GRAFANA,
        "depends_on": ["prometheus"],
        "networks": ["front"],
        "ports": [_loopback(GRAFANA_PORT)],
        "environment": {
            "GF_SECURITY_ADMIN_PASSWORD": "${GRAFANA_ADMIN_PASSWORD:?set it in .env}",
            "GF_USERS_ALLOW_SIGN_UP": "false",
            "GF_ANALYTICS_REPORTING_ENABLED": "false",
            "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
            "TEAPOT_BOARDS": boards,
            "TEAPOT_PROMETHEUS_URL": f"http://gateway:{PROMETHEUS_PORT}",
        },
        "volumes": [
            "./dashboards/provisioning:/etc/grafana/provisioning:ro",
            f"./dashboards/generated/boards:{boards}:ro",
            "grafana-data:/var/lib/grafana",
        ],
        "healthcheck": _check_with("wget", "-q", "-O", "-", f"http://127.0.0.1:{GRAFANA_PORT}/api/health"),
        **_guarded(read_only=True),
    }


def loadgen() -> dict[str, Any]:
    """Locust with its page, in the profile `load`."""
    return {
        **_loading(),
        # Where its own metrics, which are on loopback, can be read by Prometheus.
        "network_mode": "service:gateway",
        "depends_on": ["gateway"],
        "command": [
            "--master", "--web-host", "0.0.0.0", "--master-bind-host", "0.0.0.0",
            "-H", f"http://127.0.0.1:{PUBLIC_PORT}", "--workload", "/etc/teapot/workload.yaml",
            "--exporter-port", str(EXPORTER_PORT), "--discovery", TARGETS,
        ],
        "volumes": [
            "${WORKLOAD:-./deploy/workloads/chat.yaml}:/etc/teapot/workload.yaml:ro",
            "runs:/home/teapot/runs", f"targets:{TARGETS}",
        ],
    }  # fmt: skip


def worker() -> dict[str, Any]:
    """Locust's workers."""
    return {
        **_loading(),
        "networks": ["front"],
        "depends_on": ["loadgen"],
        "command": ["--worker", "--master-host", "gateway"],
        "deploy": {"replicas": 2},
    }


def _loading() -> dict[str, Any]:
    return {
        "build": {"context": ".", "dockerfile": "deploy/images/loadgen.Dockerfile"},
        "image": "teapot-loadgen:local",
        "profiles": ["load"],
        **_guarded(read_only=True),
    }


def dcgm() -> dict[str, Any]:
    """The GPUs' own metrics, in the profile `gpu-metrics`."""
    reserved = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    return {
        "image": DCGM,
        "profiles": ["gpu-metrics"],
        "networks": ["engines"],
        # It reads the GPUs' profiling counters, which nothing less lets it.
        "cap_add": ["SYS_ADMIN"],
        "deploy": {"resources": {"reservations": {"devices": [reserved]}}},
        "restart": "unless-stopped",
    }


def _guarded(*, read_only: bool) -> dict[str, Any]:
    guarded: dict[str, Any] = {
        "restart": "unless-stopped",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
    }
    return guarded | ({"read_only": True, "tmpfs": [SCRATCH]} if read_only else {})


def _loopback(port: int) -> str:
    return f"127.0.0.1:{port}:{port}"


def _python_check(port: int, path: str, *, start_s: int) -> dict[str, Any]:
    code = f"import urllib.request as r; r.urlopen('http://127.0.0.1:{port}{path}', timeout=5)"
    return {**_check_with("python3", "-c", code), "start_period": f"{start_s}s"}


def _check_with(*words: str) -> dict[str, Any]:
    return {"test": ["CMD", *words], "interval": "10s", "timeout": "6s", "retries": 3}
