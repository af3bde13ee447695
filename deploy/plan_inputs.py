"""Reads the files of a model that a plan is made from: its config.json, its index, its safetensors headers.

Owns: opening them, and errors with file and key. Knows nothing about what is planned.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from serving.errors import UsageError
from serving.planner.headers import INDEX_SUM, Checkpoint, checkpoint, told_by_index
from serving.planner.model import model_shape
from serving.planner.shape import ModelShape

MAX_HEADER_BYTES = 100_000_000
"""The format's own limit."""
INDEX = "model.safetensors.index.json"
LEAST_SHARE = 0.5
"""Of the bytes that the config's layers take, that files may hold: fewer, and some are missing. Half leaves
room for 8 bits where the config says nothing of them."""


def read_shape(model: str, *, named: bool = False) -> tuple[ModelShape, Checkpoint | None]:
    """The shape of a folder, a config.json or a name that teapot knows, and its files' sums where they are.

    `named`: the user names the storage of the weights. Raises: UsageError with file and key.
    """
    from serving.facts.load import model_configs

    path = _path(model)
    if path is None:
        return model_shape(model_configs()[model], model, model), None
    file = path / "config.json" if path.is_dir() else path
    name = _printable(path.name if path.is_dir() else str(file))
    shape = model_shape(_config(file), str(file), name, named=named)
    found = read_checkpoint(path, shape) if path.is_dir() else None
    if found and not named:
        _refuse_parts(path, found, shape)
    return shape, found


def _path(model: str) -> Path | None:
    """Where the model is; None: it is one that teapot knows. Raises: UsageError."""
    from serving.facts.load import model_configs

    try:
        path = Path(model).expanduser()
        there = path.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"cannot be a path: {error}", where=f"--model {model[:80]!r}", fix="give a folder or config.json"
        ) from None
    return None if not there and model in model_configs() else path


def _printable(name: str) -> str:
    """A file's name as every terminal and page can show it."""
    return name.encode("utf-8", "replace").decode()


def read_checkpoint(folder: Path, shape: ModelShape) -> Checkpoint | None:
    """The sums of a folder's safetensors headers as its model is loaded; None where there are none.

    Where there is an index, the files that it names are the model: a second copy in another format beside
    them is not loaded; where none of them is there, its own sum stands in. Raises: UsageError with the file.
    """
    files = sorted(folder.glob("*.safetensors"))
    index = folder / INDEX
    if index.exists():
        document = _indexed(index)
        named = set(document["weight_map"].values())
        missing = sorted(named - {file.name for file in files})
        if missing and files:
            raise UsageError(
                "is missing", where=str(folder / missing[0]), fix=f"{index.name} names it: copy it"
            )
        files = [file for file in files if file.name in named]
        if not files:
            told = told_by_index(str(index), document, layers=len(shape.layers), wide=shape.stored_wide)
            return _loaded(told, shape) if told else None
    return _loaded(checkpoint(_headers(files), layers=len(shape.layers)), shape) if files else None


def _loaded(found: Checkpoint, shape: ModelShape) -> Checkpoint:
    return found.narrowed if shape.quantization is None else found


def _indexed(index: Path) -> dict[str, Any]:
    """An index that is known to map tensors to files."""
    document = _config(index)
    named = document.get("weight_map")
    if not isinstance(named, dict) or not named or not all(isinstance(name, str) for name in named.values()):
        raise UsageError("does not map tensors to files", where=f"{index}: weight_map", fix="copy it again")
    return document


def _refuse_parts(folder: Path, found: Checkpoint, shape: ModelShape) -> None:
    """Refuse files that cannot be the whole model: to plan with them would be to say that it fits."""
    from serving.facts.load import weight_storage
    from serving.facts.storage import find_storage
    from serving.planner.weights import weight_bytes

    storage = find_storage(shape.quantization or "bf16", weight_storage())
    if storage is None:
        return
    expected = weight_bytes(shape, storage)
    if found.total_bytes < LEAST_SHARE * expected:
        by_index = found.source == INDEX_SUM
        where = f"{folder / INDEX}: metadata.total_size" if by_index else f"{folder}/*.safetensors"
        held = f"{'is' if by_index else 'hold'} {found.total_bytes:,} bytes"
        raise UsageError(
            f"{held} and the layers of config.json take {expected:,}",
            where=where,
            fix="copy those that are missing; or give the config.json alone, to plan by arithmetic",
        )


def _headers(files: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Format: 8 bytes little-endian length, then a JSON header, then the data."""
    for path in files:
        try:
            yield str(path), _header(path)
        except OSError as error:
            raise UsageError(
                f"cannot be read: {error.strerror}", where=str(path), fix="copy the file again"
            ) from None


def _header(path: Path) -> dict[str, Any]:
    """Raises: OSError, and UsageError where the file is cut or another format."""
    size = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(8)
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else MAX_HEADER_BYTES + 1
        if length > MAX_HEADER_BYTES or 8 + length > size:
            raise UsageError(f"is cut: it has {size} bytes", where=str(path), fix="copy the file again")
        text = file.read(length)
    try:
        header = json.loads(text)
        end = _end(header)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise UsageError(
            "its header is not a safetensors header", where=str(path), fix="copy the file again"
        ) from None
    if size != 8 + length + end:
        what = f"has {size} bytes and its header says {8 + length + end}"
        raise UsageError(
            f"is cut: it {what}" if size < 8 + length + end else what,
            where=str(path),
            fix="copy the file again",
        )
    return dict(header)


def _end(header: Mapping[str, Any]) -> int:
    """Where the data ends. Raises: TypeError where an offset is no whole number, and what indexing raises."""
    ends = [row["data_offsets"][1] for name, row in header.items() if name != "__metadata__"]
    if not all(type(end) is int for end in ends):
        raise TypeError("an offset is no whole number")
    return max(ends, default=0)


def _config(file: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            "no such file", where=str(file), fix="give a folder with config.json, or a config.json"
        ) from None
    except json.JSONDecodeError as error:
        raise UsageError(
            f"is not JSON: {error.msg}", where=f"{file}:{error.lineno}", fix="is it cut? copy it again"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        # Not UTF-8, a number of thousands of digits, lists within lists without end.
        raise UsageError(f"cannot be read: {error}", where=str(file), fix="check the file") from None
    if not isinstance(config, dict):
        raise UsageError("is not a JSON object", where=str(file), fix="copy it again")
    return config
