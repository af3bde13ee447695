"""Engines of some modes, started and judged: what tests of modes and the table of modes have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from e2e.engines import Plan, Running

from deploy.handover import Handovers, Side, Trial
from deploy.verdicts import settled
from serving.engine.attestation import attest
from serving.engine.leftovers import leftovers
from serving.engine.reference import References, model_fingerprint
from serving.engine.weights import read_config
from serving.modes.mode import Verdict


def references(folder: Path, model: Path) -> References:
    """A place for reference answers of a model."""
    config = read_config(model)
    assert isinstance(config, dict)
    return References(folder, model_fingerprint(str(model), config))


async def verdicts(what: Plan, engine: Running, known: References | None = None) -> list[Verdict]:
    """What each mode of a running engine is judged to be."""
    process = engine.process
    return await attest(
        process.url,
        what.deployment.modes,
        engine.context,
        engine.log.lines,
        processes=lambda: leftovers(process.id, process.pid),
        references=known,
    )


async def together(what: Plan, engines: Sequence[Running], verdict: Verdict) -> Verdict:
    """The verdict of a pair's decoding engine, settled by a request over both as `teapot serve` does it."""
    trial = Trial(model=what.model.name, from_tokens=0, max_model_len=engines[0].context.max_model_len)
    handovers = Handovers(what.deployment.modes, trial)
    found = {}
    for engine in engines:
        slot = engine.context.slot
        found = await handovers.settle(Side(slot.name, slot.role, engine.process.url))
    [one] = settled([verdict], found[engines[-1].context.slot.name])
    return one
