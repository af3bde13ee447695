"""docker-compose.yml: engines, gateway, Prometheus, Grafana and the load generator as containers.

Owns: what is rendered, what is refused and what is not carried over. Knows nothing about Docker itself.
Not run here, for there is no Docker engine; the file is held against the published schema and the deployment.
"""

from __future__ import annotations

from deploy.render import services
from deploy.render.carried import check_carried, engine_notes, escaped
from deploy.render.cluster import require_no_ray, sections_note, version_note
from deploy.render.containers import ENGINE_PORT, ContainerEngine, container_engines
from deploy.render.mounted import gateway_file, left_out_of_gateway, scrape_file
from deploy.render.places import FOLDER, LOCUST_PORT
from deploy.render.target import Rendered, Request
from deploy.render.yaml_text import yaml_text
from serving.errors import UsageError
from serving.modes.parallel import Parallel

NAME = "compose"
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
    gpu = () if deployment.engine.device == "cpu" else container_engines(request, "cuda")
    cpu, without = _on_cpu(request)
    found = {
        **{engine.name: services.engine(escaped(engine), deployment, "gpu") for engine in gpu},
        **{f"{engine.name}-cpu": services.engine(escaped(engine), deployment, "cpu") for engine in cpu},
        "gateway": services.gateway(deployment),
        "prometheus": services.prometheus(),
        "grafana": services.grafana(),
        "loadgen": services.loadgen(),
        "loadgen-worker": services.worker(),
        "dcgm-exporter": services.dcgm(),
    }
    document = {
        "services": found,
        "networks": {"engines": {}, "front": {}},
        "volumes": {name: {} for name in services.VOLUMES},
    }
    urls = [f"http://{engine.name}:{ENGINE_PORT}" for engine in gpu or cpu]
    # Without keys it is published on the host's loopback only.
    keys_file = None if deployment.gateway.keys_file is None else "keys.yaml"
    gateway = gateway_file(deployment, request.document, urls, keys_file=keys_file)
    files = {
        "docker-compose.yml": _HEADER.format(source=request.source, locust=LOCUST_PORT) + yaml_text(document),
        f"{FOLDER}/gateway.yaml": _made(request) + yaml_text(gateway),
        f"{FOLDER}/prometheus.yml": _made(request) + yaml_text(scrape_file(deployment, urls)),
    }
    return Rendered(files, (*without, *_notes(request)))


def _on_cpu(request: Request) -> tuple[tuple[ContainerEngine, ...], tuple[str, ...]]:
    """The engines of the profile `cpu`; none, and why, where the deployment needs a GPU."""
    if request.deployment.engine.device == "cpu":
        return container_engines(request, "cpu"), ("no profile gpu, for engine.device is cpu",)
    try:
        return container_engines(request, "cpu"), ()
    except UsageError as error:
        reasons = "; ".join(problem.what for problem in error.problems)
        return (), (f"no profile cpu, for it would not work there: {reasons}",)


def _check(request: Request) -> None:
    check_carried(request, NAME)
    require_no_ray(request, NAME)
    if (found := request.deployment.placed_mode(Parallel)) and found[1].node_count > 1:
        raise UsageError(
            "an engine on several machines is not carried over to compose",
            where=request.document.where(("modes", found[0])), fix="render systemd or lws",
        )  # fmt: skip


def _notes(request: Request) -> tuple[str, ...]:
    deployment = request.deployment
    notes = [
        "modes are not proven: the gateway sees the engines as servers elsewhere; look at the board Levers",
        "engines are not supervised by teapot: Docker starts one again that ends, but not one that hangs",
    ]
    if deployment.gateway.keys_file is None:
        notes.append("no keys: the gateway takes requests from everyone who reaches its loopback port")
    else:
        notes.append("gateway.keys_file is mounted from beside the compose file: deploy/compose/keys.yaml")
    said = (*version_note(deployment), *sections_note(request), *engine_notes(deployment))
    return (*notes, *left_out_of_gateway(deployment), *said)


def _made(request: Request) -> str:
    return f"# Rendered from {request.source} by `teapot render compose`; a change here is lost.\n"
