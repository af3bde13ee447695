"""What Grafana is told at its start: where Prometheus is, and where the boards lie.

Owns: the two provisioning files. Knows nothing about boards, or how Grafana is started: addresses and folders
come from Grafana's own environment.
"""

from __future__ import annotations

from typing import Any

import yaml

DATASOURCE_UID = "teapot-prometheus"
SCRAPE_INTERVAL = "5s"
"""As `deploy/scrape_config.py` has it; a test holds them together. Grafana makes $__rate_interval of it."""
FOLDER_UID = "teapot"
FOLDER = "teapot"
_HEAD = "# Made by `teapot dashboards build` from dashboards/provisioned.py; a change here is lost.\n"


def datasource_text() -> str:
    """The data source. `TEAPOT_PROMETHEUS_URL` is Grafana's to read from its environment."""
    source = {
        "name": "teapot Prometheus",
        "uid": DATASOURCE_UID,
        "type": "prometheus",
        "access": "proxy",
        "url": "$TEAPOT_PROMETHEUS_URL",
        "isDefault": True,
        "editable": False,
        "jsonData": {"httpMethod": "POST", "timeInterval": SCRAPE_INTERVAL, "prometheusType": "Prometheus"},
    }
    return _file({"apiVersion": 1, "datasources": [source]})


def provider_text() -> str:
    """The boards. `TEAPOT_BOARDS` is the folder with `generated/boards/*.json`."""
    provider = {
        "name": "teapot",
        "orgId": 1,
        "type": "file",
        "folder": FOLDER,
        "folderUid": FOLDER_UID,
        "disableDeletion": False,
        "allowUiUpdates": False,
        "updateIntervalSeconds": 30,
        "options": {"path": "$TEAPOT_BOARDS", "foldersFromFilesStructure": False},
    }
    return _file({"apiVersion": 1, "providers": [provider]})


def _file(document: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(document, sort_keys=False)
    return _HEAD + text
