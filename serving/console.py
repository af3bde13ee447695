"""How a command talks: results to stdout, talk to stderr, progress as the terminal allows.

Owns: the two streams and the difference between a terminal and a pipe. Knows nothing about what is said.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import Any, TextIO


@dataclass(slots=True)
class Console:
    """The only way out for text. With `as_json`, tables are silent and one document is the result."""

    as_json: bool = False
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    _live: bool = False

    def say(self, text: str) -> None:
        """Talk to the person: one line on stderr."""
        self._end_live()
        self.err.write(text + "\n")
        self.err.flush()

    def progress(self, text: str) -> None:
        """Show work in progress: rewritten in place on a terminal, nothing elsewhere (`say` is for steps)."""
        if self.err.isatty():
            self.err.write("\r\x1b[2K" + text)
            self.err.flush()
            self._live = True

    def result(self, text: str) -> None:
        """A result for people, on stdout; silent with --json."""
        self._end_live()
        if not self.as_json:
            self.out.write(text + "\n")
            self.out.flush()

    def document(self, value: Any) -> None:
        """The one JSON document of --json, on stdout; silent without."""
        self._end_live()
        if self.as_json:
            json.dump(value, self.out, indent=1, sort_keys=False, default=str)
            self.out.write("\n")
            self.out.flush()

    def _end_live(self) -> None:
        if self._live:
            self.err.write("\r\x1b[2K")
            self._live = False
