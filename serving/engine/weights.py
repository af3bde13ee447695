"""A model folder, looked through before an engine is started on it.

Owns: what must be there and whether safetensors files are whole. Knows nothing about what the
config means (`serving.modes.model_facts`).
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from serving.errors import Problem

MAX_HEADER_BYTES = 100_000_000
"""The format's own limit."""
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "tekken.json",
    "tiktoken.model",
)
WEIGHT_PATTERNS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")


def read_config(folder: Path) -> dict[str, Any] | Problem:
    """The folder's config.json, or what is wrong with it."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text())
    except FileNotFoundError:
        return Problem("no config.json in the model folder", str(folder), "give the folder that holds it")
    except (OSError, UnicodeDecodeError) as error:
        return Problem(f"cannot be read: {error}", str(path), "check its rights and that it is whole")
    except json.JSONDecodeError as error:
        return Problem(f"is not JSON: {error.msg}", f"{path}:{error.lineno}", "copy the model again")
    if not isinstance(config, dict):
        return Problem("is not a JSON object", str(path), "copy the model again")
    return config


def folder_problems(folder: Path) -> list[Problem]:
    """What would make an engine die on this model folder: no tokenizer, no weights, broken weights."""
    problems = []
    if not any((folder / name).exists() for name in TOKENIZER_FILES):
        fix = "copy the tokenizer's files (tokenizer.json, tokenizer_config.json) beside config.json"
        problems.append(Problem("no tokenizer in the model folder", str(folder), fix))
    files = sorted(folder.glob("*.safetensors"))
    if not any(True for pattern in WEIGHT_PATTERNS for _ in folder.glob(pattern)):
        problems.append(
            Problem("no weights in the model folder", str(folder), "copy its *.safetensors files")
        )
    for path in files:
        if broken := safetensors_problem(path):
            problems.append(Problem(f"is broken: {broken}", str(path), "copy or download this file again"))
    return problems + _missing_shards(folder)


def safetensors_problem(path: Path) -> str | None:
    """What is wrong with a safetensors file; None if its header is sane and its size is what it says.

    Format: 8 bytes little-endian header length, a JSON header of {tensor: {data_offsets: [begin, end]}},
    then the data up to the largest end.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            prefix = file.read(8)
            if len(prefix) < 8:
                return f"only {size} bytes"
            (length,) = struct.unpack("<Q", prefix)
            if length > MAX_HEADER_BYTES or 8 + length > size:
                return f"its header claims {length} bytes, the file has {size}"
            header = json.loads(file.read(length))
        ends = [int(row["data_offsets"][1]) for name, row in header.items() if name != "__metadata__"]
    except OSError as error:
        return str(error.strerror)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return "its header is not a safetensors header"
    expected = 8 + length + max(ends, default=0)
    return None if size == expected else f"{size} bytes, its header says {expected}"


def _missing_shards(folder: Path) -> list[Problem]:
    """Files that the index of a sharded model names and that are not there."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return []
    try:
        named = set(json.loads(index.read_text())["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [
            Problem("is not an index of safetensors files", str(index), "copy or download this file again")
        ]
    missing = sorted(name for name in named if not (folder / name).exists())
    return [
        Problem("is missing", str(folder / name), f"{index.name} names it: copy it too") for name in missing
    ]


def weight_bytes(folder: Path) -> int | None:
    """The size of the folder's weight files; None where there are none (a hub id)."""
    sizes = [path.stat().st_size for pattern in WEIGHT_PATTERNS for path in folder.glob(pattern)]
    return sum(sizes) if sizes else None
