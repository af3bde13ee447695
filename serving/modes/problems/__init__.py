"""What does not go together, as one table that is looked through before anything is started.

Cores, devices and ports are shared out over all engines of a deployment, so what is too little of them is
found where that is done, in `serving.config.layout`. A new problem is a row in the file of its subject: an
id, a title, how grave it is, why, who says so, and a check on the modes and the context.
"""

from __future__ import annotations

from collections.abc import Sequence

from serving.modes.mode import EngineContext, Mode
from serving.modes.problems import machine, parallel, quantization, speculation, transfer
from serving.modes.problems.row import Asked, Finding, Row, Severity

__all__ = ["ROWS", "Finding", "Row", "Severity", "all_problems"]

ROWS: tuple[Row, ...] = (
    *parallel.ROWS,
    *quantization.ROWS,
    *speculation.ROWS,
    *transfer.ROWS,
    *machine.ROWS,
)
"""The whole table."""


def all_problems(modes: Sequence[Mode], context: EngineContext) -> Sequence[Finding]:
    """All that is known not to work, to do nothing, or to need a word, in the order of the modes.

    What the context does not know (model, draft, machine) is not judged.
    """
    asked = Asked(modes, context)
    found = [finding for row in ROWS for finding in row.findings(asked)]
    return tuple(sorted(found, key=lambda f: len(modes) if f.mode_index is None else f.mode_index))
