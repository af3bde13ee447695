"""What the revisions of a deployment file mean: which are its own engines, which are elsewhere, their shares.

Owns: that reading, and the rules over the keys of that section. Knows nothing about gateways or addresses.
"""

from __future__ import annotations

from collections.abc import Iterator

from serving.config.document import Document, KeyPath
from serving.config.schema import Deployment, RevisionSection
from serving.errors import UsageError

OWN = "main"
"""What the file's own engines are called where nobody says otherwise."""
_ELSEWHERE_ONLY = ("key_env", "key_file", "ca_file", "health", "models")
_OF_ENGINES = ("model", "engine", "modes", "replicas")


def own_revision(deployment: Deployment) -> str | None:
    """The name of the revision that is this file's engines; None: it starts none."""
    if not deployment.revisions:
        return OWN
    return next((revision.name for revision in deployment.revisions if not revision.urls), None)


def elsewhere(deployment: Deployment) -> tuple[RevisionSection, ...]:
    """The revisions that are served by others."""
    return tuple(revision for revision in deployment.revisions if revision.urls)


def weights(deployment: Deployment) -> dict[str, float]:
    """The share of each revision that is listed, as written: they need not add up to anything."""
    return {revision.name: revision.weight for revision in deployment.revisions}


def require_engines(deployment: Deployment, document: Document, what: str) -> None:
    """Refuse a file that starts no engine where one is needed for `what`. Raises: UsageError."""
    if own_revision(deployment) is None:
        raise UsageError(
            f"all revisions are served elsewhere, so there is no engine to {what}",
            where=document.where(("revisions",)),
            fix="for engines of its own, add a revision without urls: {name: main}",
        )


def revision_problems(deployment: Deployment, document: Document) -> Iterator[tuple[KeyPath, str, str]]:
    """What does not go together: path, what is wrong, what to do."""
    revisions = deployment.revisions
    names: dict[str, int] = {}
    urls: dict[str, KeyPath] = {}
    own: int | None = None
    for index, revision in enumerate(revisions):
        at: KeyPath = ("revisions", index)
        if revision.name in names:
            what = f"'{revision.name}' is already revisions[{names[revision.name]}]"
            yield (*at, "name"), what, "give each revision a name of its own"
        names.setdefault(revision.name, index)
        for number, url in enumerate(revision.urls):
            if (same := url.rstrip("/")) in urls:
                yield (*at, "urls", number), f"'{url}' is listed already", "list each address once"
            urls.setdefault(same, at)
        if revision.key_env is not None and revision.key_file is not None:
            yield (*at, "key_file"), "the key is in key_env already", "keep one of them"
        if revision.urls:
            continue
        if own is not None:
            what = f"revisions[{own}] is this file's own engines already"
            yield at, what, "give it urls; engines of another kind are a deployment file of their own"
        own = index if own is None else own
        for key in _ELSEWHERE_ONLY:
            if getattr(revision, key):
                yield (*at, key), "is only for a revision with urls", "add urls, or leave it out"
    if revisions and not any(revision.weight > 0 for revision in revisions):
        yield ("revisions",), "no revision has a weight above 0", "give one a weight, such as weight: 1"
    if revisions and own is None:
        for key in _OF_ENGINES:
            if document.source((key,)) is not None:
                what = "is about engines of its own, and all revisions are served elsewhere"
                yield (key,), what, f"leave {key} out, or add a revision without urls: {{name: {OWN}}}"
