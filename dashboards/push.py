"""Puts the boards into a Grafana: all of them, or none where one is somebody else's.

Owns: what is created, replaced, left alone and refused. Knows nothing about HTTP, and nothing about what is
drawn.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dashboards.grafana import Found, Grafana, GrafanaFailed
from dashboards.provisioned import FOLDER, FOLDER_UID
from dashboards.render import TAG
from serving.errors import Failed, Problem, UsageError

Json = Mapping[str, Any]
Did = Literal["created", "updated", "unchanged"]
TRIES = 3
"""Somebody may save a board between our look at it and our own saving."""
_CONFLICT = (409, 412)
"""Answers to what was saved meanwhile, and to making a folder that is there, in another one perhaps."""
_UID_MOST = 40
_NUMBERS = ("id", "version")
"""What Grafana gives a board."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of one board."""

    uid: str
    title: str
    did: Did
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of all."""

    version: str
    folder: str
    folder_created: bool
    boards: tuple[Pushed, ...]


def push(
    grafana: Grafana,
    boards: Sequence[Json],
    *,
    folder: str | None = None,
    source_uid: str | None = None,
    force: bool = False,
) -> Result:
    """Put boards into a folder, which is made where there is none. `force` replaces what is not ours.

    Raises: Failed with everything that stands against it, and then nothing was written.
    """
    version = grafana.version()
    wanted = [_with_source(grafana, board, source_uid) for board in boards] if source_uid else list(boards)
    found = {board["uid"]: grafana.board(board["uid"]) for board in wanted}
    _refuse(grafana.url, found, force=force)
    uid, title, created = _folder(grafana, folder)
    pushed = tuple(_push(grafana, board, found[board["uid"]], uid, force=force) for board in wanted)
    return Result(version, title, created, pushed)


def fingerprint(board: Json) -> str:
    """What tells one text of a board from another: Grafana may bring up to date what it gives back."""
    canonical = json.dumps(_own(board), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def is_ours(found: Found) -> bool:
    """Whether a board has our mark."""
    return TAG in found.tags


def message_of(board: Json) -> str:
    """What is said in Grafana's history of a version that we save."""
    return f"teapot dashboards push {fingerprint(board)}"


def _own(board: Json) -> dict[str, Any]:
    return {key: value for key, value in board.items() if key not in _NUMBERS}


def _refuse(url: str, found: Mapping[str, Found | None], *, force: bool) -> None:
    problems = [
        Problem(
            f"a board that is not teapot's has this uid: '{there.board.get('title')}' (no tag '{TAG}')",
            f"{url}/d/{uid}",
            "give it another uid there, or replace it with --force",
        )
        for uid, there in found.items()
        if there is not None and not is_ours(there) and not force
    ]
    if problems:
        raise Failed.of(problems)


def _folder(grafana: Grafana, name: str | None) -> tuple[str, str, bool]:
    """A folder's uid and title, and whether it was made now."""
    # Listed and not asked for by uid: some Grafana 12 answer an editor 403 or 500 for one that is not there.
    listed = grafana.folders()
    if name is None:
        uid, name, named = FOLDER_UID, FOLDER, [uid for uid in listed if uid == FOLDER_UID]
    else:
        uid, named = _folder_uid(name), [uid for uid, title in listed.items() if name in (uid, title)]
    if len(named) > 1:
        fix = f"give one's uid: {', '.join(named)}"
        raise UsageError(f"{len(named)} folders are named '{name}'", where="--folder", fix=fix)
    if named:
        return named[0], listed[named[0]], False
    try:
        grafana.create_folder(uid, name)
    except GrafanaFailed as error:
        there = grafana.folder(uid) if error.status in _CONFLICT else None
        if there is not None:
            return uid, there, False
        if error.status not in _CONFLICT:
            raise
        raise Failed(
            f"Grafana has a folder '{name}' with another uid",
            where=grafana.url,
            fix=f"put the boards into that one: --folder '{name}'",
        ) from error
    return uid, name, True


def _folder_uid(name: str) -> str:
    """The same for the same name, and in Grafana's letters."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain == name and len(plain) + len(FOLDER_UID) < _UID_MOST:
        return f"{FOLDER_UID}-{plain}"
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{FOLDER_UID}-{plain[:20]}-{digest}".replace("--", "-")


def _push(grafana: Grafana, board: Json, seen: Found | None, folder_uid: str, *, force: bool) -> Pushed:
    uid, title, url = board["uid"], board["title"], f"{grafana.url}/d/{board['uid']}"
    for left in reversed(range(TRIES)):
        if seen is not None and seen.folder_uid == folder_uid and _same(grafana, board, seen):
            return Pushed(uid, title, "unchanged", url)
        if seen is not None and seen.provisioned:
            raise Failed(
                "Grafana has this board from a file and refuses to save another",
                where=url,
                fix="change the files that it is provisioned from, or take them away",
            )
        sent = {**board, "id": None, **({} if seen is None else {"version": seen.version})}
        note = _replaced(grafana, seen) if seen is not None else ""
        try:
            grafana.save(sent, folder_uid=folder_uid, message=message_of(board), overwrite=force)
        except GrafanaFailed as error:
            if error.status not in _CONFLICT or not left:
                raise
            seen = grafana.board(uid)
            _refuse(grafana.url, {uid: seen}, force=force)
            continue
        return Pushed(uid, title, "created" if seen is None else "updated", url, note)
    raise AssertionError("the last try returns or raises")


def _same(grafana: Grafana, board: Json, seen: Found) -> bool:
    return _own(seen.board) == _own(board) or grafana.message(seen.board["uid"], seen.version) == message_of(
        board
    )


def _replaced(grafana: Grafana, seen: Found) -> str:
    """What is worth telling of the version that is replaced."""
    if not is_ours(seen):
        return f"'{seen.board.get('title')}' was not teapot's; it is version {seen.version} of its history"
    said = grafana.message(seen.board["uid"], seen.version)
    if said.startswith("teapot dashboards push "):
        return ""
    return f"it was changed in Grafana; that is version {seen.version} of its history"


def _with_source(grafana: Grafana, board: Json, uid: str) -> Json:
    """The board with a data source chosen at its top."""
    name = grafana.source_name(uid)
    if name is None:
        raise Failed(
            f"Grafana has no data source with the uid '{uid}'",
            where=grafana.url,
            fix="give the uid that the data source's own page has in its address",
        )
    listed = board["templating"]["list"]
    chosen = {"selected": True, "text": name, "value": uid}
    variables = [{**one, "current": chosen} if one["type"] == "datasource" else one for one in listed]
    return {**board, "templating": {**board["templating"], "list": variables}}
