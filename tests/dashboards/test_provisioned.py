"""Provisioning as Grafana's documentation has it."""

from __future__ import annotations

import yaml

from dashboards.provisioned import datasource_text, provider_text
from deploy.scrape_config import SCRAPE_INTERVAL_S


def test_the_data_source_has_a_uid_of_its_own_and_knows_how_often_is_scraped() -> None:
    document = yaml.safe_load(datasource_text())
    (source,) = document["datasources"]
    assert document["apiVersion"] == 1
    assert (source["type"], source["uid"]) == ("prometheus", "teapot-prometheus")
    assert source["jsonData"]["timeInterval"] == f"{SCRAPE_INTERVAL_S}s"


def test_boards_are_read_from_a_folder_that_grafana_s_environment_names() -> None:
    (provider,) = yaml.safe_load(provider_text())["providers"]
    assert (provider["type"], provider["options"]["path"]) == ("file", "$TEAPOT_BOARDS")
