"""A plan in words for people: the answer first, then the figures, the picture and the advice.

Owns: the wording and the order. Knows nothing about consoles: text comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from serving.facts.overheads import Overheads
from serving.planner.advise import NO_CHANGE, Advice
from serving.planner.ask import Ask
from serving.planner.figure import Figure
from serving.planner.figures import RATES_UNKNOWN, figures
from serving.planner.picture import CONTEXTS, WIDTH, capacity_chart, memory_bar
from serving.planner.plan import Plan

if TYPE_CHECKING:
    from serving.planner.compare import CacheRow, Row

SHOWN = (
    ("parameters", "params_total"),
    ("active for a token", "params_active"),
    ("weights", "weight_bytes"),
    ("weights a device", "weight_bytes_per_rank"),
    ("overhead a device", "overhead_bytes_per_rank"),
    ("KV cache a device", "kv_cache_bytes_per_rank"),
    ("KV of a token", "kv_bytes_per_token"),
    ("KV of a token in windows", "kv_bytes_per_token_window"),
    ("KV of a request, fixed", "kv_bytes_per_request_fixed"),
    ("KV tokens", "kv_cache_tokens"),
    ("users at the longest", "users_at_max_model_len"),
    ("users at p50 lengths", "users_at_p50"),
    ("users at p95 lengths", "users_at_p95"),
    ("longest context at users", "longest_context_at_users"),
)
TIMES = (
    ("TPOT floor", "decode_step_floor_s"),
    ("TPOT calibrated", "tpot_calibrated_s"),
    ("TPOT measured p50", "tpot_measured_s"),
    ("TTFT floor", "ttft_floor_s"),
    ("TTFT calibrated", "ttft_calibrated_s"),
    ("TTFT measured p50", "ttft_measured_s"),
    ("prefill floor", "prefill_floor_s"),
    ("KV transfer", "kv_transfer_s"),
    ("KV transfer / prefill", "kv_transfer_ratio"),
)


def plan_text(
    plan: Plan,
    overheads: Overheads,
    advice: Sequence[Advice],
    measured: dict[str, Figure] | None = None,
    *,
    by_keys: bool = False,
    width: int = WIDTH,
) -> str:
    """The whole answer; advice as flags of vLLM or, `by_keys`, as keys of a deployment file. Pictures have
    `width` characters."""
    named = {**figures(plan, overheads), **(measured or {})}
    lines = [
        verdict(plan),
        *(f"  {line}" for line in question(plan.ask)),
        *(f"  limit: {limit.what}" for limit in plan.limits),
        "",
        *_block(named, SHOWN),
        "",
        *_block(named, TIMES),
        *_unknown(plan, named),
    ]
    if plan.gains:
        lines += ["", *_speculation(plan)]
    lines += ["", *memory_bar(plan, width), "", *capacity_chart(plan, width)]
    if not advice and not plan.fits:
        lines += ["", NO_CHANGE]
    if advice:
        lines += [
            "",
            "what would change it, best first (predicted)",
            *(line for each in advice for line in _advice(each, by_keys=by_keys)),
        ]
    lines += [f"note: {note}" for note in plan.ask.shape.notes]
    return "\n".join(lines)


def verdict(plan: Plan) -> str:
    """One line: fits or not, and by how much."""
    budget, users = plan.budget, plan.users
    if plan.fits:
        copies = plan.ask.ranks.data
        held = f"{plan.capacity.tokens:,} KV tokens" + (f" in each of {copies} copies" if copies > 1 else "")
        return f"fits: {held}, {users.at_max:,} users of {plan.ask.max_model_len:,} tokens"
    if budget.missing_bytes:
        return f"does not fit: {budget.missing_bytes / 1024**3:.2f} GiB too much on each device"
    return f"does not fit: {next(limit.what for limit in plan.limits if limit.blocks)}"


def question(ask: Ask) -> list[str]:
    """What is planned, where and how, in a few lines."""
    ranks, batch = ask.ranks, ask.batch
    lines = [
        f"{ask.shape.name}: {ask.shape.architecture}, {ask.shape.kind}, weights {ask.weights.name}, "
        f"KV cache {ask.cache.name}",
        f"{_counted(ask)}, tensor {ranks.tensor}, pipeline {ranks.pipeline}, data {ranks.data}",
        f"vLLM {ask.version}, max_model_len {ask.max_model_len:,}, max_num_seqs {batch.max_num_seqs:,}, "
        f"max_num_batched_tokens {batch.max_num_batched_tokens:,}",
    ]
    return [*lines, f"one of {ask.engines} engines; all that follows is of one"] if ask.engines > 1 else lines


def _unknown(plan: Plan, named: Mapping[str, Figure]) -> list[str]:
    """Why a time is missing, and what would tell it."""
    if plan.decode is None:
        return [f"  no floors: {RATES_UNKNOWN}"]
    calibrated = named["tpot_calibrated_s"]
    return [f"  not calibrated: {calibrated.source}"] if calibrated.value is None else []


def _counted(ask: Ask) -> str:
    devices = ask.ranks.devices
    if ask.device != "cpu":
        return f"{devices} x {ask.gpu.title if ask.gpu else ask.device}"
    ranks = f"CPU, {devices} rank{'s' if devices > 1 else ''}"
    return f"{ranks}{' of' if devices == 1 else ', each of'} {ask.gpu.title}" if ask.gpu else ranks


def _block(named: dict[str, Figure], shown: Sequence[tuple[str, str]]) -> list[str]:
    lines = []
    for title, name in shown:
        figure = named.get(name)
        if figure is None or figure.value is None or (not figure.value and "fixed" in name + title):
            continue
        if not figure.value and ("window" in name or "overhead" in name):
            continue
        band = ""
        if figure.low is not None and figure.high is not None and figure.low != figure.high:
            band = f"  ({worded(figure.low, figure.unit)} to {worded(figure.high, figure.unit)})"
        lines.append(f"  {title:<26}{worded(figure.value, figure.unit):>16}  {figure.kind}{band}")
    return lines


def worded(value: float, unit: str) -> str:
    """A figure as people say it: 14.96 GiB, 4.561 ms, 448,256."""
    if unit == "bytes":
        return f"{value / 1024**3:.2f} GiB" if value >= 10 * 1024**2 else f"{value:,.0f} B"
    if unit == "s":
        return (
            f"{value * 1e3:.3f} ms" if value < 1 else f"{value:,.2f} s" if value < 1000 else f"{value:,.0f} s"
        )
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _speculation(plan: Plan) -> list[str]:
    lines = [f"speculation by floors, {plan.gains[0].tokens_per_step:.2f} tokens a step"]
    held = plan.pool.users(plan.capacity.blocks, plan.context_tokens)
    for gain in plan.gains:
        beyond = "  more than the cache holds" if gain.batch > held else ""
        lines.append(f"  batch {gain.batch:>5,}  {gain.speedup:.2f}x{beyond}")
    loss = f"a loss from batch {plan.loss_batch:,}" if plan.loss_batch else "no loss up to batch 1,024"
    return [*lines, f"  {loss}"]


def _advice(advice: Advice, *, by_keys: bool) -> list[str]:
    changed = []
    if advice.users != advice.users_before:
        changed.append(f"users {users_changed(advice)}")
    before, after = advice.decode_floor_before_s, advice.decode_floor_s
    if before and after and abs(after / before - 1) > 0.001:
        changed.append(f"TPOT floor {before * 1e3:.2f} -> {after * 1e3:.2f} ms")
    if not advice.fits:
        changed.append("still does not fit")
    return [
        f"  {advice.title}: {advice.keys if by_keys else advice.flags}",
        f"      {', '.join(changed) or 'fits'}",
        f"      risk: {advice.risk}",
    ]


def users_changed(advice: Advice) -> str:
    """Users before and after, with their lengths where these are not the same."""
    before, after = f"{advice.users_before:,}", f"{advice.users:,}"
    if advice.user_tokens != advice.user_tokens_before:
        before, after = (
            f"{before} of {advice.user_tokens_before:,} tokens",
            f"{after} of {advice.user_tokens:,}",
        )
    return f"{before} -> {after}"


def compare_text(rows: Sequence[Row]) -> str:
    """The table of a comparison; a column of costs where there are prices."""
    width = max([len(row.label) for row in rows] + [5])
    priced = any(row.price_per_hour is not None for row in rows)
    asked = next((row.plan for row in rows if row.plan), None)
    lines = []
    if asked:
        users = f", {asked.ask.users:,} asked for" if asked.ask.users else ""
        lines += [
            f"{asked.ask.shape.name}: users of {asked.ask.user_tokens:,} tokens{users}; TPOT at {_step(rows)}"
        ]
    head = f"{'':<{width}} {'fits':>5} {'devices':>8} {'users':>9} {'a device':>9}"
    lines += [f"{head} {'KV tokens':>13} {'TPOT floor':>11}" + f" {'a user-hour':>12}" * priced]
    for row in rows:
        plan = row.plan
        tokens = f"{plan.capacity.tokens:,}" if plan else "-"
        floor = f"{plan.decode.seconds * 1e3:.2f} ms" if plan and plan.decode else "-"
        cost = f"{row.cost_per_user_hour:.4f}" if row.cost_per_user_hour is not None else "-"
        fits = "yes" if plan and plan.fits else "no"
        lines.append(
            f"{row.label:<{width}} {fits:>5} {row.devices:>8} {row.users:>9,} {row.users_per_device:>9,.1f} "
            f"{tokens:>13} {floor:>11}" + f" {cost:>12}" * priced + f"  {row.blocked_by}".rstrip()
        )
    lines += [f"{row.label}: {row.problem}" for row in rows if row.problem]
    return "\n".join(lines)


def _step(rows: Sequence[Row]) -> str:
    """The step whose floors a table has: its batch and context."""
    plans = [row.plan for row in rows if row.plan]
    batches = sorted({plan.batch for plan in plans})
    named = f"{batches[0]:,}" + (f" to {batches[-1]:,}" if len(batches) > 1 else "")
    return f"batch {named} and {plans[0].context_tokens:,} tokens"


def caches_text(rows: Sequence[CacheRow]) -> str:
    """The tables of many models' caches: against the weights, and against context."""
    width = max([len(row.model) for row in rows] + [5])
    lines = [f"{'':<{width}} {'KV':<20} {'weights':>12} {'KV at 32k':>12}  cache overtakes weights at"]
    for row in rows:
        if row.at_32k is None:
            lines.append(f"{row.model:<{width}} {row.format:<20} this format cannot hold the model's cache")
            continue
        where = "never" if row.overtakes_at is None else f"{row.overtakes_at:,} tokens"
        if row.overtakes_at and row.overtakes_at > row.max_position:
            where += f" (beyond its {row.max_position:,})"
        lines.append(
            f"{row.model:<{width}} {row.format:<20} {row.weight_bytes / 1024**3:>8.2f} GiB "
            f"{row.at_32k / 1024**3:>8.2f} GiB  {where}"
        )
    shown = [(at, tokens) for at, tokens in enumerate(CONTEXTS) if at % 2 == 0]
    lines += ["", "KV cache of a request in GiB, by its tokens"]
    lines += [f"{'':<{width}} {'KV':<20}" + "".join(f" {f'{tokens:,}':>9}" for _, tokens in shown)]
    for row in rows:
        if row.by_context:
            sizes = "".join(f" {row.by_context[at] / 1024**3:>9.3f}" for at, _ in shown)
            lines.append(f"{row.model:<{width}} {row.format:<20}{sizes}")
    return "\n".join(lines)
