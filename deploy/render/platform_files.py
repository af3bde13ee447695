"""The files beside those of a platform that routes by itself: our gateway as an edge, load, rules and boards.

Owns: when each of them is there, and what a platform leaves to its own means. Knows nothing about any of
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from deploy.render.carried import engine_notes
from deploy.render.cluster import sections_note
from deploy.render.cluster_files import NOT_RUN, shared_files
from deploy.render.cluster_load import load, load_paragraphs
from deploy.render.edge import edge, edge_notes, keys_paragraph, own_image
from deploy.render.monitoring import gateway_monitor, load_monitor
from deploy.render.places import PUBLIC_PORT
from deploy.render.target import Rendered, Request
from deploy.render.yaml_text import head, manifests
from serving.errors import UsageError

_OURS = (
    "modes are not proven: nothing of teapot's looks at the engines",
    "teapot's own start, restarts and rollouts: the platform has its own",
)
_WITHOUT = (
    "keys, rates, queue and retries of the gateway: who may ask, and how much, is the platform's to decide",
    "objectives (slo): the gateway judges them; burn-rate alerts and objectives' panels stay empty",
)


@dataclass(frozen=True, slots=True)
class Platform:
    """What a target has to say of its own."""

    target: str
    file: str
    text: str
    """Of its own file, without the head."""
    usage: str
    """How its own file is used; the first paragraph of the head."""
    notes: tuple[str, ...]
    url: str | None = None
    """Where its router answers, ending in /v1, where that is known beforehand."""
    find_url: str = ""
    """How a user finds that address."""


def platform_files(request: Request, platform: Platform) -> Rendered:
    """The platform's own file and ours. Raises: UsageError for a gateway with nothing behind it."""
    target, name = platform.target, request.deployment.name
    url = request.choices.platform_url or platform.url
    with_gateway = request.choices.gateway == "edge"
    if with_gateway and url is None:
        raise UsageError(
            f"a gateway in front of {target} needs to know where its router answers",
            where="--gateway edge", fix=f"add --platform-url URL; {platform.find_url}",
        )  # fmt: skip
    own = edge_notes(request.deployment)[:1] if with_gateway else _WITHOUT
    said = (*sections_note(request), *engine_notes(request.deployment))
    notes = (*platform.notes, *own, *_OURS, *said)
    if url is None:
        notes += (f"load from several machines: it needs --platform-url; {platform.find_url}",)
    usage = (NOT_RUN, platform.usage)
    files = {f"{target}/{platform.file}": head(request.source, target, *usage, notes=notes) + platform.text}
    asked = f"http://{name}-gateway:{PUBLIC_PORT}" if with_gateway else (url or "").removesuffix("/v1")
    monitors = [load_monitor(name)] if asked else []
    if with_gateway and url is not None:
        objects = edge(request, [url.removesuffix("/v1")], health=None)
        image = f"Its image is built and pushed first: {own_image(request, 'gateway')}"
        paragraphs = (NOT_RUN, f"Our gateway in front of {url}.", image, keys_paragraph(request.deployment))
        files[f"{target}/gateway.yaml"] = head(request.source, target, *paragraphs) + manifests(objects)
        monitors.append(gateway_monitor(name))
    if asked:
        text = manifests(load(request, asked))
        files[f"{target}/load/load.yaml"] = head(request.source, target, *load_paragraphs(name)) + text
        files[f"{target}/monitoring.yaml"] = head(request.source, target) + manifests(monitors)
    return Rendered(files | shared_files(request, target), notes)
