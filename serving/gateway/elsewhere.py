"""Backends that others run: how they are reached, and with whose key and under which names they are asked.

Owns: what a request needs to go there, and what is wrong with a key or certificate file, said before anything
is started. Knows nothing about when a backend is used. A key is read here and leaves in one header; it is in
no message between processes, no log and no document.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from serving.config.document import Document
from serving.config.revisions import elsewhere
from serving.config.schema import Deployment, RevisionSection
from serving.errors import Problem, UsageError
from serving.gateway.aliases import TooIntricate, rename_model
from serving.gateway.answers import Refused

_MODELS = "/v1/models"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """One revision that others serve, as the deployment file says it. `urls` are without their `/v1`."""

    urls: tuple[str, ...]
    key_env: str | None = None
    key_file: Path | None = None
    ca_file: Path | None = None
    health: str | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    """The name there of each model by its name here."""


def revisions_elsewhere(deployment: Deployment, beside: Path) -> dict[str, Elsewhere]:
    """Those of a deployment file that lies in the folder `beside`, by their names."""
    return {section.name: _elsewhere(section, beside) for section in elsewhere(deployment)}


def check_elsewhere(
    deployment: Deployment, document: Document, beside: Path, environ: Mapping[str, str]
) -> None:
    """Find out whether every key and certificate is there. Raises: UsageError with all that are not."""
    problems = []
    for index, section in enumerate(deployment.revisions):
        for key, what, fix in _problems(_elsewhere(section, beside), environ):
            problems.append(Problem(what, document.where(("revisions", index, key)), fix))
    if problems:
        raise UsageError.of(problems)


class Access:
    """What a request to one revision elsewhere is changed by.

    Raises: UsageError for a key or a file that is not there.
    """

    def __init__(self, name: str, there: Elsewhere, environ: Mapping[str, str]) -> None:
        problems = [
            Problem(what, f"revisions: {name}: {key}", fix) for key, what, fix in _problems(there, environ)
        ]
        if problems:
            raise UsageError.of(problems)
        key = _key(there, environ)
        self.headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.health = there.health or _MODELS
        self.tls = None if there.ca_file is None else ssl.create_default_context(cafile=str(there.ca_file))
        self._models = dict(there.models)
        self._names_here = {name_there: here for here, name_there in there.models.items()}

    def dress(self, headers: Mapping[str, str], body: bytes | None) -> tuple[dict[str, str], bytes | None]:
        """Headers and body as they are sent there. Raises: Refused (400)."""
        if body and self._models and "Content-Encoding" not in headers:
            try:
                body = rename_model(body, self._models)
            except TooIntricate as error:
                message = "the request body has too many parts to look for its model"
                raise Refused(400, message, code="invalid_body") from error
        return {**headers, **self.headers}, body

    def listing(self, path: str, answer: bytes) -> bytes:
        """A list of models with their names here; all other answers, and what is no list, as they are."""
        if path != _MODELS or not self._names_here:
            return answer
        try:
            document = json.loads(answer)
            entries = [
                {**entry, "id": self._names_here.get(entry["id"], entry["id"])} for entry in document["data"]
            ]
        except (ValueError, TypeError, KeyError):
            return answer
        return json.dumps({**document, "data": entries}, ensure_ascii=False).encode()

    def reads(self, path: str) -> bool:
        """Whether an answer must be read as a whole for `listing`."""
        return path == _MODELS and bool(self._names_here)


def accesses(there: Mapping[str, Elsewhere], environ: Mapping[str, str]) -> dict[str, Access]:
    """What each revision is asked with. Raises: UsageError."""
    return {name: Access(name, one, environ) for name, one in there.items()}


def trust(there: Mapping[str, Elsewhere], known: Mapping[str, Access]) -> dict[str, ssl.SSLContext]:
    """By address, whose certificates count where it is not the system's list."""
    return {url: tls for name, one in there.items() if (tls := known[name].tls) for url in one.urls}


def _elsewhere(section: RevisionSection, beside: Path) -> Elsewhere:
    return Elsewhere(
        urls=tuple(url.rstrip("/").removesuffix("/v1").rstrip("/") for url in section.urls),
        key_env=section.key_env,
        key_file=None if section.key_file is None else beside / section.key_file,
        ca_file=None if section.ca_file is None else beside / section.ca_file,
        health=section.health,
        models=dict(section.models),
    )


def _problems(there: Elsewhere, environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    if there.key_env is not None and not environ.get(there.key_env, "").strip():
        yield "key_env", f"{there.key_env} is not set in the environment", f"export {there.key_env}=..."
    elif there.key_file is not None or there.key_env is not None:
        name = "key_env" if there.key_file is None else "key_file"
        try:
            key = _key(there, environ) or ""
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not text"
            yield name, f"{there.key_file} cannot be read: {reason}", "give a file with the key in it"
        else:
            # A line break in it would end the header, and begin another.
            if not key or not key.isascii() or not key.isprintable() or " " in key:
                yield name, "holds no key", "it must hold the key and nothing else"
    if there.ca_file is not None:
        try:
            ssl.create_default_context(cafile=str(there.ca_file))
        except OSError as error:
            reason = "it is no PEM certificate" if isinstance(error, ssl.SSLError) else error.strerror
            yield "ca_file", f"{there.ca_file} cannot be used: {reason}", "give a PEM file of certificates"


def _key(there: Elsewhere, environ: Mapping[str, str]) -> str | None:
    if there.key_file is not None:
        return there.key_file.read_text(encoding="utf-8").strip()
    return environ[there.key_env].strip() if there.key_env is not None else None
