"""The service level indicators, each once: panels, recording rules, alerts and rollout gates take them here.

Owns: the list of all. Knows nothing about how one is drawn, how often it is asked, or what is done about it.

Metric names come from the facts (`serving/facts/metrics.toml`), so what is renamed there is renamed here.
"""

from __future__ import annotations

from collections.abc import Mapping

from dashboards.engine_slis import ENGINE_SLIS
from dashboards.gateway_slis import GATEWAY_SLIS, SLOS, missed_ratio
from dashboards.sli import Better, Sli, Unit, load, own, vllm

__all__ = ["SLIS", "SLOS", "Better", "Sli", "Unit", "load", "missed_ratio", "own", "vllm"]

SLIS: Mapping[str, Sli] = {sli.key: sli for sli in (*GATEWAY_SLIS, *ENGINE_SLIS)}
"""By key."""
