"""What every section of a file of ours has in common.

Owns: how strictly a section is read. Knows nothing about which sections there are.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Base of every section: unknown keys are errors, types are not coerced, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)
