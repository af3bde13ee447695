"""Who starts and ends engines for a gateway, played: it remembers what it was asked, and refuses one name.

Owns: that. Knows nothing about engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from serving.gateway.revisions import Asked


@dataclass(slots=True)
class FakeKeeper:
    token: str = "the-token"
    begun: list[Asked] = field(default_factory=list)
    ended: list[tuple[str, bool]] = field(default_factory=list)

    def begin(self, asked: Asked) -> None:
        if asked.name == "main":
            raise ValueError("there is a revision 'main' already")
        self.begun.append(asked)

    def end(self, name: str, *, cut: bool) -> None:
        self.ended.append((name, cut))
