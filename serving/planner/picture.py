"""A plan drawn in a terminal: where the memory goes, and how many fit at which context.

Owns: the bar and the chart in characters. Knows nothing about terminals: lines come out.
"""

from __future__ import annotations

from serving.planner.plan import Plan

CONTEXTS = tuple(1024 * 2**power for power in range(11))
"""1,024 to 1,048,576 tokens."""
WIDTH = 64
_GIB = 1024**3
ASCII = str.maketrans("█▓░·", "#=-.")
"""The same signs for a terminal that has none of them."""
PARTS = (("weights", "█"), ("overhead", "▓"), ("KV cache", "░"), ("free", "·"))


def memory_parts(plan: Plan) -> list[tuple[str, int]]:
    """The parts of one device's memory in bytes, in the order of the bar."""
    budget = plan.budget
    held = budget.weight_bytes + budget.overhead_bytes + budget.kv_bytes
    return [
        ("weights", budget.weight_bytes),
        ("overhead", budget.overhead_bytes),
        ("KV cache", budget.kv_bytes),
        ("free", max(0, budget.total_bytes - held)),
    ]


def memory_bar(plan: Plan, width: int = WIDTH) -> list[str]:
    """One bar of a device's memory and its legend. What exceeds the memory is drawn beyond its end."""
    parts, total, missing = memory_parts(plan), plan.budget.total_bytes, plan.budget.missing_bytes
    scale = width / max(total, 1)
    drawn, legend = "", []
    for (name, size), (_, sign) in zip(parts, PARTS, strict=True):
        # A part that is there is seen, however small; the last one takes what rounding left.
        drawn += sign * min(width, max(round(size * scale), int(size > 0)))
        legend += [f"{sign} {name} {size / _GIB:.2f}"] if size else []
    bar = drawn[:width].ljust(width, drawn[-1:]) + "|" + ("█" if missing else "")
    over = f", {missing / _GIB:.2f} beyond" if missing else ""
    named = f"{'  '.join(legend)}  of {total / _GIB:.2f}{over}"
    return ["memory of a device, in GiB", bar, named]


def capacity_points(plan: Plan) -> list[tuple[int, int]]:
    """Users over all copies by the tokens that each holds, up to what the model can."""
    most = max(plan.ask.max_model_len, 1024)
    blocks, copies = plan.capacity.blocks, plan.ask.ranks.data
    contexts = [tokens for tokens in CONTEXTS if tokens < most] + [most]
    return [(tokens, copies * plan.pool.users(blocks, tokens)) for tokens in contexts]


def capacity_chart(plan: Plan, width: int = WIDTH) -> list[str]:
    """Users against context, a line each; the bar is on a scale of powers of two."""
    points = capacity_points(plan)
    longest = max((users for _, users in points), default=0).bit_length() or 1
    if not any(users for _, users in points):
        return ["users that the KV cache holds: none, at any length"]
    lines = ["users that the KV cache holds, by tokens of each"]
    for tokens, users in points:
        bar = "░" * round(width / 2 * users.bit_length() / longest)
        lines.append(f"{tokens:>11,} {users:>9,} {bar}".rstrip())
    return lines
