"""docker-compose.yml: engines, gateway, Prometheus, Grafana and the load generator as containers.

Owns: the services and the files they are given. Knows nothing about Docker itself: not run here, for there is
no engine of it; the file is held against the published schema, and against the deployment it is made from.

Only the gateway, Prometheus and Grafana are published, on loopback. Prometheus lives in the gateway's network
namespace, since the admin interface that it reads listens on loopback only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from deploy.render.containers import CACHE, ENGINE_PORT, ContainerEngine, container_engines
from deploy.render.target import Rendered, Request
from deploy.scrape_config import EVALUATION_INTERVAL_S, SCRAPE_INTERVAL_S
from serving.config.revisions import own_revision
from serving.config.schema import Deployment
from serving.errors import UsageError
from serving.modes.disaggregated import Disaggregated
from serving.modes.lora import Lora

FOLDER = "deploy/compose"
PROMETHEUS = "prom/prometheus:v3.5.0"
GRAFANA = "grafana/grafana:12.2.0"
DCGM = "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.2-4.7.1-ubuntu22.04"
PUBLIC_PORT, ADMIN_PORT, PROMETHEUS_PORT, GRAFANA_PORT, LOCUST_PORT = 8000, 8001, 9090, 3000, 8089
DCGM_PORT = 9400
EXPORTER_PORT = 9478
SCRATCH = "/var/tmp"
TARGETS = "/targets"
"""Where a load generator says that it runs, for Prometheus to find it (loadgen/discovery.py)."""
START_PERIOD_S = 1200
"""A model is fetched, loaded and compiled: as long as `engine.start_timeout` gives it by default."""
STOP_MARGIN_S = 15
VOLUMES = ("engine-cache", "prometheus-data", "grafana-data", "runs", "targets")
_HEADER = """\
# Rendered from {source} by `teapot render compose`; a change here is lost, change that file.
#
#   cp .env.example .env         and set the password in it
#   docker compose up -d         with COMPOSE_PROFILES=gpu (or cpu) in .env
#   docker compose --profile load up -d loadgen     locust's own page, at http://127.0.0.1:{locust}
#
# Not run here: there is no Docker engine on the machine it was made on. Images are pinned by tag.
"""


def render_compose(request: Request) -> Rendered:
    """The compose file, the gateway's deployment file and Prometheus' configuration. Raises: UsageError."""
    deployment = request.deployment
    _check(request)
    gpu = container_engines(request, "cuda")
    cpu, without = _on_cpu(request)
    services = {
        **{engine.name: _engine(engine, deployment, "gpu") for engine in gpu},
        **{f"{engine.name}-cpu": _engine(engine, deployment, "cpu") for engine in cpu},
        "gateway": _gateway(deployment),
        "prometheus": _prometheus(),
        "grafana": _grafana(),
        "loadgen": _loadgen(),
        "loadgen-worker": _worker(),
        "dcgm-exporter": _dcgm(),
    }
    document = {
        "services": services,
        "networks": {"engines": {}, "front": {}},
        "volumes": {name: {} for name in VOLUMES},
    }
    urls = [f"http://{engine.name}:{ENGINE_PORT}" for engine in gpu]
    files = {
        "docker-compose.yml": _HEADER.format(source=request.source, locust=LOCUST_PORT) + _yaml(document),
        f"{FOLDER}/gateway.yaml": _made(request) + _yaml(_deployment(deployment, urls)),
        f"{FOLDER}/prometheus.yml": _made(request) + _yaml(_scraping(deployment, urls)),
    }
    return Rendered(files, (*without, *_notes(deployment)))


def _on_cpu(request: Request) -> tuple[tuple[ContainerEngine, ...], tuple[str, ...]]:
    """The engines of the profile `cpu`; none, and why, where the deployment needs a GPU."""
    try:
        return container_engines(request, "cpu"), ()
    except UsageError as error:
        reasons = "; ".join(problem.what for problem in error.problems)
        return (), (f"no profile cpu, for it would not work there: {reasons}",)


def _check(request: Request) -> None:
    deployment, where = request.deployment, request.document.where
    if own_revision(deployment) is None:
        raise UsageError(
            "every revision is served elsewhere, so there is no engine to put into a container",
            where=where(("revisions",)), fix="run the gateway with `teapot serve`",
        )  # fmt: skip
    for number, mode in enumerate(deployment.modes):
        if isinstance(mode, Disaggregated | Lora):
            raise UsageError(
                f"{mode.kind} is not carried over to compose",
                where=where(("modes", number)), fix="run it with `teapot serve`, which divides and proves it",
            )  # fmt: skip


def _notes(deployment: Deployment) -> tuple[str, ...]:
    notes = [
        "modes are not proven: the gateway sees the engines as servers elsewhere; look at the board Levers",
        "engines are not supervised by teapot: Docker starts one again that ends, but not one that hangs",
    ]
    if deployment.gateway.keys_file is None:
        notes.append("no keys: the gateway takes requests from everyone who reaches its loopback port")
    else:
        notes.append("gateway.keys_file is mounted from beside the compose file: deploy/compose/keys.yaml")
    return tuple(notes)


def _engine(engine: ContainerEngine, deployment: Deployment, profile: str) -> dict[str, Any]:
    drain_s = math.ceil(deployment.gateway.drain_timeout)
    service: dict[str, Any] = {
        "image": engine.image,
        "profiles": [profile],
        "entrypoint": ["python3"],
        "command": list(engine.argv),
        "environment": {**engine.environment, "HF_TOKEN": "${HF_TOKEN:-}"},
        "networks": {"engines": {"aliases": [engine.name]}},
        "volumes": [f"engine-cache:{CACHE}"],
        # vLLM's processes hand each other tensors through it; with --ipc=host they would share the host's.
        "shm_size": "8gb",
        "healthcheck": _python_check(ENGINE_PORT, "/health", start_s=START_PERIOD_S),
        # SIGTERM with requests in flight: vLLM lets them finish for --shutdown-timeout (drain + 10 s).
        "stop_grace_period": f"{drain_s + 10 + STOP_MARGIN_S}s",
        **_guarded(read_only=False),
    }
    if engine.devices:
        reserved = {
            "driver": "nvidia",
            "device_ids": [str(d) for d in engine.devices],
            "capabilities": ["gpu"],
        }
        service["deploy"] = {"resources": {"reservations": {"devices": [reserved]}}}
    return service


def _gateway(deployment: Deployment) -> dict[str, Any]:
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


def _prometheus() -> dict[str, Any]:
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


def _grafana() -> dict[str, Any]:
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


def _loadgen() -> dict[str, Any]:
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


def _worker() -> dict[str, Any]:
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


def _dcgm() -> dict[str, Any]:
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


def _deployment(deployment: Deployment, urls: Sequence[str]) -> dict[str, Any]:
    """What the gateway's container serves: the engines as a revision that others run."""
    gateway = deployment.gateway
    section: dict[str, Any] = {"host": "0.0.0.0", "port": PUBLIC_PORT, "admin_port": ADMIN_PORT}
    section |= {"drain_timeout": f"{gateway.drain_timeout:g}s", "grace": f"{gateway.grace:g}s"}
    if gateway.keys_file is None:
        section["allow_anonymous"] = True  # published on the host's loopback only
    else:
        section["keys_file"] = "keys.yaml"
    slo = deployment.slo
    objectives = {"ttft": slo.ttft, "tpot": slo.tpot, "e2e": slo.e2e}
    return {
        "name": deployment.name,
        "revisions": [
            {"name": own_revision(deployment), "urls": [f"{url}/v1" for url in urls], "health": "/health"}
        ],
        "gateway": section,
        "slo": {
            **{name: f"{value:g}s" for name, value in objectives.items() if value is not None},
            "target": slo.target, "availability": slo.availability,
        },
        "prometheus": {"enabled": False},
    }  # fmt: skip


def _scraping(deployment: Deployment, urls: Sequence[str]) -> dict[str, Any]:
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


def _made(request: Request) -> str:
    return f"# Rendered from {request.source} by `teapot render compose`; a change here is lost.\n"


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.dump(dict(document), Dumper=_Plain, sort_keys=False, width=110)


class _Plain(yaml.SafeDumper):
    """Writes what occurs twice twice, and not as an alias of the first."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
