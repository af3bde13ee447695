"""Greedy answers of engines without modes, kept so that engines with modes can be held against them.

Owns: the files below `state/answers`, and what makes two engines comparable. Knows nothing about how answers
are compared (`serving.modes.answers`) or got.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serving.modes.mode import EngineContext, Mode

WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")


@dataclass(frozen=True, slots=True)
class References:
    """The recorded answers on this machine, for one model."""

    folder: Path
    model: str
    """What tells the model's files from all others: `model_fingerprint`."""

    def find(self, key: str, prompts: Sequence[str], tokens: int) -> list[str] | None:
        """The answers of a comparable engine to these very prompts; None where none were recorded."""
        try:
            found = json.loads(self._file(key).read_text())
        except (OSError, ValueError):
            return None
        asked = isinstance(found, dict) and found.get("prompts") == list(prompts)
        if not asked or found.get("tokens") != tokens or not isinstance(found.get("answers"), list):
            return None
        return [str(answer) for answer in found["answers"]]

    def record(self, key: str, prompts: Sequence[str], tokens: int, answers: Sequence[str]) -> None:
        """Keep answers, in one rename. A full disk is no reason to fail a start: then none are kept."""
        document = {"prompts": list(prompts), "tokens": tokens, "answers": list(answers)}
        path = self._file(key)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(document, indent=1, ensure_ascii=False))
            draft.rename(path)
        except OSError:
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self.folder / f"{self.model}-{key}.json"


def comparable(context: EngineContext, modes: Sequence[Mode], dtype: str | None) -> str:
    """Names all that may change greedy answers beside the modes that should keep them.

    vLLM's version, device and number type, the formats of quantized modes, and the other flags:
    `--enforce-eager` rounds otherwise than compiled code.
    """
    kept = [f"{mode.kind}-{mode.asked()}" for mode in modes if not mode.keeps_answers]
    args = json.dumps(dict(context.args), sort_keys=True)
    other = [hashlib.sha256(args.encode()).hexdigest()[:8]] if context.args else []
    parts = [context.version, context.device, (dtype or "unknown").removeprefix("torch."), *kept, *other]
    return "-".join(re.sub(r"[^\w.]+", "_", part) for part in parts)


def is_reference(modes: Sequence[Mode]) -> bool:
    """Whether answers of an engine in these modes may serve as a reference: none should keep another's."""
    return not any(mode.keeps_answers for mode in modes)


def model_fingerprint(path_or_id: str, config: Mapping[str, Any]) -> str:
    """A short name of exactly these model files: config.json, and names, sizes and times of the weights.

    A model that only the hub has is known by its id and config alone. Files that were copied count as new:
    then answers are recorded again, which costs little, while weights are not read for it.
    """
    folder = Path(path_or_id)
    files = sorted(file for pattern in WEIGHTS for file in folder.glob(pattern)) if folder.is_dir() else []
    stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    known = [stats or path_or_id, config]
    return hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode()).hexdigest()[:16]
