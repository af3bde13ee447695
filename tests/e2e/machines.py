"""Two machines on one: network namespaces with a cable between them, which only root may make.

Owns: their making and removal, and running programs in them. Knows nothing about engines.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

ADDRESSES = ("10.77.0.1", "10.77.0.2")


class NotPermitted(Exception):
    """This machine gives no network namespaces."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A network namespace."""

    namespace: str
    address: str

    def command(self, *words: str) -> list[str]:
        """A program as it is run there."""
        return ["ip", "netns", "exec", self.namespace, *words]

    def get(self, url: str, body: str | None = None) -> tuple[int, str]:
        """Status and text of a request that is made there; status 0 where nobody answers."""
        posted = ["-H", "content-type: application/json", "-d", body] if body is not None else []
        done = subprocess.run(
            self.command("curl", "-s", "-m", "120", "-w", "\n%{http_code}", *posted, url),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        text, _, status = done.stdout.rpartition("\n")
        return int(status or 0), text


@contextlib.contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Two machines that reach each other, and nothing else. Raises: NotPermitted."""
    first, second = (Machine(f"teapot{os.getpid()}-{n}", address) for n, address in enumerate(ADDRESSES))
    try:
        for machine in (first, second):
            _ip("netns", "add", machine.namespace)
        cable = ("link", "add", "cable", "netns", first.namespace, "type", "veth")
        _ip(*cable, "peer", "name", "cable", "netns", second.namespace)
        for machine in (first, second):
            inside = ("-n", machine.namespace)
            _ip(*inside, "addr", "add", f"{machine.address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                _ip(*inside, "link", "set", device, "up")
        yield first, second
    finally:
        for machine in (first, second):
            with contextlib.suppress(NotPermitted):
                _ip("netns", "del", machine.namespace)


def _ip(*words: str) -> None:
    try:
        subprocess.run(["ip", *words], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotPermitted(f"ip {' '.join(words)}: {error}") from None


def pinned(core: int, words: Sequence[str]) -> list[str]:
    """A program that may use one core only."""
    return ["taskset", "-c", str(core), *words]


def started(words: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """A program in a process group of its own, so that all of it can be ended."""
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True, **how)
