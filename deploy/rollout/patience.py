"""How long what does not work is borne, and how often that is said.

Owns: what was said last, and since when nothing works. Knows nothing about what is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deploy.rollout.journal import DiskFull
from serving.errors import Failed


@dataclass(slots=True)
class Patience:
    """With a deployment that cannot be reached or declines what must be done, and with a disk."""

    say: Callable[[str], None]
    steady: Callable[[], float]
    lasts_s: float
    _said: str = ""
    _since_s: float | None = None

    def bear(self, error: Failed) -> None:
        """Say once why it holds; give up after a while, since a person has to look. Raises: the error.

        Not where lines cannot be kept: then nobody would watch, and take the requests of one that fails.
        """
        now_s = self.steady()
        if self._since_s is None:
            self._since_s = now_s
        if str(error) != self._said:
            self._said = str(error)
            self.say(f"holding: {error}")
        if not isinstance(error, DiskFull) and now_s - self._since_s >= self.lasts_s:
            raise error

    def over(self) -> None:
        """It works again."""
        self._said, self._since_s = "", None
