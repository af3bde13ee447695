"""LoRA adapters: several fine-tunings served beside one base model.

Owns: the fields and flags of the mode, and the evidence that an engine offers the adapters. Knows nothing
about the adapters' files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from serving.modes.mode import EngineContext, Flag, Mode, Observation, Verdict

Rank = Literal[1, 8, 16, 32, 64, 128, 256, 320, 512]


class Lora(Mode):
    """Serve adapters beside the base model, each by its own model name."""

    summary: ClassVar[str] = "serve LoRA adapters beside the base model"
    owns: ClassVar[Sequence[str]] = ("--enable-lora", "--lora-modules", "--max-lora-rank", "--max-loras")
    works_on: ClassVar[str] = "cuda, rocm; cpu: without torch.compile"
    evidence: ClassVar[str] = "every adapter is in /v1/models and answers otherwise than the model itself"

    kind: Literal["lora"] = "lora"
    adapters: Annotated[Mapping[str, str], Field(min_length=1)] = Field(
        description="adapters by the name that clients ask for: a local folder or a hub id each"
    )
    max_rank: Rank = Field(16, description="largest rank of the adapters")
    max_active: Annotated[int, Field(gt=0)] | None = Field(
        None, description="adapters in one step; vLLM's own default is 1"
    )

    @field_validator("adapters")
    @classmethod
    def _are_words(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        for name, place in value.items():
            if not name or "=" in name or "," in name or name != name.strip():
                raise ValueError(f"'{name}' cannot be an adapter's name; use letters, digits and hyphens")
            if "," in place:
                raise ValueError(
                    f"adapter '{name}' has a comma in its place; vLLM takes that for JSON: rename it"
                )
            if not place.strip():
                raise ValueError(f"adapter '{name}' has no place; give its folder or hub id")
        return value

    def asked(self) -> str:
        """The adapters' names."""
        return ", ".join(self.adapters)

    def flags(self, context: EngineContext) -> Sequence[Flag]:
        """The switch, the limits, and all adapters after one flag: of several flags vLLM takes the last."""
        active = (("--max-loras", str(self.max_active)),) if self.max_active else ()
        words = tuple(f"{name}={context.paths.get(place, place)}" for name, place in self.adapters.items())
        limits = (("--max-lora-rank", str(self.max_rank)), *active)
        return (("--enable-lora", None), *limits, ("--lora-modules", words))

    def added_models(self) -> Sequence[str]:
        """The adapters' names."""
        return tuple(self.adapters)

    def verdict(self, seen: Observation, context: EngineContext) -> Verdict:
        """All adapters are offered, and each shows in answers; one that changes none of a few may be mild."""
        if seen.models is None:
            return Verdict(self.kind, self.asked(), None, "/v1/models was not looked at")
        missing = [name for name in self.adapters if name not in seen.models]
        if missing:
            evidence = f"/v1/models lacks {', '.join(missing)}; it has {', '.join(seen.models) or 'nothing'}"
            return Verdict(self.kind, self.asked(), False, evidence)
        offered = f"/v1/models offers {', '.join(self.adapters)}"
        alike = [name for name in self.adapters if seen.answers_by.get(name, seen.answers) == seen.answers]
        if alike:
            evidence = f"{offered}; nothing shows {', '.join(alike)} in {len(seen.answers)} greedy answers"
            return Verdict(self.kind, self.asked(), None, evidence)
        return Verdict(
            self.kind, self.asked(), True, f"{offered}; each answers otherwise than the model itself"
        )
