"""The study file as types: a base deployment, what is changed in each arm, what is sent, how often.

Owns: names, types and defaults of the study file, and what its keys ask of each other. Knows nothing about
YAML, files, or what a fragment of a deployment means (`merge`).
"""

from __future__ import annotations

import re
from itertools import product
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from serving.config.schema import Section
from serving.config.units import Duration

_NAME = re.compile(r"[a-z0-9]([a-z0-9+.-]{0,46}[a-z0-9])?")


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        said = "write lower-case letters, digits, hyphens, dots and +, as in a folder's name"
        raise ValueError(f"'{text}' is no name; {said}")
    return text


Name = Annotated[str, AfterValidator(_name)]
Fragment = dict[str, Any]
"""A part of a deployment file, and beside its keys `without` (kinds of modes) and, in an arm, `on`."""
SEPARATOR = "+"


class StudyFile(Section):
    """One study."""

    name: Annotated[
        str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$", description="as in a folder's name")
    ]
    title: str = ""
    base: str | None = None
    """A deployment file, from this file's folder."""
    deployment: dict[str, Any] | None = None
    """The deployment itself, in place of `base`."""
    set: Fragment = Field(default_factory=dict)
    """Over the base, for every arm."""
    arms: dict[Name, Fragment] = Field(default_factory=dict)
    factors: dict[Name, dict[Name, Fragment]] = Field(default_factory=dict)
    """In place of `arms`: every combination of one value of each is an arm."""
    control: str | None = None
    """The arm that all others are held against; the first where nobody says."""
    workloads: dict[Name, str | dict[str, Any]]
    """A workload file, from this file's folder, or a workload without its name."""
    repeats: Annotated[int, Field(ge=1, le=100)] = 3
    hold: bool = False
    """One start an arm with all its repeats in it: cheaper, and an arm is then not told from its start."""
    budget: Annotated[Duration, Field(gt=0)] | None = None
    seed: int = 1
    quality: bool = False

    @property
    def arm_names(self) -> list[str]:
        """Of all arms, listed or combined, in their order."""
        return list(self.arms or combinations(self.factors))

    @model_validator(mode="after")
    def _says_what_it_compares(self) -> StudyFile:
        if (self.base is None) == (self.deployment is None):
            raise ValueError(
                "has not one base; give base: a deployment file, or deployment: the deployment itself"
            )
        if bool(self.arms) == bool(self.factors):
            raise ValueError(
                "has not one list of arms; give arms, or factors of which every combination is an arm"
            )
        empty = next((name for name, values in self.factors.items() if not values), None)
        if empty is not None:
            raise ValueError(f"the factor {empty} has no values; give each a name and what it changes")
        if not self.workloads and not self.quality:
            raise ValueError("sends nothing; give workloads, or quality: true")
        return self


def combinations(factors: dict[str, dict[str, Fragment]]) -> dict[str, dict[str, str]]:
    """The arms of a full design, with the value of each factor: `{a: {x, y}, b: {1}}` has x+1 and y+1."""
    return {
        SEPARATOR.join(values): dict(zip(factors, values, strict=True))
        for values in product(*factors.values())
    }
