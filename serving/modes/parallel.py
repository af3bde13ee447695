"""Parallelism: one model on several devices or cores.

Owns: the fields and flags of the mode, and whether heads can be shared out. Knows nothing about
devices that are really there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from serving.errors import Problem
from serving.modes.mode import EngineContext, Mode

Degree = Annotated[int, Field(ge=1)]


class Parallel(Mode):
    """Spread one model over several devices."""

    summary: ClassVar[str] = "spread one model over several devices"
    runs: ClassVar[bool] = False
    owns: ClassVar[Sequence[str]] = (
        "--tensor-parallel-size",
        "--pipeline-parallel-size",
        "--data-parallel-size",
        "--enable-expert-parallel",
    )
    works_on: ClassVar[str] = "tensor: cpu, cuda, rocm; pipeline, data, expert: cuda, rocm"

    kind: Literal["parallel"] = "parallel"
    tensor: Degree = Field(1, description="ranks that share every layer")
    pipeline: Degree = Field(1, description="stages of consecutive layers")
    data: Degree = Field(1, description="copies behind one engine")
    expert: bool = Field(False, description="spread experts instead of sharing each")

    def flags(self, context: EngineContext) -> Sequence[tuple[str, str | None]]:
        """The degrees that differ from one."""
        degrees = zip(self.owns[:3], (self.tensor, self.pipeline, self.data), strict=True)
        sizes = [(flag, str(degree)) for flag, degree in degrees if degree > 1]
        return (*sizes, *((("--enable-expert-parallel", None),) if self.expert else ()))

    def problems(self, context: EngineContext) -> Sequence[Problem]:
        """Heads that cannot be shared out: vLLM says so only after 11 s of imports."""
        heads = context.model.attention_heads if context.model else 0
        if heads % self.tensor == 0:
            return ()
        divisors = ", ".join(str(n) for n in range(1, heads + 1) if heads % n == 0)
        what = f"{heads} attention heads cannot be shared by {self.tensor} tensor-parallel ranks"
        return (Problem(what, fix=f"set tensor to one of {divisors}"),)
