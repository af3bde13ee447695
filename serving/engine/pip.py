"""What pip says, understood: progress as it goes, and the cause when it fails.

Owns: reading pip's lines. Knows nothing about running it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from serving.errors import Failed

_GOT = re.compile(r"^\s*(?:Collecting|Processing) ")
_INSTALLING = re.compile(r"^Installing collected packages: (.*)")
_SIZE = re.compile(r"^\s*Downloading .*\((?P<number>[\d.]+) (?P<unit>bytes|kB|MB|GB)\)")
_UNIT_BYTES = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_MISSING = re.compile(r"No matching distribution found for (?P<name>\S+)")
_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|Failed to establish a new connection|ConnectTimeoutError"
    r"|Temporary failure in name resolution|Network is unreachable|ReadTimeoutError|ProxyError"
    r"|Connection refused"
)


class PipProgress:
    """Counts what pip collects and downloads, line by line."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self.collected = 0
        self.downloaded_bytes = 0
        self.installing = 0

    def hear(self, line: str) -> None:
        """Take in one line of pip's."""
        if _GOT.match(line):
            self.collected += 1
        elif size := _SIZE.match(line):
            self.downloaded_bytes += int(float(size["number"]) * _UNIT_BYTES[size["unit"]])
        elif names := _INSTALLING.match(line):
            self.installing = names[1].count(",") + 1

    def __str__(self) -> str:
        if self.installing:
            return f"unpacking {self.installing} packages"
        packages = f"{self.collected} of {max(self._wanted, self.collected)} packages"
        return f"{packages}, {self.downloaded_bytes / 1e6:.0f} MB downloaded"


def missing_package(lines: Sequence[str]) -> str | None:
    """The requirement that pip found nowhere although its indexes answered; None if that was not it."""
    if _no_network(lines):
        return None
    for line in lines:
        if found := _MISSING.search(line):
            return found["name"]
    return None


def failure(lines: Sequence[str], log: str) -> Failed:
    """Why pip failed, in the user's terms."""
    text = "\n".join(lines)
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return Failed(
            "the disk is full",
            where=log,
            fix="free some space or set TEAPOT_HOME to a larger disk, and run again",
        )
    if _no_network(lines):
        return Failed(
            "the package index does not answer",
            where=log,
            fix="check the network, or point pip at a mirror (pip config set global.index-url); run again",
        )
    if missing := missing_package(lines):
        return Failed(
            f"pip finds no package for {missing}",
            where=log,
            fix="point pip at an index that has it for this Python and machine "
            "(pip config set global.extra-index-url ...), and run again",
        )
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    what = errors[-1] if errors else (lines[-1] if lines else "it said nothing")
    return Failed(f"pip failed: {what}", where=log, fix="see the log, and run again")


def _no_network(lines: Sequence[str]) -> bool:
    return any(_NO_NETWORK.search(line) for line in lines)
