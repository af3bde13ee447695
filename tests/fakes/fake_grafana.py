"""Grafana's HTTP API over HTTP, as far as push and annotations go, in the shapes of 11.6, 12 and 13.

No Grafana was to be had to hold the shapes against. Two were looked up: up to 11.4 a history is a bare list
(grafana/grafana#104556), and what a 406 says. The others are as its API is commonly described: from 12 on a
board may come back in a newer schema, and 13 gives no numeric ids.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

EDITOR, VIEWER = "glsa_editor", "glsa_viewer"
ANNOTATIONS = "/api/annotations"
Answer = tuple[int, Any]
"""A status with a document, or with bytes as they are."""


@dataclass
class FakeGrafana:
    """One organization of a Grafana: what is in it, and what it was asked."""

    version: str = "12.1.0"
    folders: dict[str, str] = field(default_factory=dict)
    nested: set[str] = field(default_factory=set)
    """Uids of folders that lie in others."""
    boards: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By uid: `versions`, each with its board and message, `folder` and `provisioned`."""
    annotations: list[dict[str, Any]] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    """By path: answered instead."""
    before_save: Callable[[FakeGrafana], None] = lambda _: None
    """Called once, before the next saving: somebody else is quicker."""
    hold: threading.Event | None = None
    """Nothing is answered before it is set."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])

    def saved(self, uid: str) -> dict[str, Any]:
        """The latest text of a board, as it was sent."""
        board: dict[str, Any] = self.boards[uid]["versions"][-1]["board"]
        return board

    def put(
        self, board: dict[str, Any], *, folder: str = "", message: str = "", provisioned: bool = False
    ) -> None:
        """Save a board as somebody else does."""
        kept = self.boards.setdefault(board["uid"], {"versions": []})
        kept |= {"folder": folder, "provisioned": provisioned}
        kept["versions"].append({"board": board, "message": message})

    def writes(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path in self.asked if method != "GET"]

    def answer(self, method: str, path: str, token: str | None, body: Any) -> Answer:
        """What one request gets."""
        self.asked.append((method, path))
        plain = unquote(urlsplit(path).path)
        if self.hold is not None:
            self.hold.wait(10)
        if plain in self.answers:
            return self.answers[plain]
        if plain == "/api/health":
            return 200, {"commit": "f00", "database": "ok", "version": self.version}
        if token not in (EDITOR, VIEWER):
            told = {
                "message": "Invalid API key",
                "messageId": "api-key.invalid",
                "statusCode": 401,
                "traceID": "",
            }
            return 401, told
        if method == "POST" and token == VIEWER:
            needed = "You'll need additional permissions to perform this action. Permissions needed: x"
            return 403, {"accessErrorId": "ACE1", "message": needed, "title": "Access denied"}
        return self._routed(method, plain, parse_qs(urlsplit(path).query), body)

    def _routed(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Answer:
        parts = path.removeprefix("/api/").split("/")
        match method, parts:
            case "GET", ["folders"]:
                return 200, [self._folder(uid) for uid in self.folders if uid not in self.nested]
            case "POST", ["folders"]:
                return self._make_folder(body)
            case "GET", ["folders", uid]:
                absent = {"message": "folder not found", "messageId": "folder.not-found", "statusCode": 404}
                return (200, self._folder(uid)) if uid in self.folders else (404, absent)
            case "GET", ["dashboards", "uid", uid]:
                return self._board(uid)
            case "GET", ["dashboards", "uid", uid, "versions"]:
                return self._versions(uid, int(query["limit"][0]))
            case "POST", ["dashboards", "db"]:
                return self._save(body)
            case "GET", ["datasources", "uid", uid]:
                found = {"id": self._id(3), "uid": uid, "name": self.sources.get(uid), "type": "prometheus"}
                return (200, found) if uid in self.sources else (404, {"message": "Data source not found"})
            case "POST", ["annotations"]:
                self.annotations.append(body)
                return 200, {"message": "Annotation added", "id": len(self.annotations)}
        return 404, {"message": "Not found"}

    def _id(self, number: int) -> int:
        return 0 if self.major >= 13 else number

    def _folder(self, uid: str) -> dict[str, Any]:
        return {"id": self._id(7), "uid": uid, "title": self.folders[uid], "version": 1}

    def _make_folder(self, body: Any) -> Answer:
        if body["uid"] in self.folders:
            return 412, {
                "message": "the folder has been changed by someone else",
                "status": "version-mismatch",
            }
        if body["title"] in self.folders.values():
            told = "a folder with the same name already exists in the current location"
            return 409, {"message": told, "status": "name-exists"}
        self.folders[body["uid"]] = body["title"]
        return 200, self._folder(body["uid"])

    def _board(self, uid: str) -> Answer:
        if uid not in self.boards:
            return 404, {"message": "Dashboard not found", "traceID": ""}
        kept = self.boards[uid]
        number = len(kept["versions"])
        board = {**self.saved(uid), "id": self._id(11), "version": number}
        if self.major >= 12:
            board["schemaVersion"] = 42  # brought up to date on its way out
        meta = {"type": "db", "slug": uid, "version": number, "folderUid": kept["folder"]}
        return 200, {"meta": {**meta, "provisioned": kept["provisioned"]}, "dashboard": board}

    def _versions(self, uid: str, most: int) -> Answer:
        kept = list(enumerate(self.boards[uid]["versions"], start=1))
        listed = [
            {"id": self._id(n), "uid": uid, "version": n, "createdBy": "x", "message": one["message"]}
            for n, one in reversed(kept)
        ][:most]
        return 200, listed if self.version < "11.5" else {"continueToken": "", "versions": listed}

    def _save(self, body: Any) -> Answer:
        before, self.before_save = self.before_save, lambda _: None
        before(self)
        board, uid = body["dashboard"], body["dashboard"]["uid"]
        kept = self.boards.get(uid)
        if kept is not None and kept["provisioned"]:
            return 400, {"message": "Cannot save provisioned dashboard"}
        if body["folderUid"] not in self.folders:
            return 400, {"message": "folder not found", "status": "folder-not-found"}
        if kept is not None and not body["overwrite"] and board.get("version", 0) != len(kept["versions"]):
            told = "The dashboard has been changed by someone else"
            return 412, {"message": told, "status": "version-mismatch"}
        text = {key: value for key, value in board.items() if key not in ("id", "version")}
        self.put(text, folder=body["folderUid"], message=body["message"])
        number = len(self.boards[uid]["versions"])
        gives = {"id": self._id(11), "uid": uid, "url": f"/d/{uid}/{uid}", "status": "success", "slug": uid}
        return 200, {**gives, "version": number, "folderUid": body["folderUid"]}


@contextmanager
def grafana(
    version: str = "12.1.0", *, prefix: str = "", tls: tuple[str, str] | None = None
) -> Iterator[FakeGrafana]:
    """One that listens on loopback, below the path `prefix`. `tls`: files of a certificate and its key."""
    fake = FakeGrafana(version)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one piece, or the kernel waits with the second

        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
            found = self.path.startswith(f"{prefix}/api/")
            path = self.path.removeprefix(prefix)
            status, told = (
                fake.answer(self.command, path, token, json.loads(body or b"null")) if found else (404, b"")
            )
            content = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            if status in (301, 302, 307, 308):
                self.send_header("Location", content.decode())
                content = b""
            if status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _reply

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """A client that does not wait for its answer is part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    fake.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}{prefix}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield fake
    finally:
        if fake.hold is not None:
            fake.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()
