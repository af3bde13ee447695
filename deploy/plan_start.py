"""The plan of a start: refused before an engine is paid for, compared with the engine once it is up.

Owns: making the plan from what a start has found, what is said of it, and where the comparison is kept. Knows
nothing about the arithmetic (`serving.planner`) nor about how engines start.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from deploy.plan_file import facts
from deploy.plan_inputs import read_checkpoint, read_shape
from serving.config.document import Document
from serving.config.schema import Deployment
from serving.console import Console
from serving.engine.models import LocalModel
from serving.errors import Failed, UsageError
from serving.modes.mode import EngineContext
from serving.modes.speculative import Speculative
from serving.planner.check import Compared, check, summary, warnings
from serving.planner.fit import Fit, Model, Place, fit
from serving.planner.model import model_shape
from serving.planner.refusals import Refused
from serving.planner.text import verdict


def plan_start(
    deployment: Deployment, document: Document, model: LocalModel, context: EngineContext, console: Console
) -> Fit | None:
    """Plan a start and refuse what cannot fit; None where this model or machine cannot be planned, which is
    said.

    Raises: Failed with the numbers and the nearest that would fit; UsageError for what no engine starts with.
    """
    if context.machine is None:
        return None
    try:
        found = fit(
            deployment,
            _model(deployment, model, context),
            Place(context.device, context.version, context.machine),
            facts(),
        )
    except Refused as error:
        placed = [replace(each, where=f"{document.name}: {each.where}") for each in error.problems]
        raise UsageError.of(placed) from None
    except UsageError as error:
        console.say(f"note: not planned: {error}")
        return None
    if not found.fits:
        raise Failed(found.refusal(), where=document.where(("model",)), fix=found.nearest())
    console.say(f"plan: {verdict(found.plan)}")
    return found


def compare_start(
    found: Fit, name: str, log: Sequence[str], labels: Mapping[str, str], *, kept: Path, console: Console
) -> tuple[Compared, ...]:
    """Say and keep what was predicted and what an engine that is up tells; an error above its band is a
    warning."""
    rows = check(found.plan, labels, log)
    console.say(f"plan: {name} {summary(rows)}")
    for line in warnings(rows):
        console.say(f"warning: {line}")
    document = {"engine": name, "figures": [row.document() for row in rows]}
    kept.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return rows


def _model(deployment: Deployment, model: LocalModel, context: EngineContext) -> Model:
    shape = model_shape(model.config, f"{model.path_or_id}/config.json", model.name)
    folder = Path(model.path_or_id)
    checkpoint = read_checkpoint(folder, shape) if folder.is_dir() else None
    mode = deployment.mode(Speculative)
    draft = None
    if mode and mode.model and mode.method == "draft_model":
        path = Path(context.paths.get(mode.model, mode.model))
        draft = read_shape(str(path))[0] if path.is_dir() else None
    return Model(shape, checkpoint, draft)
