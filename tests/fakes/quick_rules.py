"""The committed rules with shorter times, so that hours pass in seconds.

Owns: which time stands for which, in windows (`[5m]`) and holds (`for: 5m`) alike. Nothing else of a rule
changes, and what is longer stays longer. Knows nothing about what the rules say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from fakes.promtool import ALERTS, RULES

SECONDS = {"1m": 2, "2m": 3, "3m": 3, "5m": 4, "10m": 5, "15m": 6, "30m": 8, "1h": 12, "6h": 20}
"""Not all divided by one number: windows of minutes must hold a few scrapes, and nobody waits for hours."""
STEP = "500ms"
"""Between scrapes, and between evaluations."""
_WINDOW = re.compile(r"\[(\w+)\]")


def quick_config(folder: Path, scrape_configs: Sequence[Mapping[str, Any]]) -> str:
    """A configuration of Prometheus with these jobs, and with the quick rules, written into a folder."""
    document = {
        "global": {"scrape_interval": STEP, "scrape_timeout": STEP, "evaluation_interval": STEP},
        "rule_files": [str(file) for file in _quick_rules(folder)],
        "scrape_configs": list(scrape_configs),
    }
    return yaml.safe_dump(document)


def _quick_rules(folder: Path) -> list[Path]:
    made = []
    for file in (RULES, ALERTS):
        document = yaml.safe_load(file.read_text())
        for group in document["groups"]:
            group["rules"] = [_quick(rule) for rule in group["rules"]]
        made.append(folder / file.name)
        made[-1].write_text(yaml.safe_dump(document, sort_keys=False))
    return made


def _quick(rule: dict[str, Any]) -> dict[str, Any]:
    quick = {**rule, "expr": _WINDOW.sub(lambda window: f"[{SECONDS[window[1]]}s]", rule["expr"])}
    if "for" in rule:
        quick["for"] = f"{SECONDS[rule['for']]}s"
    return quick
