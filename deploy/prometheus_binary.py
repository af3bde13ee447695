"""Finds the `prometheus` program and asks which version it is.

Owns: where it is looked for, which versions will do, how to get it. Knows nothing about what it is told.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from serving.engine.folders import DataFolder
from serving.errors import Failed

OLDEST = (2, 42)
"""The oldest one this was run with (Debian 12's)."""
ANSWERS_WITHIN_S = 10.0
HOW_TO_GET_IT = "apt install prometheus"
_VERSION = re.compile(r"^prometheus, version v?(?P<version>(?P<major>\d+)\.(?P<minor>\d+)\S*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Binary:
    """A Prometheus that can be started."""

    path: str
    version: str


def find(folder: DataFolder, environ: Mapping[str, str]) -> str | None:
    """The program: the one put into the data folder (`bin/prometheus`), else the first on PATH."""
    own = folder.root / "bin" / "prometheus"
    return str(own) if own.is_file() else shutil.which("prometheus", path=environ.get("PATH"))


def usable(path: str) -> Binary:
    """Ask the program for its version. Raises: Failed if it is not a Prometheus that will do."""
    fix = f"get another one: {HOW_TO_GET_IT}"
    try:
        told = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=ANSWERS_WITHIN_S, check=False,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise Failed(f"cannot be run: {error.strerror or error}", where=path, fix=fix) from error
    except subprocess.TimeoutExpired as error:
        raise Failed(f"did not tell its version in {ANSWERS_WITHIN_S:g} s", where=path, fix=fix) from error
    found = _VERSION.search(told.stdout + told.stderr)
    if found is None:
        raise Failed("does not answer --version as Prometheus does", where=path, fix=fix)
    if (int(found["major"]), int(found["minor"])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise Failed(
            f"is Prometheus {found['version']}, and {oldest} or newer is needed", where=path, fix=fix
        )
    return Binary(str(Path(path)), found["version"])
