"""A file that a workload file names: where it is and what it held.

Owns: the keys `file` and `sha256`, and that equal content is equal work wherever the file lies.
Knows nothing about reading files or what is in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from serving.config.schema import Section

Sha256 = Annotated[
    str, Field(pattern=r"^[0-9a-f]{64}$", description="64 hexadecimal digits, as `sha256sum` prints them")
]


class FileSection(Section):
    """Base of every section that may name a file, relative to the workload file's folder."""

    file: str | None
    sha256: Sha256 | None = None
    """What the file must hold. Filled in when the workload is read; a file with other content is refused."""


def without_places(value: Any) -> Any:
    """The same data without the names of files whose content is known by its hash."""
    if isinstance(value, Mapping):
        known = value.get("sha256") is not None
        return {k: without_places(v) for k, v in value.items() if not (known and k == "file")}
    if isinstance(value, list):
        return [without_places(item) for item in value]
    return value
