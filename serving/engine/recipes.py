"""How an engine environment is made, as data: recipes per device and vLLM version.

Owns: reading recipes.toml, choosing one, and its pip arguments. Knows nothing about running pip.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serving.errors import UsageError
from serving.modes.mode import Device

if TYPE_CHECKING:
    from serving.config.document import Document
    from serving.config.schema import Deployment

REQUIREMENTS = Path(__file__).parent / "requirements"


@dataclass(frozen=True, slots=True)
class Step:
    """One run of pip."""

    title: str
    packages: Sequence[str] = ()
    file: Path | None = None
    dependencies: bool = True
    fallback_index: str | None = None
    """Asked when pip's own indexes do not have the packages."""

    def pip_arguments(self) -> list[str]:
        """The arguments of `pip install` that name what is to be installed."""
        wanted = [*self.packages, *(["--requirement", str(self.file)] if self.file else [])]
        return wanted if self.dependencies else ["--no-deps", *wanted]

    def count(self) -> int:
        """How many packages this step names."""
        if self.file is None:
            return len(self.packages)
        lines = (line.strip() for line in self.file.read_text().splitlines())
        return len(self.packages) + sum(1 for line in lines if line and not line.startswith("#"))


@dataclass(frozen=True, slots=True)
class Recipe:
    """One device and vLLM version, and the steps that make its environment."""

    device: Device
    version: str
    distribution: str
    free_bytes: int
    """What the disk must have free before the install begins."""
    steps: Sequence[Step]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that this build of vLLM needs, for every engine of the environment."""
    alias_version: str | None = None
    """If set, the version under which the distribution is also known as `vllm`."""

    def environment_name(self, python: tuple[int, int]) -> str:
        """The folder's name, such as `vllm-0.32.0-cpu-py311`."""
        return f"vllm-{self.version}-{self.device}-py{python[0]}{python[1]}"

    def fingerprint(self) -> str:
        """A short name of all that the steps install: an environment made by another lacks something."""
        import hashlib

        parts = [
            (*step.packages, step.file.read_text() if step.file else "", str(step.dependencies))
            for step in self.steps
        ]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@cache
def recipes() -> tuple[Recipe, ...]:
    """All recipes, in the order of the file: the first of a device is its default."""
    rows = tomllib.loads((REQUIREMENTS / "recipes.toml").read_text())["recipe"]
    return tuple(_recipe(row) for row in rows)


def choose_recipe(device: Device, version: str, where: str = "--device, --version") -> Recipe:
    """The recipe of a device and a version; `auto` is the device's default version.

    Raises: UsageError naming what there is.
    """
    of_device = [recipe for recipe in recipes() if recipe.device == device]
    if not of_device:
        known = ", ".join(dict.fromkeys(recipe.device for recipe in recipes()))
        raise UsageError(f"no engine is known for device '{device}'", where=where, fix=f"use one of: {known}")
    for recipe in of_device:
        if version in ("auto", recipe.version):
            return recipe
    known = ", ".join(recipe.version for recipe in of_device)
    raise UsageError(
        f"no engine is known for vLLM {version} on {device}", where=where, fix=f"use auto or one of: {known}"
    )


def recipe_of(deployment: Deployment, document: Document, device: Device) -> Recipe:
    """The recipe that a deployment asks for. Raises: UsageError at the key that has none."""
    known = any(recipe.device == device for recipe in recipes())
    where = document.where(("engine", "version" if known else "device"))
    return choose_recipe(device, deployment.engine.version, where)


def _recipe(row: dict[str, Any]) -> Recipe:
    steps = [
        Step(**{**step, "file": REQUIREMENTS / step["file"] if "file" in step else None})
        for step in row.pop("step")
    ]
    return Recipe(**row, steps=tuple(steps))
