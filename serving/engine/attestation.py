"""What of the modes asked for is in effect on a running engine.

Owns: asking every mode for its verdict on one observation. Knows nothing about any mode.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from serving.engine.observe import observe
from serving.modes.mode import EngineContext, Mode, Verdict


async def attest(
    url: str, modes: Sequence[Mode], context: EngineContext, log: Sequence[str]
) -> list[Verdict]:
    """The verdict of each mode, in order, on the idle engine at `url`, whose log so far is `log`."""
    seen = await observe(url, f"Probe {uuid.uuid4().hex}", log, context.max_model_len)
    return [mode.verdict(seen, context) for mode in modes]
