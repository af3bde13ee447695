"""Reading the word list and the prompt set that are shipped beside the code.

Owns: where these files are. Knows nothing about what is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import yaml


@cache
def words() -> Sequence[str]:
    """Common short English words, most of which cost one token in most tokenizers."""
    return tuple(_read("words.txt").split())


@cache
def prompt_set() -> Mapping[str, Sequence[str]]:
    """The project's own prompts by kind of task."""
    return {kind: tuple(texts) for kind, texts in yaml.safe_load(_read("prompts.yaml")).items()}


def _read(name: str) -> str:
    return (files("loadgen.prompts") / name).read_text(encoding="utf-8")
