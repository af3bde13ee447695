"""`teapot plan`: does it fit, for how many users, how fast at best, and which flag changes that.

Owns: which answer is shown, and how. Knows nothing about the arithmetic (`serving.planner`), nor about the
options (`deploy.plan_options`) and the files (`deploy.plan_inputs`) that it is made from.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deploy.plan_fleet import plan_fleet, refuse_without_fleet
from deploy.plan_inputs import read_shape
from deploy.plan_load import measured
from deploy.plan_options import OF_FLEETS, configure, dropped, unheard
from deploy.planning import build_ask, gpu_of, model_ask, prices, storage_of, variants
from serving.console import Console
from serving.errors import EXIT_FAILED, EXIT_OK, Failed, UsageError
from serving.facts.load import gpus, kv_formats, latent_storage, overheads, weight_storage
from serving.planner.advise import Advice, advise
from serving.planner.ask import Ask
from serving.planner.changes import Choices
from serving.planner.figure import Figure
from serving.planner.figures import document
from serving.planner.kv_layers import KvStorage, kv_storage
from serving.planner.picture import ASCII, WIDTH
from serving.planner.plan import Plan, make_plan
from serving.planner.text import caches_text, compare_text, plan_text
from serving.planner.weights import weight_bytes

__all__ = ["configure", "run"]
LEAST_WIDTH = 20
CACHE_FORMATS = ("bf16", "fp8", "int4_per_token_head")
"""16, 8 and 4 bits, as many models' caches are compared in."""


def run(args: argparse.Namespace, console: Console) -> int:
    """Answer on stdout; exit 0 where it fits, 1 where it does not, 2 where the question is wrong."""
    if args.fleet is not None:
        said = unheard(args, OF_FLEETS)
        if said:
            what = "a fleet is counted in replicas, whatever they are"
            raise UsageError(what, where=", ".join(said), fix="leave it out")
        return plan_fleet(args, console)
    refuse_without_fleet(args)
    if bool(args.file) == bool(args.model):
        fix = "teapot plan FILE, or teapot plan --model DIR --gpu h100-sxm"
        raise UsageError("give a deployment file or a model", where="FILE, --model", fix=fix)
    problems = list(dropped(args))
    if problems:
        raise UsageError.of(problems)
    if args.file:
        from deploy.plan_file import plan_file

        return _answer(plan_file(args), args, console)
    if len(args.model) > 1:
        return _caches(args, console)
    if args.compare is not None:
        return _compare(args, console)
    return _answer(make_plan(model_ask(args, args.model[0], gpu_of(args)), overheads()), args, console)


def _answer(plan: Plan, args: argparse.Namespace, console: Console) -> int:
    advice = advise(plan, Choices(kv_formats(), weight_storage()), overheads())
    seen = measured(args.run) if args.run else {}
    console.document(_document(plan, advice, seen))
    by_keys, width = bool(args.file), _width(console)
    console.result(_drawn(plan_text(plan, overheads(), advice, seen, by_keys=by_keys, width=width), console))
    if args.html:
        from serving.planner.page import plan_page

        _write(args.html, plan_page(plan, overheads(), advice, seen, by_keys=by_keys), console)
    return EXIT_OK if plan.fits else EXIT_FAILED


def _width(console: Console) -> int:
    """Of the picture: what a terminal has room for, and no more than is needed."""
    if not console.out.isatty():
        return WIDTH
    from shutil import get_terminal_size

    return max(LEAST_WIDTH, min(WIDTH, get_terminal_size().columns - 2))


def _drawn(text: str, console: Console) -> str:
    """The text in signs that the output has."""
    try:
        text.encode(console.out.encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(ASCII).encode("ascii", "replace").decode()
    return text


def _document(plan: Plan, advice: Sequence[Advice], seen: Mapping[str, Figure]) -> dict[str, Any]:
    made = document(plan, overheads())
    for name, figure in seen.items():
        made[name] = figure.value
        made["figures"][name] = figure.document()
    return {**made, "advice": [each.document() for each in advice]}


def _write(path: str, text: str, console: Console) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failed(f"cannot be written: {error.strerror}", where=path, fix="give another path") from None
    except ValueError:
        raise UsageError("cannot be a path", where=f"--html {path!r}", fix="give another path") from None
    console.say(f"wrote {path}")


def _compare(args: argparse.Namespace, console: Console) -> int:
    from serving.planner.compare import Variant, compare

    known = prices(args.price)
    axes = args.compare or ["formats"]
    named = "formats" in axes or args.weight_format is not None
    shape, checkpoint = read_shape(args.model[0], named=named)
    if "gpus" in axes and args.device == "cpu":
        raise UsageError("compares kinds of GPUs", where="--compare gpus", fix="leave --device cpu out")
    first = next(iter(gpus().values())) if "gpus" in axes and not args.gpu else gpu_of(args)
    rows: list[Variant] = []
    for label, options, gpu in variants(args, first, axes):
        ask: Ask = build_ask(options, shape, checkpoint, gpu)
        rows.append(Variant(label, ask, known.get(gpu.name)))
    if spare := sorted(set(known) - {row.ask.gpu.name for row in rows if row.ask.gpu}):
        raise UsageError(
            f"{', '.join(spare)} is not in this table", where="--price", fix="leave it out, or --compare gpus"
        )
    found = compare(rows, overheads())
    reasons = list(dict.fromkeys(row.problem or "" for row in found))
    if not any(row.plan for row in found) and len(reasons) == 1:
        raise UsageError(reasons[0])
    console.document({"model": shape.name, "rows": [row.document() for row in found]})
    console.result(_drawn(compare_text(found), console))
    return EXIT_OK if any(row.plan and row.plan.fits for row in found) else EXIT_FAILED


def _caches(args: argparse.Namespace, console: Console) -> int:
    from serving.planner.compare import caches

    models = []
    for model in args.model:
        shape, checkpoint = read_shape(model)
        arithmetic = weight_bytes(shape, storage_of(None, shape))
        models.append((shape, checkpoint.total_bytes if checkpoint else arithmetic))
    storages: dict[str, KvStorage] = {
        name: kv_storage(name, kv_formats(), latent_storage(), device="cuda") for name in CACHE_FORMATS
    }
    rows = caches(models, storages)
    console.document({"rows": [row.document() for row in rows]})
    console.result(_drawn(caches_text(rows), console))
    return EXIT_OK
