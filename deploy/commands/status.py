"""`teapot status`: what a running deployment serves with, as its admin interface tells it.

Owns: asking `/status` and showing it as tables. Knows nothing about how the gateway comes to know it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from serving.console import Console
from serving.errors import EXIT_OK, Failed, UsageError

DEFAULT_ADMIN = "http://127.0.0.1:8001"
TIMEOUT_S = 5.0
_SHOWN = {True: "yes", False: "NO", None: "unknown"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--admin", metavar="URL", default=DEFAULT_ADMIN, help="the admin address of the running gateway"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Show the state of the deployment behind `--admin`."""
    status = fetch(args.admin)
    console.document(status)
    console.result(render(status))
    return EXIT_OK


def fetch(admin_url: str) -> Mapping[str, Any]:
    """The document of `GET /status`. Raises: UsageError on a wrong URL, Failed if it cannot be had."""
    url = f"{checked(admin_url).rstrip('/')}/status"
    # A proxy from the environment could not reach this machine's loopback.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(url, timeout=TIMEOUT_S) as answer:
            return _document(answer.read(), url)
    except HTTPError as error:
        reason = f"answered {error.code}, so it is not the admin interface of a teapot gateway"
        error.close()
    except (URLError, OSError) as error:
        reason = f"cannot be reached ({_reason(error)})"
    raise Failed(
        f"the gateway's admin interface {reason}",
        where=url,
        fix="start one with `teapot serve FILE`, or give its gateway.admin_port with --admin URL",
    )


def checked(admin_url: str) -> str:
    """What was given with `--admin`. Raises: UsageError where it is no address."""
    try:
        parts = urlsplit(admin_url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right:
        raise UsageError(
            f"'{admin_url}' is not an http address", where="--admin", fix=f"write it like {DEFAULT_ADMIN}"
        )
    return admin_url


def render(status: Mapping[str, Any]) -> str:
    """The document as text for people."""
    backends = [
        (rev["name"], f"{rev['weight']:.0%}", b["url"], b["role"], _state(b), str(b["in_flight"]))
        for rev in status["revisions"]
        for b in rev["backends"]
    ]
    own = [
        (rev["name"], rev["state"], rev["file"], rev["problem"] or "")
        for rev in status["revisions"]
        if "state" in rev and (len(status["revisions"]) > 1 or rev["problem"])
    ]
    modes = [(m["kind"], m["asked"], _SHOWN[m["in_effect"]], m["evidence"]) for m in status["modes"]]
    blocks = [f"{status['name']}: {status['state']}"]
    if backends:
        blocks.append(_table(("REVISION", "WEIGHT", "BACKEND", "ROLE", "STATE", "IN FLIGHT"), backends))
    if own:
        blocks.append(_table(("REVISION", "ENGINES", "FILE", "PROBLEM"), own))
    if (rollout := status.get("rollout")) is not None:
        state, why = rollout["state"].replace("_", " "), rollout.get("why")
        blocks.append(f"rollout of {rollout['revision']}: {state}" + (f": {why}" if why else ""))
    if modes:
        blocks.append(_table(("MODE", "ASKED", "IN EFFECT", "EVIDENCE"), modes))
    if status.get("prometheus"):
        blocks.append(f"Prometheus: {status['prometheus']}")
    return "\n\n".join(blocks)


def _state(backend: Mapping[str, Any]) -> str:
    detail = backend.get("detail")
    return f"{backend['state']} ({detail})" if detail else str(backend["state"])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)
    )
    return "\n".join(line.rstrip() for line in lines)


def _document(body: bytes, url: str) -> Mapping[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not {"name", "state", "revisions", "modes"} <= value.keys():
        raise Failed(
            "the answer is not the status of a teapot gateway", where=url, fix="give the right --admin URL"
        )
    return value


def _reason(error: OSError) -> str:
    inner = error.reason if isinstance(error, URLError) else error
    return getattr(inner, "strerror", None) or str(inner)
