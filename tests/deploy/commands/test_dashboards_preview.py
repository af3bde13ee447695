"""`teapot dashboards preview` from its command line, against a scripted Prometheus."""

from __future__ import annotations

import json

import pytest
from fakes.prometheus_api import Script, serving

from dashboards.boards import BOARDS
from deploy.cli import main

TARGET = {
    "labels": {"job": "gateway"},
    "scrapeUrl": "http://g/metrics",
    "health": "up",
    "scrapeInterval": "5s",
}


def script() -> Script:
    labels = ("deployment", "revision", "role", "run", "instance", "model_name")
    return Script(
        {
            "/api/v1/targets": {"activeTargets": [TARGET]},
            **{f"/api/v1/label/{label}/values": ["demo"] for label in labels},
        }
    )


@pytest.mark.slow
def test_every_board_is_written_even_where_nothing_has_data(tmp_path, capsys):
    with serving(script()) as url:
        code = main(["dashboards", "preview", "--prometheus", url, "--out", str(tmp_path / "p"), "--json"])
    assert code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["page"] == str(tmp_path / "p" / "index.html")
    names = {path.name for path in (tmp_path / "p").iterdir()}
    assert names == {"index.html", *(f"{board.uid}.png" for board in BOARDS)}


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_told(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with serving(script()) as url:
        assert main(["dashboards", "preview", "--prometheus", url, "--out", str(tmp_path / "file")]) == 1
    assert "give another --out DIR" in capsys.readouterr().err
