"""Lengths in tokens, as types: a number, a distribution, or a file of numbers.

Owns: how a length is written in the workload file. Knows nothing about drawing or reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from loadgen.workload_files import FileSection
from serving.config.schema import Section

Tokens = Annotated[int, Field(gt=0)]


class Fixed(Section):
    """The same for every request; written as the number alone."""

    distribution: Literal["fixed"]
    tokens: Tokens

    @model_serializer
    def _as_written(self) -> int:
        return self.tokens


class Between(Section):
    """Base of the distributions that have bounds."""

    min: Tokens = 1
    max: Tokens | None = None

    @model_validator(mode="after")
    def _is_in_order(self) -> Between:
        if self.max is not None and self.max < self.min:
            raise ValueError(f"has min {self.min} above max {self.max}; exchange them")
        return self


class Uniform(Between):
    """Every whole number from `min` to `max` is as likely as any other."""

    distribution: Literal["uniform"]
    min: Tokens
    max: Tokens


class Normal(Between):
    """Normal with this mean and standard deviation; what lies outside of the bounds is drawn again."""

    distribution: Literal["normal"]
    mean: Annotated[float, Field(gt=0)]
    std: Annotated[float, Field(gt=0)]


class Lognormal(Between):
    """Lognormal; `mean` and `std` are those of the lengths themselves, not of their logarithms."""

    distribution: Literal["lognormal"]
    mean: Annotated[float, Field(gt=0)]
    std: Annotated[float, Field(gt=0)]


class FromFile(FileSection):
    """A whole number in each line, taken in order, and from the top again when they are used up."""

    distribution: Literal["file"]
    file: str


def _spelt_out(value: Any) -> Any:
    return value if isinstance(value, Mapping | Section) else {"distribution": "fixed", "tokens": value}


Length = Annotated[
    Annotated[Fixed | Uniform | Normal | Lognormal | FromFile, Field(discriminator="distribution")],
    BeforeValidator(_spelt_out),
]
