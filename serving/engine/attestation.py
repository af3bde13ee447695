"""What of the modes asked for is in effect on a running engine.

Owns: which probes the modes need, how long all of it may take, what answers are held against, and asking
every mode for its verdict on one observation. Knows nothing about any mode.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

import aiohttp

from serving.engine.leftovers import Process
from serving.engine.observe import Look, observe
from serving.engine.probes import ANSWER_PROMPTS, ANSWER_TOKENS
from serving.engine.reference import References, comparable, is_reference
from serving.errors import Failed
from serving.modes.log_lines import engine_config
from serving.modes.mode import EngineContext, Mode, Observation, Verdict

WITHIN_S = 180.0
"""Far more than any engine that is of use needs for some fifty tokens."""
DEATH_SHOWS_WITHIN_S = 5.0
"""After a connection broke: so long has whoever watches the process to tell of its end, with the cause."""


async def attest(
    url: str,
    modes: Sequence[Mode],
    context: EngineContext,
    log: Sequence[str],
    *,
    processes: Callable[[], Sequence[Process]] | None = None,
    references: References | None = None,
    within_s: float = WITHIN_S,
) -> list[Verdict]:
    """The verdict of each mode, in order, on the idle engine at `url`, whose log so far is `log`.

    With `references`, the answers of an engine in no mode that should keep them are recorded once, and those
    of all others are compared with them: so call it for an engine without modes too. `processes` are the
    engine's living ones. Raises: Failed where the engine refuses the probes, breaks them off, or is too slow.
    """
    key = comparable(context, modes, engine_config(log, "dtype"))
    known = references.find(key, ANSWER_PROMPTS, ANSWER_TOKENS) if references else None
    recording = references is not None and known is None and is_reference(modes)
    if not modes and not recording:
        return []
    look = Look(
        repeat=f"Probe {uuid.uuid4().hex}" if any(mode.repeats for mode in modes) else None,
        answers=recording or any(mode.keeps_answers for mode in modes),
        added_models=[name for mode in modes for name in mode.added_models()],
        max_model_len=context.max_model_len,
        processes=processes,
    )
    seen = replace(await _observed(url, look, log, within_s, context.slot.name), reference=known)
    if recording and references:
        references.record(key, ANSWER_PROMPTS, ANSWER_TOKENS, seen.answers)
    return [mode.judge(seen, context) for mode in modes]


async def _observed(url: str, look: Look, log: Sequence[str], within_s: float, name: str) -> Observation:
    try:
        async with asyncio.timeout(within_s):
            return await observe(url, look, log)
    except TimeoutError:
        what = f"engine {name} did not answer the probes of its modes within {within_s:g} s"
        raise Failed(what, where=url, fix="see its log; a mode may be too slow here to be of use") from None
    except aiohttp.ClientResponseError as error:
        what = f"engine {name} answered a probe of its modes with HTTP {error.status}: {error.message}"
        raise Failed(what, where=url, fix="see its log") from error
    except aiohttp.ClientError as error:
        await asyncio.sleep(DEATH_SHOWS_WITHIN_S)
        what = f"engine {name} broke off a probe of its modes: {type(error).__name__}: {error}"
        raise Failed(what, where=url, fix="see its log") from error
