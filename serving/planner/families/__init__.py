"""The families of models whose layout teapot knows. A new one is one file and one line here."""

from __future__ import annotations

from serving.planner.families import llama
from serving.planner.families.family import Family

FAMILIES: tuple[Family, ...] = (llama.FAMILY,)
