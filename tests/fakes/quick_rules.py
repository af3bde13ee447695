"""The committed rules with every duration divided by one number, so that hours pass in seconds.

Owns: that division, of windows (`[5m]`) and holds (`for: 5m`) alike; nothing else of a rule changes, and what
divides or counts keeps its meaning. Knows nothing about what the rules say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from fakes.promtool import ALERTS, RULES

DIVISOR = 150
"""A minute is 0.4 s."""
STEP = "200ms"
"""Between scrapes, and between evaluations: four within the shortest window, of two minutes."""
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_WINDOW = re.compile(r"\[(\d+)([smh])\]")


def quick_config(folder: Path, scrape_configs: Sequence[Mapping[str, Any]]) -> str:
    """A configuration of Prometheus with these jobs, and with the quick rules, written into a folder."""
    document = {
        "global": {"scrape_interval": STEP, "scrape_timeout": STEP, "evaluation_interval": STEP},
        "rule_files": [str(file) for file in quick_rules(folder, DIVISOR)],
        "scrape_configs": list(scrape_configs),
    }
    return yaml.safe_dump(document)


def quick_rules(folder: Path, divisor: int) -> list[Path]:
    """Both files, written anew into a folder."""
    made = []
    for file in (RULES, ALERTS):
        document = yaml.safe_load(file.read_text())
        for group in document["groups"]:
            group["rules"] = [_quick(rule, divisor) for rule in group["rules"]]
        made.append(folder / file.name)
        made[-1].write_text(yaml.safe_dump(document, sort_keys=False))
    return made


def _quick(rule: dict[str, Any], divisor: int) -> dict[str, Any]:
    expr, found = _WINDOW.subn(lambda window: f"[{_divided(window[1], window[2], divisor)}]", rule["expr"])
    assert found == rule["expr"].count("["), f"a window that cannot be read: {rule['expr']}"
    hold = re.fullmatch(r"(\d+)([smh])", rule.get("for", "0s"))
    assert hold is not None, rule["for"]
    return {**rule, "expr": expr, **({"for": _divided(hold[1], hold[2], divisor)} if "for" in rule else {})}


def _divided(number: str, unit: str, divisor: int) -> str:
    return f"{int(number) * _SECONDS[unit] * 1000 // divisor}ms"
