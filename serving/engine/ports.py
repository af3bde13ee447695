"""Ports of this machine: a free one, who holds a taken one.

Owns: asking the kernel about TCP ports. Knows nothing about who wants them.
"""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

from serving.engine.leftovers import PROC, Process
from serving.errors import Failed

LOOPBACK = "127.0.0.1"
_LISTEN = "0A"


def free_port(host: str = LOOPBACK) -> int:
    """A port that is free now. Another program may take it before it is used: be ready to try again."""
    with closing(socket.socket()) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now (a closed server's lingering connections do not matter)."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def require_free(host: str, port: int, key: str) -> None:
    """Raises: Failed naming the port, its holder where that can be seen, and `key`, which sets another one.

    Port 0 is always free: the kernel chooses.
    """
    if port == 0 or is_free(host, port):
        return
    holder = port_holder(port)
    by = f" by process {holder.pid} ({holder.command[:120]})" if holder else ""
    raise Failed(
        f"port {port} is taken{by}", where=f"{host}:{port}", fix=f"stop that, or set {key} to a free port"
    )


def port_holder(port: int, proc: Path = PROC) -> Process | None:
    """The process that listens on the port; None if there is none or it is another user's."""
    sockets = {
        f"socket:[{inode}]" for name in ("tcp", "tcp6") for inode in _listening(proc / "net" / name, port)
    }
    if not sockets:
        return None
    for folder in proc.iterdir():
        if folder.name.isdigit() and _holds(folder, sockets):
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            return Process(int(folder.name), command)
    return None


def _listening(table: Path, port: int) -> set[str]:
    """The inodes of sockets that listen on the port, from a table such as /proc/net/tcp."""
    try:
        rows = table.read_text().splitlines()[1:]
    except OSError:
        return set()
    fields = (row.split() for row in rows)
    return {f[9] for f in fields if f[3] == _LISTEN and int(f[1].rpartition(":")[2], 16) == port}


def _holds(folder: Path, sockets: set[str]) -> bool:
    try:
        return any(str(link.readlink()) in sockets for link in (folder / "fd").iterdir())
    except OSError:
        return False
