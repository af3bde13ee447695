"""The load generator on a cluster: one leading process and workers on several machines, as locust has them.

Owns: these objects. Knows nothing about what is measured.

Locust asks a worker for no key, so only pods of the workers reach the port on which they join. Its
metrics stay on loopback in the pod, and the relay tells them to Prometheus.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deploy.render.cluster import from_monitoring, from_pods, ingress_policy, metadata, selector, spread
from deploy.render.edge import guarded, own_image, own_user
from deploy.render.places import EXPORTER_PORT, SCRATCH
from deploy.render.relay import CONFIG, RELAY_PORT, relay_config, relay_container
from deploy.render.target import Request

JOIN_PORT = 5557
"""Locust's own, on which workers join."""
WORKERS = 2
RUNS = "/home/teapot/runs"
WORKLOAD = "/etc/teapot"
RUNS_SIZE = "10Gi"


def load(request: Request, target: str, *, engines: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The objects of one run against a base address (without /v1), with the metrics of these engines."""
    name = request.deployment.name
    return [
        _relay(name),
        _claim(name),
        _join(name),
        _policy(name),
        _leader(request, target, engines),
        _workers(request),
    ]


def load_paragraphs(name: str) -> tuple[str, ...]:
    """How a run is started, watched and fetched."""
    return (
        "One run. The workload first, and the key if the target wants one:\n"
        f"  kubectl create configmap {name}-workload --from-file=workload.yaml=deploy/workloads/chat.yaml\n"
        f"  kubectl create secret generic {name}-load-key --from-literal=key=...\n"
        "  kubectl apply -f load/load.yaml\n"
        f"  kubectl logs -f job/{name}-load -c load",
        f"Another run: kubectl delete job {name}-load {name}-load-worker, then apply again. Run folders\n"
        f"are on the claim {name}-runs; they are read by any pod that mounts it.",
    )


def _leader(request: Request, target: str, engines: Sequence[str]) -> dict[str, Any]:
    name = request.deployment.name
    container = {
        "name": "load",
        "image": own_image(request, "loadgen"),
        "args": [
            "--headless", "--master", "--master-bind-host", "0.0.0.0", "--expect-workers", str(WORKERS),
            "-H", target, "--workload", f"{WORKLOAD}/workload.yaml", "--exporter-port", str(EXPORTER_PORT),
            *(word for engine in engines for word in ("--metrics", f"{engine}/metrics")),
        ],
        "env": [_key(name)],
        "ports": [{"name": "join", "containerPort": JOIN_PORT}],
        "volumeMounts": [
            {"name": "workload", "mountPath": WORKLOAD, "readOnly": True},
            {"name": "runs", "mountPath": RUNS},
            {"name": "scratch", "mountPath": SCRATCH},
        ],
        "securityContext": guarded(),
    }  # fmt: skip
    # A sidecar, so that the job ends with the run.
    relay = {**relay_container("relay", "scratch"), "restartPolicy": "Always"}
    volumes = [
        {"name": "workload", "configMap": {"name": f"{name}-workload"}},
        {"name": "relay", "configMap": {"name": f"{name}-load"}},
        {"name": "runs", "persistentVolumeClaim": {"claimName": f"{name}-runs"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    return _job(name, "load", {"initContainers": [relay], "containers": [container], "volumes": volumes})


def _workers(request: Request) -> dict[str, Any]:
    name = request.deployment.name
    container = {
        "name": "worker",
        "image": own_image(request, "loadgen"),
        "args": ["--worker", "--master-host", f"{name}-load", "--master-port", str(JOIN_PORT)],
        "env": [_key(name)],
        # A worker is one process: more of them are more pods.
        "resources": {"requests": {"cpu": "1"}},
        "volumeMounts": [{"name": "scratch", "mountPath": SCRATCH}, {"name": "scratch", "mountPath": RUNS}],
        "securityContext": guarded(),
    }
    pod = {
        "topologySpreadConstraints": [spread(name, "load-worker")],
        "containers": [container],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }
    return _job(name, "load-worker", pod, parallelism=WORKERS, completions=WORKERS)


def _job(name: str, part: str, pod: dict[str, Any], **more: Any) -> dict[str, Any]:
    around = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": own_user(),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(name, part),
        # A run that failed is not to be sent a second time by itself.
        "spec": {
            "backoffLimit": 0,
            **more,
            "template": {"metadata": {"labels": selector(name, part)}, "spec": around | pod},
        },
    }


def _key(name: str) -> dict[str, Any]:
    secret = {"name": f"{name}-load-key", "key": "key", "optional": True}
    return {"name": "TEAPOT_API_KEY", "valueFrom": {"secretKeyRef": secret}}


def _relay(name: str) -> dict[str, Any]:
    data = {CONFIG: relay_config(EXPORTER_PORT)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name, "load"), "data": data}


def _claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": RUNS_SIZE}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(name, "load", named=f"{name}-runs"),
        "spec": spec,
    }


def _join(name: str) -> dict[str, Any]:
    ports = [{"name": "join", "port": JOIN_PORT, "targetPort": "join"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, "load"),
        # Workers look for it before the leading process is ready, and keep trying.
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector(name, "load"),
            "ports": ports,
        },
    }


def _policy(name: str) -> dict[str, Any]:
    return ingress_policy(
        name, "load", [from_pods(name, "load-worker", JOIN_PORT), from_monitoring(RELAY_PORT)]
    )
