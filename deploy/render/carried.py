"""Which deployments containers can run at all, wherever they are, and what of any file is worth a word there.

Owns: those rules, and how a `$` is written where others read variables into text. Knows nothing about the
files of any one target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from deploy.render.containers import ContainerEngine
from deploy.render.target import Request
from serving.config.document import KeyPath
from serving.config.revisions import elsewhere, require_engines
from serving.config.schema import Deployment
from serving.errors import UsageError
from serving.modes.disaggregated import Disaggregated
from serving.modes.lora import Lora
from serving.modes.speculative import Speculative

SECRET = re.compile(r"(token|key|secret|password)$", re.IGNORECASE)
"""Names of variables whose values nobody else should read."""


def check_carried(request: Request, target: str, *, divided: bool = False) -> None:
    """Refuse what no container carries, save `divided` prefill where it is. Raises: UsageError."""
    deployment, where = request.deployment, request.document.where
    require_engines(deployment, request.document, f"render for {target}")
    if elsewhere(deployment):
        raise UsageError(
            f"revisions that are served elsewhere are not carried over to {target}",
            where=where(("revisions",)),
            fix="leave them out; another deployment file can name all addresses",
        )  # fmt: skip
    for path, model in _models(deployment):
        if _no_hub_id(model):
            raise UsageError(
                f"model '{model}' is no hub id, and what lies on this machine a container cannot read",
                where=where(path), fix="give a hub id such as Qwen/Qwen3-0.6B, which each engine fetches",
            )  # fmt: skip
    if deployment.engine.device == "rocm":
        raise UsageError(
            "device rocm has no image here", where=where(("engine", "device")), fix="render for cuda or cpu"
        )
    for number, mode in enumerate(deployment.modes):
        if isinstance(mode, Lora) or (isinstance(mode, Disaggregated) and not divided):
            fix = (
                "render kserve or ray, whose routers send both legs"
                if isinstance(mode, Disaggregated)
                else "serve a merged model, or run it with `teapot serve`, which checks and names adapters"
            )
            raise UsageError(
                f"{mode.kind} is not carried over to {target}", where=where(("modes", number)), fix=fix
            )


def _models(deployment: Deployment) -> Iterator[tuple[KeyPath, str]]:
    yield ("model",), deployment.model
    for number, mode in enumerate(deployment.modes):
        if isinstance(mode, Speculative) and mode.model is not None:
            yield ("modes", number, "model"), mode.model


def _no_hub_id(model: str) -> bool:
    """Whether it is a folder, or one of teapot's own, or nothing that a hub could be asked for."""
    return re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", model) is None


def engine_notes(deployment: Deployment) -> tuple[str, ...]:
    """What of the section `engine` is worth a word in any container."""
    return (*secrets_note(deployment), *_cores_note(deployment))


def secrets_note(deployment: Deployment) -> tuple[str, ...]:
    """Said of variables whose names tell that their values are secret: they are in what is rendered."""
    secret = [name for name in deployment.engine.env if SECRET.search(name)]
    if not secret:
        return ()
    return (f"engine.env {', '.join(secret)}: written as it is; let no other user read these files",)


def _cores_note(deployment: Deployment) -> tuple[str, ...]:
    if not isinstance(deployment.engine.cores, tuple):
        return ()
    return ("engine.cores: a list of cores is shared out by `teapot serve` only; say how many instead",)


def escaped(engine: ContainerEngine) -> ContainerEngine:
    """For Compose and Kubernetes: they replace `$NAME` or `$(NAME)`, and read `$$` as `$`."""
    return replace(
        engine,
        argv=tuple(word.replace("$", "$$") for word in engine.argv),
        environment={name: value.replace("$", "$$") for name, value in engine.environment.items()},
    )
