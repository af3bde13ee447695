"""What safetensors headers say of a checkpoint: its bytes, and its parts by role.

Owns: reading parsed headers. Knows nothing about files: the headers come in as parsed JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from serving.errors import UsageError

MOST_BYTES = 2**50
HEADERS = "safetensors headers"
INDEX_SUM = "metadata.total_size of the index"


class Checkpoint(NamedTuple):
    """The sums of all headers of one model."""

    total_bytes: int
    tensors: int
    skipped_bytes: int = 0
    """Of parts that a text server does not load: multi-token prediction layers."""
    wide_bytes: int = 0
    """Of the total, what is stored in 32 bits an element."""
    source: str = HEADERS

    @property
    def narrowed(self) -> Checkpoint:
        """As it is loaded where it is not quantized: in 16 bits an element.

        Source: vllm 0.32.0 config/model.py _resolve_auto_dtype.
        """
        return self._replace(total_bytes=self.total_bytes - self.wide_bytes // 2, wide_bytes=0)


def checkpoint(headers: Iterable[tuple[str, Mapping[str, Any]]], *, layers: int) -> Checkpoint:
    """Sum the headers of a model's files, given as (file, header).

    Layers from `layers` on are for multi-token prediction, which only speculation loads. Format: {tensor:
    {dtype, shape, data_offsets: [begin, end]}}. Raises: UsageError with file and tensor.
    """
    total = count = skipped = wide = 0
    for file, header in headers:
        for name, row in header.items():
            if name == "__metadata__":
                continue
            size = _size(file, name, row)
            total, count = total + size, count + 1
            if _layer(name) >= layers or name.startswith("mtp."):
                skipped += size
            elif row.get("dtype") == "F32":
                wide += size
    return Checkpoint(total - skipped, count, skipped, wide)


def told_by_index(file: str, index: Mapping[str, Any], *, layers: int, wide: bool) -> Checkpoint | None:
    """What an index tells where the files that it names are not there: its own sum.

    `wide`: all of it is stored in 32 bits an element. None: it has no sum, or one with layers for multi-token
    prediction in it, which are not loaded. Raises: UsageError with file and key.
    """
    tensors, metadata = index["weight_map"], index.get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    if size is None or any(_layer(name) >= layers or name.startswith("mtp.") for name in tensors):
        return None
    if isinstance(size, bool) or not isinstance(size, int | float) or not 0 < size < MOST_BYTES:
        fix = "copy it again"
        raise UsageError(
            f"is {size!r:.40}, no number of bytes", where=f"{file}: metadata.total_size", fix=fix
        )
    total = int(size)
    return Checkpoint(total, len(tensors), wide_bytes=total if wide else 0, source=INDEX_SUM)


def _size(file: str, name: str, row: Any) -> int:
    try:
        begin, end = row["data_offsets"]
        size = int(end) - int(begin)
    except (KeyError, TypeError, ValueError):
        size = -1
    if size < 0:
        raise UsageError("has no sane data_offsets", where=f"{file}: {name}", fix="copy the file again")
    return size


def _layer(name: str) -> int:
    words = name.split(".")
    if "layers" not in words[:-1]:
        return -1
    number = words[words.index("layers") + 1]
    return int(number) if number.isdecimal() and len(number) < 10 else -1
