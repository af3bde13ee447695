"""How the page writes numbers: with their interval, their n, their tag.

Owns: the words of a figure. Knows nothing about charts.
"""

from __future__ import annotations

from deploy.study.results import Figure

KIB, MIB, GIB = 1024, 1024**2, 1024**3
NAMES = {"tokens/s": "tok/s"}


def number(value: float) -> str:
    """Three or four digits that matter, thousands separated: `93,184`, `41.3`, `0.0123`."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def size(value: float) -> str:
    """Bytes in the unit that suits them."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(value) >= unit:
            return f"{value / unit:.3g} {name}" if value / unit < 1000 else f"{value / unit:,.0f} {name}"
    return f"{value:.0f} B"


def unit_of(most: float) -> tuple[float, str]:
    """GiB or MiB, whichever suits values up to `most` bytes: its bytes, and its name."""
    return (GIB, "GiB") if most >= GIB else (MIB, "MiB")


def percent(value: float) -> str:
    """A share: `91 %`, `0.4 %`."""
    return f"{value * 100:.3g} %"


def seconds(value: float) -> str:
    """`412 ms` or `1.24 s`."""
    return f"{value * 1e3:.3g} ms" if abs(value) < 1 else f"{value:.3g} s"


def amount(value: float, unit: str) -> str:
    """A value in its unit."""
    if unit == "bytes":
        return size(value)
    if unit == "x":
        return times(value)
    if unit == "s":
        return seconds(value)
    if unit == "ratio":
        return percent(value)
    name = NAMES.get(unit, unit)
    return f"{number(value)} {name}".rstrip()


def times(value: float) -> str:
    """A ratio of two arms: `1.98x`."""
    return f"{value:.3g}x"


def user_count(count: int) -> str:
    """`1 user`, `16 users`."""
    return f"{count:,} user{'' if count == 1 else 's'}"


def interval(figure: Figure) -> str:
    """`[38.1, 44.6]` in the unit, or why there is none."""
    if figure.low is None or figure.high is None:
        return "no interval"
    return f"[{amount(figure.low, figure.unit)}, {amount(figure.high, figure.unit)}]"


def told(figure: Figure) -> str:
    """All there is to say of a figure, in one line."""
    return f"{amount(figure.value, figure.unit)} {interval(figure)}, n = {figure.n}, {figure.tag}"
