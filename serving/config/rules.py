"""What does not go together in one deployment file, whatever the machine.

Owns: rules over several keys. Knows nothing about single values (the schema has those), models,
devices or versions (the modes have those).
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from serving.config.arguments import argument_problems
from serving.config.document import Document, KeyPath
from serving.config.revisions import revision_problems
from serving.config.rollout import rollout_problems
from serving.config.schema import Deployment, GatewaySection
from serving.config.variables import env_problems
from serving.errors import Problem


def deployment_problems(deployment: Deployment, document: Document) -> list[Problem]:
    """All contradictions of a deployment, in the order of their lines."""
    every = [*_contradictions(deployment), *revision_problems(deployment, document)]
    found = sorted(every, key=lambda entry: document.line(entry[0]))
    return [Problem(what, document.where(path), fix) for path, what, fix in found]


def _contradictions(deployment: Deployment) -> Iterator[tuple[KeyPath, str, str]]:
    first: dict[str, int] = {}
    for index, mode in enumerate(deployment.modes):
        if mode.kind in first:
            what = f"'{mode.kind}' is already modes[{first[mode.kind]}]"
            yield ("modes", index, "kind"), what, "keep one of them"
        first.setdefault(mode.kind, index)
    engine, gateway = deployment.engine, deployment.gateway
    if engine.kv_cache_memory is not None and engine.gpu_memory_utilization is not None:
        what = "kv_cache_memory already sizes the KV cache"
        yield ("engine", "gpu_memory_utilization"), what, "give one of the two"
    for key, what, fix in argument_problems(engine.args):
        yield ("engine", "args", key), what, fix
    for name, what, fix in env_problems(engine.env):
        yield ("engine", "env", name), what, fix
    if deployment.replicas > 1 and "disaggregated" in first:
        what = "the mode disaggregated already says how many engines there are"
        yield ("replicas",), what, "leave replicas out and raise prefill and decode"
    yield from _gateway(gateway)
    yield from rollout_problems(deployment.rollout)


def _gateway(gateway: GatewaySection) -> Iterator[tuple[KeyPath, str, str]]:
    if gateway.port == gateway.admin_port != 0 and gateway.host == gateway.admin_host:
        what = f"port {gateway.port} is the gateway's own"
        yield ("gateway", "admin_port"), what, "give the admin address another port"
    if not _is_loopback(gateway.admin_host):
        what = f"'{gateway.admin_host}' can be reached from other machines"
        yield ("gateway", "admin_host"), what, "the admin address has no keys: use 127.0.0.1"
    if not _is_loopback(gateway.host) and gateway.keys_file is None and not gateway.allow_anonymous:
        what = f"'{gateway.host}' can be reached from other machines, and no keys are asked for"
        fix = "set gateway.keys_file (see teapot keys add), or gateway.allow_anonymous: true for everyone"
        yield ("gateway", "host"), what, fix
    if gateway.keys_file is not None and gateway.allow_anonymous:
        what = "a key is asked for, as keys_file is given"
        yield ("gateway", "allow_anonymous"), what, "leave one of the two out"
    for alias, name in gateway.aliases.items():
        if name in gateway.aliases:
            yield ("gateway", "aliases", alias), f"'{name}' is itself an alias", "name the model"


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
