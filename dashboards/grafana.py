"""What is asked of a Grafana: its version, folders, boards, annotations.

Owns: these questions, and the shapes of the answers of Grafana 11 to 13. Knows nothing about how a call is
made (`grafana_call`), what boards are pushed, or what an annotation is for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from dashboards.grafana_call import ABSENT, GrafanaCalls, GrafanaFailed

__all__ = ["Found", "Grafana", "GrafanaFailed"]

TIMEOUT_S = 10.0
OLDEST = 11
"""The first major version that draws the boards."""
_FORBIDDEN = 403
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found:
    """A board as Grafana has it."""

    board: Mapping[str, Any]
    version: int
    folder_uid: str
    provisioned: bool = False
    """It comes from a file, and Grafana refuses to save it."""

    @property
    def tags(self) -> Sequence[str]:
        """Its tags."""
        return self.board.get("tags") or ()


class Grafana:
    """A Grafana server. Every method raises GrafanaFailed where it is not done.

    Raises: UsageError where `url` is no address or `token` no token.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = TIMEOUT_S,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._calls = GrafanaCalls(url, token, timeout_s, environ)
        self._face = self._calls.face
        self.url = self._calls.url

    def close(self) -> None:
        """Let go of its connections."""
        self._calls.close()

    def version(self) -> str:
        """Its version; empty where it hides it. Raises: GrafanaFailed where it is too old, or no Grafana."""
        health = self._maybe(lambda: self._face.api.GET("/health"), "/health")
        if not isinstance(health, dict) or "database" not in health:
            raise self._calls.no_grafana("it has no /api/health")
        version = str(health.get("version", ""))
        major = re.match(r"\d+", version)
        if major and int(major[0]) < OLDEST:
            raise GrafanaFailed(
                f"this is Grafana {version}, and the boards need {OLDEST} or newer",
                where=self.url,
                fix="update it, or look at the boards without it: teapot dashboards preview",
            )
        return version

    def folder(self, uid: str) -> str | None:
        """The title of a folder; None: there is none."""
        found = self._maybe(lambda: self._face.folder.get_folder(quote(uid, safe="")), f"/folders/{uid}")
        return None if found is None else self._read(lambda: str(found["title"]))

    def folders(self) -> Mapping[str, str]:
        """The folders at the top: title by uid."""
        listed = self._calls.do(self._face.folder.get_all_folders, "/folders")
        return self._read(lambda: {str(one["uid"]): str(one["title"]) for one in listed})

    def create_folder(self, uid: str, title: str) -> None:
        """Make a folder. Raises: GrafanaFailed with status 409 or 412 where there is one."""
        self._calls.do(lambda: self._face.folder.create_folder(title, uid), "/folders")

    def board(self, uid: str) -> Found | None:
        """A board; None: there is none."""
        path = f"/dashboards/uid/{uid}"
        got = self._maybe(lambda: self._face.dashboard.get_dashboard(quote(uid, safe="")), path)
        if got is None:
            return None
        return self._read(lambda: _found(got["dashboard"], got["meta"]))

    def message(self, uid: str, version: int) -> str:
        """What was said when a version of a board was saved; empty: not the latest, not told."""
        path = f"/dashboards/uid/{quote(uid, safe='')}/versions?limit=1"
        try:
            got = self._ask(path)
        except GrafanaFailed as error:
            if error.status is None:
                raise
            return ""
        listed = got.get("versions") if isinstance(got, dict) else got
        latest = listed[0] if isinstance(listed, list) and listed else {}
        return str(latest.get("message") or "") if latest.get("version") == version else ""

    def save(
        self, board: Mapping[str, Any], *, folder_uid: str, message: str, overwrite: bool = False
    ) -> str:
        """Save a board, whose `version` is the one it replaces; returns its path in Grafana.

        Raises: GrafanaFailed, with status 412 where it was changed meanwhile and `overwrite` is not given.
        """
        sent = {"dashboard": board, "folderUid": folder_uid, "message": message, "overwrite": overwrite}
        got = self._calls.do(lambda: self._face.dashboard.update_dashboard(sent), "/dashboards/db")
        return str(got.get("url") or f"/d/{board['uid']}")

    def source_name(self, uid: str) -> str | None:
        """The name of a data source, its uid where the token may not read it; None: there is none."""
        try:
            found = self._maybe(
                lambda: self._face.api.GET(f"/datasources/uid/{quote(uid, safe='')}"),
                f"/datasources/uid/{uid}",
            )
        except GrafanaFailed as error:
            if error.status == _FORBIDDEN:
                return uid
            raise
        return None if found is None else self._read(lambda: str(found["name"]))

    def annotate(self, text: str, tags: Sequence[str], *, at_ms: int, until_ms: int | None = None) -> None:
        """Mark a moment, or a time, for all boards that ask for these tags; Unix time in ms."""
        add = self._face.annotations.add_annotation
        self._calls.do(
            lambda: add(time_from=at_ms, time_to=until_ms, tags=list(tags), text=text), "/annotations"
        )

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._calls.no_grafana(f"an answer of another shape ({error!r})") from error

    def _ask(self, path: str) -> Any:
        return self._calls.do(lambda: self._face.api.GET(path), path.partition("?")[0])

    def _maybe(self, call: Callable[[], Any], path: str) -> Any:
        try:
            return self._calls.do(call, path)
        except GrafanaFailed as error:
            if error.status == ABSENT:
                return None
            raise


def _found(board: Mapping[str, Any], meta: Mapping[str, Any]) -> Found:
    version = board.get("version") or meta.get("version") or 0
    return Found(board, int(version), meta.get("folderUid") or "", bool(meta.get("provisioned")))
