"""The families of models whose layout teapot knows. A new one is one file and one line here."""

from __future__ import annotations

from serving.planner.families import (
    deepseek,
    gemma,
    gemma4,
    gpt_oss,
    llama,
    llama4,
    mixtral,
    nemotron,
    phi,
    qwen,
    qwen_linear,
)
from serving.planner.families.family import Family

FAMILIES: tuple[Family, ...] = (
    llama.FAMILY,
    llama4.FAMILY,
    mixtral.FAMILY,
    qwen.FAMILY_2,
    qwen.FAMILY_2_MOE,
    qwen.FAMILY_3,
    qwen.FAMILY_3_MOE,
    qwen_linear.FAMILY,
    qwen_linear.FAMILY_MOE,
    deepseek.FAMILY,
    gemma.FAMILY_2,
    gemma.FAMILY_3,
    gemma4.FAMILY,
    gpt_oss.FAMILY,
    phi.FAMILY_3,
    phi.FAMILY_2,
    phi.FAMILY_MOE,
    nemotron.FAMILY,
    nemotron.FAMILY_HYBRID,
)
