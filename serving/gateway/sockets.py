"""Listening sockets: bound before anything is served, with words where they cannot be had.

Owns: binding, and what a refused address means for the deployment file. Knows nothing about what is served.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable

from serving.errors import Failed

BACKLOG = 1024


def bind(host: str, port: int, key: str, *, sets: int = 1) -> list[list[socket.socket]]:
    """Sockets for every address of `host`, all on one port; port 0 takes any free one.

    With several `sets`, one for each process: the kernel shares connections out among them (SO_REUSEPORT).
    Raises: Failed, naming the key of the deployment file, with nothing left open.
    """
    opened: list[list[socket.socket]] = []
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        if sets > 1:
            # A port that can be shared is never taken, so whether it is free has to be asked without sharing.
            (asked,) = bind(host, port, key)
            port = asked[0].getsockname()[1]
            close(asked)
        for _ in range(sets):
            opened.append([])
            for family, _kind, _proto, _name, address in dict.fromkeys(addresses):
                one = _bound(family, (address[0], port, *address[2:]), shared=sets > 1)
                opened[-1].append(one)
                port = one.getsockname()[1]
    except OSError as error:
        for some in opened:
            close(some)
        raise cannot_listen(error, host, port, key) from error
    return opened


def _bound(family: int, address: tuple[object, ...], *, shared: bool) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.setblocking(False)
        one.bind(address)
        # Now, so that a client that comes while the rest is set up waits instead of being refused.
        one.listen(BACKLOG)
    except OSError:
        one.close()
        raise
    return one


def close(sockets: Iterable[socket.socket]) -> None:
    """Close them all."""
    for one in sockets:
        one.close()


def url_of(host: str, one: socket.socket, *, tls: bool) -> str:
    """The address that a client uses for a listening socket."""
    scheme = "https" if tls else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{one.getsockname()[1]}"


def cannot_listen(error: OSError, host: str, port: int, key: str) -> Failed:
    """Say why an address cannot be listened on, and which key of the deployment file decides it."""
    where = f"gateway.{key}"
    host_key = "gateway.admin_host" if key == "admin_port" else "gateway.host"
    if error.errno == errno.EADDRINUSE:
        return Failed(
            f"port {port} on {host} is in use by another process",
            where=where,
            fix=f"stop that process (`ss -ltnp 'sport = :{port}'` names it) or set {where} to a free port",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return Failed(
            f"this user may not listen on port {port}", where=where, fix=f"set {where} to 1024 or more"
        )
    reason = error.strerror or str(error)
    return Failed(f"cannot listen on {host}:{port}: {reason}", where=host_key, fix=f"set {host_key}")
