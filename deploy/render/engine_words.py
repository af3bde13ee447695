"""An engine's command as flags with their words: what platforms that build the command themselves are told.

Owns: taking it apart and putting it together. Knows nothing about what a flag means.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from deploy.render.containers import ContainerEngine
from serving.config.flags import joined

Flags = tuple[tuple[str, tuple[str, ...]], ...]
LISTENING = ("--host", "--port")
NAMED = ("--model", "--served-model-name")


def flags_of(engine: ContainerEngine, *, without: Collection[str] = ()) -> Flags:
    """The flags in their order, each with its words, without those that a platform sets itself."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for word in engine.argv[engine.argv.index("--model") :]:
        if word.startswith("--"):
            flag, tied, value = word.partition("=")
            found.append((flag, (value,) if tied else ()))
        else:
            flag, words = found[-1]
            found[-1] = (flag, (*words, word))
    return tuple((flag, words) for flag, words in found if flag not in without)


def words_of(flags: Iterable[tuple[str, tuple[str, ...]]]) -> list[str]:
    """The flags as a command has them."""
    return [word for flag, values in flags for word in joined(flag, values)]
