"""The files of a cluster on which we run the engines ourselves: serving, scraping, rules, boards, load.

Owns: what stands before, around and beside the engines' own objects, with and without our gateway, and what
the files say of themselves. Knows nothing about what makes the engines' pods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from deploy.render.carried import engine_notes
from deploy.render.cluster import (
    MONITORING,
    disruption_budget,
    from_monitoring,
    from_pods,
    ingress_policy,
    sections_note,
    version_note,
)
from deploy.render.cluster_load import load, load_paragraphs
from deploy.render.containers import ENGINE_PORT
from deploy.render.edge import edge, edge_notes, keys_paragraph, own_image, service
from deploy.render.monitoring import RELEASE, boards, engine_monitor, gateway_monitor, load_monitor, rules
from deploy.render.places import ADMIN_PORT, PUBLIC_PORT
from deploy.render.target import Rendered, Request
from deploy.render.yaml_text import head, manifests
from serving.config.revisions import OWN, own_revision

NOT_RUN = "Not run on a cluster: held against schemas only (docs/render.md)."


def cluster_files(
    request: Request,
    target: str,
    engines: Sequence[Mapping[str, Any]],
    *,
    answering: Mapping[str, str] | None = None,
    notes: tuple[str, ...] = (),
) -> Rendered:
    """All files, around the objects of the engines, whose pods are `NAME-engine-0.NAME-engine` and so on.

    `answering`: labels of those pods that answer HTTP, where not all of them do.
    """
    deployment, name = request.deployment, request.deployment.name
    with_gateway = request.choices.gateway != "none"
    urls = [
        f"http://{name}-engine-{number}.{name}-engine:{ENGINE_PORT}" for number in range(deployment.replicas)
    ]
    around = [disruption_budget(name, "engine"), _reachable(name, with_gateway=with_gateway)]
    front = edge(request, urls) if with_gateway else [_address(name, answering or {})]
    revision = own_revision(deployment) or OWN
    called = f"http://$1.{name}-engine:{ENGINE_PORT}"
    monitors = [engine_monitor(name, revision, called, by_pod=bool(answering)), load_monitor(name)]
    monitors += [gateway_monitor(name)] if with_gateway else []
    address = f"http://{name}-gateway:{PUBLIC_PORT}" if with_gateway else f"http://{name}:{ENGINE_PORT}"
    notes += (*(edge_notes(deployment) if with_gateway else _without_gateway(name)), *_engine_notes(request))

    def text(found: Sequence[Mapping[str, Any]], *paragraphs: str, notes: Sequence[str] = ()) -> str:
        return head(request.source, target, *paragraphs, notes=notes) + manifests(found)

    return Rendered(
        {
            f"{target}/serving.yaml": text(
                [*engines, *around, *front],
                *_serving(request, address, with_gateway=with_gateway),
                notes=notes,
            ),
            f"{target}/monitoring.yaml": text(monitors, _operator()),
            f"{target}/load/load.yaml": text(load(request, address, engines=urls), *load_paragraphs(name)),
            **shared_files(request, target),
        },
        notes,
    )


def shared_files(request: Request, target: str) -> dict[str, str]:
    """Rules and boards, which are the same for every deployment."""
    once = "The same for every deployment of teapot, so it is applied once."
    sidecar = (
        "Grafana's sidecar takes ConfigMaps with the label grafana_dashboard. By custom it looks into\n"
        "its own namespace only, so apply this there. The boards take any data source of Prometheus."
    )
    return {
        f"{target}/rules.yaml": head(request.source, target, once, _operator()) + _rules(),
        f"{target}/dashboards.yaml": head(request.source, target, once, sidecar) + _boards(),
    }


@cache
def _rules() -> str:
    return manifests([rules()])


@cache
def _boards() -> str:
    return manifests(boards())


def _address(name: str, answering: Mapping[str, str]) -> dict[str, Any]:
    """One address for all engines, where there is no gateway."""
    found = service(name, "engine", ENGINE_PORT, named=name)
    found["spec"]["selector"] |= answering
    return found


def _reachable(name: str, *, with_gateway: bool) -> dict[str, Any]:
    """Engines have no keys: behind a gateway only it, who reads metrics, and their own nodes reach them."""
    read = [from_pods(name, "load", ENGINE_PORT), from_monitoring(ENGINE_PORT)]
    ours = [from_pods(name, "gateway", ENGINE_PORT), *read, from_pods(name, "engine")]
    everyone = [{"ports": [{"port": ENGINE_PORT, "protocol": "TCP"}]}, from_pods(name, "engine")]
    return ingress_policy(name, "engine", ours if with_gateway else everyone)


def _serving(request: Request, address: str, *, with_gateway: bool) -> tuple[str, ...]:
    name = request.deployment.name
    token = (
        "For a model that the hub keeps behind a token:\n"
        f"  kubectl create secret generic {name}-hub --from-literal=token=...\n"
        "The claims of the engines' caches are a guess at the weights: change it before the first apply."
    )
    applied = (
        "kubectl apply -f serving.yaml, and with the Prometheus Operator monitoring.yaml and rules.yaml.\n"
        "A run of the load generator is not part of it: load/load.yaml."
    )
    if not with_gateway:
        return (NOT_RUN, applied, f"In the cluster the API is at {address}, without keys.", token)
    image = own_image(request, "gateway")
    return (
        NOT_RUN,
        applied,
        f"In the cluster the API is at {address}.",
        f"The gateway's image is built and pushed first, from the repository's top:\n"
        f"  docker build -f deploy/images/gateway.Dockerfile -t {image} .",
        keys_paragraph(request.deployment),
        f"Its status: kubectl port-forward deploy/{name}-gateway {ADMIN_PORT}, then `teapot status`.",
        token,
    )


def _operator() -> str:
    return (
        f"For the Prometheus Operator; the label `release: {RELEASE}` is what that chart's Prometheus\n"
        f"asks for, and its namespace is taken to be `{MONITORING}` (NetworkPolicies let it in)."
    )


def _without_gateway(name: str) -> tuple[str, ...]:
    return (
        "keys, rates, queue, retries and routing: a Service deals out connections to whoever reaches it",
        "objectives (slo): the gateway judges them; burn-rate alerts and objectives' panels stay empty",
        "modes are not proven: look at the board Levers",
    )


def _alone(request: Request) -> tuple[str, ...]:
    if request.deployment.replicas > 1:
        return ()
    return ("one replica: while its pod is replaced or moved nobody answers",)


def _engine_notes(request: Request) -> tuple[str, ...]:
    return (
        *version_note(request.deployment),
        *sections_note(request),
        *engine_notes(request.deployment),
        *_alone(request),
        "engines that hang while /health answers are not restarted: teapot's watch on progress is not here",
        "requests of CPU and memory for engines: the deployment file has none; add what your nodes have",
    )
