"""How a command talks: results to stdout, talk to stderr, progress as the terminal allows.

Owns: the two streams, the difference between a terminal and a pipe, and what happens where a stream takes
nothing. Knows nothing about what is said.
"""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import dataclass, field
from typing import Any, TextIO, cast

from serving.errors import Failed

_WIPE = "\r\x1b[2K"


class _Nowhere(io.TextIOBase):
    """Stands in for a stream that the process was started without."""

    def write(self, text: str, /) -> int:
        return len(text)


def _or_nowhere(stream: TextIO | None) -> TextIO:
    return cast(TextIO, _Nowhere()) if stream is None else stream


def abandon(stream: TextIO) -> None:
    """Send nowhere what a stream still holds and gets: Python would try it again at its end, and fail."""
    try:
        number = stream.fileno()
    except OSError:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


@dataclass(slots=True)
class Console:
    """The only way out for text. With `as_json`, tables are silent and one document is the result."""

    as_json: bool = False
    out: TextIO = field(default_factory=lambda: _or_nowhere(sys.stdout))
    err: TextIO = field(default_factory=lambda: _or_nowhere(sys.stderr))
    _live: bool = False

    def say(self, text: str) -> None:
        """Talk to the person: one line on stderr. Where that takes no more, the work goes on without."""
        self._tell(self._wipe() + text + "\n")

    def progress(self, text: str) -> None:
        """Show work in progress: rewritten in place on a terminal, nothing elsewhere (`say` is for steps)."""
        if self.err.isatty():
            self._tell(_WIPE + text)
            self._live = True

    def result(self, text: str) -> None:
        """A result for people, on stdout; silent with --json. Raises: Failed where it cannot be written."""
        self._end_live()
        if not self.as_json:
            self._put(text)

    def document(self, value: Any) -> None:
        """The one JSON document of --json, on stdout; silent without. Raises: as `result`."""
        self._end_live()
        if self.as_json:
            self._put(json.dumps(value, indent=1, sort_keys=False, default=str))

    def _put(self, text: str) -> None:
        try:
            self.out.write(text + "\n")
            self.out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            abandon(self.out)
            self.out = cast(TextIO, _Nowhere())
            raise Failed(
                f"the result cannot be written to standard output: {error.strerror}",
                fix="make room where it goes, or send it elsewhere",
            ) from error

    def _tell(self, text: str) -> None:
        try:
            self.err.write(text)
            self.err.flush()
        except BrokenPipeError:
            raise
        except OSError:
            # A log on a full disk, say, which may have room again: what is served or measured matters more.
            return

    def _wipe(self) -> str:
        wiping, self._live = _WIPE if self._live else "", False
        return wiping

    def _end_live(self) -> None:
        if wiping := self._wipe():
            self._tell(wiping)
