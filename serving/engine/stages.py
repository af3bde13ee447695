"""How far a starting engine is, read from its log.

Owns: which line begins which stage. Knows nothing about files or processes. The lines are vLLM 0.32.0's
(tests/golden/engine_logs); a line that another version words differently costs a stage its name, no more.
"""

from __future__ import annotations

import re
from enum import StrEnum


class StartStage(StrEnum):
    """What a starting engine is doing. Order of first appearance: as written, except that what is
    compiled and when the KV cache is laid out depend on device and flags."""

    IMPORTING = "importing"
    STARTING_CORE = "starting the engine core"
    LOADING_WEIGHTS = "loading weights"
    COMPILING = "compiling"
    KV_CACHE = "KV cache"
    WARMING_UP = "warming up"
    OPENING = "opening the API"
    FIRST_TOKEN = "first token"
    READY = "ready"


_BEGINNINGS = (
    (StartStage.STARTING_CORE, re.compile(r"Resolved architecture:|Initializing a V1 LLM engine")),
    (
        StartStage.LOADING_WEIGHTS,
        re.compile(r"Starting to load model |Loading safetensors"),
    ),
    (
        StartStage.COMPILING,
        re.compile(r"Warming up model for the compilation|Dynamo bytecode transform|Compiling a graph"),
    ),
    (StartStage.KV_CACHE, re.compile(r"KV cache size: [\d,]+ tokens")),
    (
        StartStage.WARMING_UP,
        re.compile(r"Capturing CUDA graphs|Directly load AOT|saved AOT compiled"),
    ),
    (StartStage.OPENING, re.compile(r"Starting vLLM (?:API )?server|Application startup complete")),
)


def stage_begun(line: str) -> StartStage | None:
    """The stage that this log line begins; None if it begins none."""
    for stage, pattern in _BEGINNINGS:
        if pattern.search(line):
            return stage
    return None
