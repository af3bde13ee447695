"""What a local Prometheus is told: its configuration, its arguments, its targets. Pure.

Owns: jobs and labels as decision 0010 has them, how often is scraped. Knows nothing about files or processes:
where they lie comes in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from loadgen.discovery import TARGET_LABEL
from serving.config.schema import PrometheusSection
from serving.engine.folders import DataFolder

SCRAPE_INTERVAL_S = 5
"""Grafana's `$__rate_interval` is four of these at least."""
EVALUATION_INTERVAL_S = 15
REFRESH_S = 30
"""Of target files whose change the kernel did not tell of."""
TRIES = 10
"""Ports in a row that are looked at for a free one."""


@dataclass(frozen=True, slots=True)
class StateFiles:
    """Where one deployment's Prometheus has its files."""

    folder: Path
    load: Path
    """The folder of load generators' target files, read by every local Prometheus."""

    @property
    def config(self) -> Path:
        """The generated configuration."""
        return self.folder / "prometheus.yml"

    @property
    def data(self) -> Path:
        """What was recorded."""
        return self.folder / "data"

    def targets(self, job: str) -> Path:
        """The target file of a job."""
        return self.folder / "targets" / f"{job}.json"


@dataclass(frozen=True, slots=True, order=True)
class EngineTarget:
    """An engine to be scraped. `url` is what the gateway's label `backend` says."""

    url: str
    revision: str
    role: str


@dataclass(frozen=True, slots=True)
class Scraped:
    """Whom it is for: a deployment at its public address, and its own port."""

    deployment: str
    public_url: str
    port: int


def load_folder(folder: DataFolder) -> Path:
    """Where load generators on this machine say where they are."""
    return folder.state / "load"


def config_text(scraped: Scraped, files: StateFiles, rules: Sequence[Path]) -> str:
    """The configuration file."""

    def discovered(job: str, pattern: Path) -> dict[str, Any]:
        found = {"files": [str(pattern)], "refresh_interval": f"{REFRESH_S}s"}
        return {"job_name": job, "file_sd_configs": [found]}

    own = {"targets": [f"127.0.0.1:{scraped.port}"], "labels": {"deployment": scraped.deployment}}

    document = {
        "global": {
            "scrape_interval": f"{SCRAPE_INTERVAL_S}s",
            "scrape_timeout": f"{SCRAPE_INTERVAL_S - 1}s",
            "evaluation_interval": f"{EVALUATION_INTERVAL_S}s",
        },
        "rule_files": [str(rule) for rule in rules],
        "scrape_configs": [
            discovered("gateway", files.targets("gateway")),
            discovered("engine", files.targets("engine")),
            {**discovered("load", files.load / "*.json"), "relabel_configs": [_known(scraped)]},
            {"job_name": "prometheus", "static_configs": [own]},
        ],
    }
    return "# Written anew at every start of teapot.\n" + yaml.safe_dump(document, sort_keys=False)


def arguments(
    binary: str, deployment: str, port: int, files: StateFiles, section: PrometheusSection
) -> tuple[str, ...]:
    """What starts it: on loopback, bounded, and not to be read or ended by web pages that a browser shows."""
    return (
        binary,
        f"--config.file={files.config}",
        f"--storage.tsdb.path={files.data}",
        f"--storage.tsdb.retention.size={section.retention_size}B",
        f"--storage.tsdb.retention.time={max(1, round(section.retention_time))}s",
        f"--web.listen-address=127.0.0.1:{port}",
        # Its default lets every page read what it holds.
        "--web.cors.origin=https?://(localhost|127\\.0\\.0\\.1)(:[0-9]+)?",
        f"--web.page-title=Prometheus of teapot {deployment}",
    )


def gateway_groups(deployment: str, admin_url: str) -> str:
    """The target file of the gateway. Its series carry revision, role and backend themselves."""
    return _text([{"targets": [address(admin_url)], "labels": {"deployment": deployment}}])


def engine_groups(deployment: str, engines: Iterable[EngineTarget]) -> str:
    """The target file of the engines, in an order of its own so that the same engines are the same text."""
    return _text(
        [
            {
                "targets": [address(engine.url)],
                "labels": {
                    "deployment": deployment,
                    "revision": engine.revision,
                    "role": engine.role,
                    "instance": engine.url,
                },
            }
            for engine in sorted(engines)
        ]
    )


def ports_to_try(port: int) -> range:
    """The port asked for, and those after it."""
    return range(port, min(port + TRIES, 65536))


def address(url: str) -> str:
    """Host and port of an URL, as a target is written."""
    return urlsplit(url).netloc


def _known(scraped: Scraped) -> dict[str, Any]:
    """A load whose target is this deployment gets its name; whom another one loads is not known here."""
    parts = urlsplit(scraped.public_url)
    hosts = {"127.0.0.1", "localhost", "[::1]", parts.netloc.rpartition(":")[0]}
    regex = f"https?://({'|'.join(sorted(map(re.escape, hosts)))}):{parts.port}(/.*)?"
    return {
        "source_labels": [TARGET_LABEL],
        "regex": regex,
        "target_label": "deployment",
        "replacement": scraped.deployment,
    }


def _text(groups: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(groups, indent=1) + "\n"
