"""Ray Serve LLM: a configuration for `serve deploy`, with Ray's own router in front of vLLM in Ray's actors.

Owns: that configuration. Knows nothing about Ray's clusters, or about our gateway.

Ray starts vLLM in its own process, so flags become keyword arguments of the engine by vLLM's own spelling.
What belongs to a server of its own (its address, how it shuts down, what it tells) is Ray's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deploy.render.cluster import check_deployment, device, divided_mode, engines
from deploy.render.containers import VERSIONS, ContainerEngine, without_folders
from deploy.render.engine_words import LISTENING, NAMED, Flags, flags_of
from deploy.render.platform_files import Platform, platform_files
from deploy.render.target import Rendered, Request
from deploy.render.yaml_text import yaml_text
from serving.config.arguments import counted
from serving.facts.flags import Flag
from serving.facts.load_flags import knowledge
from serving.modes.disaggregated import Disaggregated
from serving.modes.parallel import Parallel

NAME = "ray"
_SERVERS = (
    *NAMED,
    *LISTENING,
    "--shutdown-timeout",
    "--distributed-executor-backend",
    "--enable-prompt-tokens-details",
    "--custom-histogram-buckets",
)
"""Ray's own: it names the model, listens, ends, starts the ranks itself, and tells metrics in its own way."""
_SIDE_CHANNEL = "VLLM_NIXL_SIDE_CHANNEL_"
_CONNECTORS = ("nixl", "lmcache")
"""What Ray Serve LLM documents for prefill and decode apart."""


def render_ray(request: Request) -> Rendered:
    """One application; of two configurations where prefill and decode are apart. Raises: UsageError."""
    check_deployment(request, NAME, divided=True)
    pair = divided_mode(request, NAME, _CONNECTORS, f"use one of {', '.join(_CONNECTORS)}")
    name = request.deployment.name
    notes = [
        f"vLLM {VERSIONS[device(request.deployment)]}: Ray brings the vLLM that it was built with"
        " (2.60.0: 0.29.0), and an argument that it does not know ends the start",
        "the kind of GPU (accelerator_type): the deployment file has none; add it where there are several",
        "ready on a generated token and the drain: Ray asks its replicas and ends them by its own rules",
        "scraping: Ray tells vLLM's metrics by its own exporter, with `_` for `:`, and boards ask for `:`",
        "slo as bounds of the engines' own histograms",
        *_places(request),
        *_replaced(request),
        "routing: Ray's router chooses, and gateway.routing means nothing to it",
    ]
    return platform_files(
        request,
        Platform(
            target=NAME,
            file="serve.yaml",
            text=yaml_text(_application(request, pair)),
            usage=(
                "serve deploy serve.yaml, against a Ray cluster whose nodes have ray[serve,llm].\n"
                "Ray's dashboard and ports have no keys: keep them in a network of their own."
            ),
            notes=tuple(notes),
            find_url=f"with KubeRay's RayService {name} it is http://{name}-serve-svc:8000/v1",
        ),
    )


def _places(request: Request) -> tuple[str, ...]:
    mode = request.deployment.mode(Parallel)
    return ("hosts: Ray chooses the nodes of a rank",) if mode and mode.hosts else ()


def _replaced(request: Request) -> tuple[str, ...]:
    """Said of values that Ray does not leave as they are; it knows no way to write a `$`."""
    found = [name for name, value in request.deployment.engine.env.items() if "$" in str(value)]
    return (f"engine.env {', '.join(found)}: Ray puts variables in place of $NAME in it",) if found else ()


def _application(request: Request, pair: Disaggregated | None) -> dict[str, Any]:
    found = engines(request)
    if pair is None:
        builder = "build_openai_app"
        args: dict[str, Any] = {"llm_configs": [_config(request, found[0], request.deployment.replicas)]}
    else:
        builder = "build_pd_openai_app"
        prefill = next(engine for engine in found if engine.role == "prefill")
        args = {
            "prefill_config": _config(request, prefill, pair.prefill),
            "decode_config": _config(request, found[-1], pair.decode),
        }
    application = {
        "name": request.deployment.name,
        "route_prefix": "/",
        "import_path": f"ray.serve.llm:{builder}",
        "args": args,
    }
    return {"applications": [application]}


def _config(request: Request, engine: ContainerEngine, replicas: int) -> dict[str, Any]:
    model = request.deployment.model
    known = knowledge(VERSIONS[device(request.deployment)])
    own = without_folders(engine.environment)
    env = {key: value for key, value in own.items() if not key.startswith(_SIDE_CHANNEL)}
    return {
        "model_loading_config": {"model_id": model, "model_source": model},
        "engine_kwargs": _arguments(flags_of(engine, without=_SERVERS), known.version.flags if known else {}),
        "deployment_config": {"num_replicas": replicas},
        "runtime_env": {"env_vars": env},
    }


def _arguments(flags: Flags, known: Mapping[str, Flag]) -> dict[str, Any]:
    """Flags as vLLM's own names of them in Python, with values of their own kinds."""
    found: dict[str, Any] = {}
    for flag, words in flags:
        base, *inside = flag.split(".")
        row = known.get(base)
        key = (row.name if row else base).removeprefix("--").replace("-", "_")
        if inside:
            # `--compilation-config.mode 3` is a value within the object.
            *way, last = inside
            section = found.setdefault(key, {})
            for part in way:
                section = section.setdefault(part, {})
            section[last] = _value(words[0], "size")
        elif words:
            values = [_value(word, row.kind if row else None) for word in words]
            several = len(values) > 1 or (row is not None and row.takes in ("+", "*"))
            found[key] = values if several else values[0]
        else:
            found[key] = not (base in row.off if row else base.startswith("--no-"))
    return found


def _value(word: str, kind: str | None) -> Any:
    """A word as vLLM's parser would read it for a flag of that kind; None: a flag that is not known."""
    if kind == "text":
        return word
    try:
        return json.loads(word)
    except json.JSONDecodeError:
        # `8k`: vLLM's parser knows it, its Python takes numbers only.
        number = counted(word) if kind == "size" else None
        return word if number is None else number
