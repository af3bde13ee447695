"""systemd units for one machine or several, and the scripts by which machines share an engine.

Owns: what is rendered, what is refused and what is not carried over. Knows nothing about what units say.
Held against `systemd-analyze verify`; the scripts of two machines were run in two network namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deploy.render.carried import secrets_note
from deploy.render.contexts import startable
from deploy.render.node_scripts import Parts, node_script, quoted, ray_address, ray_script
from deploy.render.target import Rendered, Request
from deploy.render.units import CONFIGURATION, node_unit, ray_unit, serving_unit
from deploy.render.yaml_text import yaml_text
from serving.config.flags import EngineCommand, Placement, engine_command
from serving.config.revisions import own_revision
from serving.config.schema import Deployment
from serving.engine.embedded import EMBEDDED
from serving.engine.folders import DataFolder
from serving.engine.recipes import Recipe, recipe_of
from serving.modes.lora import Lora
from serving.modes.mode import Device
from serving.modes.nodes import HOST_IP
from serving.modes.parallel import Parallel
from serving.modes.speculative import Speculative

FOLDER = "systemd"
DATA_VARIABLE = "$TEAPOT_HOME"
_LOCAL = (".", "~", "/")
_UNSEEN = ("home", "root", "run/user", "tmp", "var/tmp")
"""ProtectHome and PrivateTmp hide these from the units."""


def render_systemd(request: Request) -> Rendered:
    """The units, the deployment file that they serve, and scripts of several machines. Raises: UsageError."""
    deployment, name = request.deployment, request.deployment.name
    made = f"# Rendered from {request.source} by `teapot render systemd`; a change here is lost."
    if deployment.engine.device == "rocm":
        # Refused, as `teapot serve` would refuse it: there is no engine environment for it.
        recipe_of(deployment, request.document, "rocm")
    mode = deployment.mode(Parallel)
    hosts = mode.hosts if mode is not None else ()
    files = {f"{name}.yaml": f"{made}\n{yaml_text(request.document.data)}"}
    if mode is None or len(hosts) < 2:
        files[f"teapot-{name}.service"] = serving_unit(deployment, made)
    elif mode.executor == "ray":
        parts = _parts(request, made)[0]
        first = f"teapot-{name}-ray@0.service"
        files[f"teapot-{name}.service"] = serving_unit(deployment, made, after=first, ray=ray_address(hosts))
        files[f"teapot-{name}-ray@.service"] = ray_unit(deployment, made, hosts)
        files[f"{name}-ray.sh"] = ray_script(parts, hosts)
    else:
        parts, command, model = _parts(request, made)
        files[f"teapot-{name}.service"] = serving_unit(deployment, made)
        files[f"teapot-{name}-node@.service"] = node_unit(deployment, made, hosts)
        files[f"{name}-node.sh"] = node_script(parts, model, mode.nodes(), command.settings)
    return Rendered({f"{FOLDER}/{path}": text for path, text in files.items()}, tuple(_notes(request, mode)))


def _parts(request: Request, made: str) -> tuple[Parts, EngineCommand, str]:
    """What scripts are made of, the command of rank 0, and its model as a shell finds it."""
    deployment, document = request.deployment, request.document
    device: Device = "cuda" if deployment.engine.device == "auto" else deployment.engine.device
    recipe = recipe_of(deployment, document, device)
    model = f"{DATA_VARIABLE}/models/{deployment.model}" if _embedded(request) else quoted(deployment.model)
    command = _command(request, device, recipe, model)
    variables = {
        setting.name: quoted(str(setting.value))
        if setting.name in deployment.engine.env
        else str(setting.value)
        for setting in command.settings
        if not setting.name.startswith("--") and setting.name != HOST_IP
    }
    # Of whichever Python it was made with.
    environment = recipe.environment_name((3, 11)).removesuffix("11") + "*"
    return Parts(made, deployment.name, environment, variables), command, model


def _command(request: Request, device: Device, recipe: Recipe, model: str) -> EngineCommand:
    """The engine's command as `teapot serve` works it out for the first machine. Raises: UsageError."""
    deployment, document = request.deployment, request.document
    first = startable(request, device, recipe.version)[0]
    folders = DataFolder(Path(DATA_VARIABLE)).engine_environment({}, Path(DATA_VARIABLE))
    placement = Placement(
        python="python3",
        port=None,
        model_path=model,
        model_name=Path(deployment.model).name if deployment.model.startswith("/") else deployment.model,
        offline=_embedded(request),
        environment={**folders, **recipe.environment},
    )
    return engine_command(deployment, document, placement, first)


def _embedded(request: Request) -> bool:
    return request.deployment.model in EMBEDDED


def _paths(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """What lies on this machine: the key that names it, and where it is."""
    gateway, grafana = deployment.gateway, deployment.grafana
    if own_revision(deployment) is not None and deployment.model.startswith(_LOCAL):
        yield "the model", deployment.model
    for mode in deployment.modes:
        if isinstance(mode, Speculative) and mode.model is not None and mode.model.startswith(_LOCAL):
            yield "the drafting model", str(mode.model)
        if isinstance(mode, Lora):
            places = ((f"the adapter {name}", path) for name, path in mode.adapters.items())
            yield from ((what, path) for what, path in places if path.startswith(_LOCAL))
    if gateway.keys_file is not None:
        yield "gateway.keys_file", gateway.keys_file
    if gateway.tls is not None:
        yield "gateway.tls.cert", gateway.tls.cert
        yield "gateway.tls.key", gateway.tls.key
    if grafana is not None and grafana.token_file is not None:
        yield "grafana.token_file", grafana.token_file
    for number, revision in enumerate(deployment.revisions):
        for key in ("key_file", "ca_file"):
            if (path := getattr(revision, key)) is not None:
                yield f"revisions[{number}].{key}", path


def _notes(request: Request, mode: Parallel | None) -> Iterator[str]:
    deployment = request.deployment
    for key, path in _paths(deployment):
        if f"{path}/".startswith(tuple(f"/{top}/" for top in _UNSEEN)) or path.startswith("~"):
            yield f"{key} {path}: the units do not see it; put it where they do, and say that in the file"
        elif path.startswith("/"):
            yield f"{key} {path}: the user teapot must be able to read it"
        else:
            yield f"{key}: put it beside {CONFIGURATION}/{deployment.name}.yaml"
    yield from secrets_note(deployment)
    if mode is not None and len(mode.hosts) > 1:
        yield "the network: it must be private, for neither gloo, NCCL nor Ray asks for a key"
        if deployment.engine.device == "auto":
            yield "engine.device auto: the scripts are for cuda; give engine.device where it is another"
    if mode is not None and mode.executor == "ray" and len(mode.hosts) < 2:
        yield "Ray's cluster: name its machines as hosts, or have it running before"
