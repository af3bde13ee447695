"""`teapot dashboards check` from its command line, against a scripted Prometheus."""

from __future__ import annotations

import json

import pytest
from fakes.prometheus_api import Script, matrix, serving, vector

from deploy.cli import main

TARGETS = {
    "activeTargets": [
        {
            "labels": {"job": "gateway"},
            "scrapeUrl": "http://g/metrics",
            "health": "up",
            "scrapeInterval": "5s",
        }
    ]
}


class Everything(dict):
    """Says of every series that it is 1, except of those that are named."""

    script: Script

    def get(self, asked, default=None):
        if asked in self:
            return self[asked]
        if asked.startswith("/api/v1/label/"):
            return ["demo"]
        if asked == "/api/v1/targets":
            return TARGETS
        instant = script_path(self).endswith("/query")
        return vector(({}, "1")) if instant else matrix(({}, [(1000, "1")]))


def script_path(answers: Everything) -> str:
    return answers.script.asked[-1][0]


def script(**answers) -> Script:
    made = Script(Everything(answers))
    made.answers.script = made
    return made


@pytest.mark.slow
def test_a_prometheus_that_says_one_to_everything_has_no_dead_panel(capsys):
    with serving(script()) as url:
        code = main(["dashboards", "check", "--prometheus", url, "--range", "1m", "--json"])
    told = json.loads(capsys.readouterr().out)
    statuses = {v["status"] for board in told["boards"] for v in board["verdicts"]}
    assert "dead" not in statuses
    assert "broken" not in statuses
    assert code == (0 if told["good"] else 1)
    values = {board["uid"]: board["values"] for board in told["boards"]}
    cells = values.pop("teapot-study")  # of all deployments: each arm of a study is one
    assert {chosen["deployment"] for chosen in values.values()} == {"demo"}
    assert "deployment" not in cells


def test_a_prometheus_that_knows_nothing_of_ours_fails_with_what_to_do(capsys):
    empty = Script({"/api/v1/targets": TARGETS, "/api/v1/label/__name__/values": ["up"]})
    empty.answers["/api/v1/label/deployment/values"] = []
    with serving(empty) as url:
        assert main(["dashboards", "check", "--prometheus", url]) == 1
    assert "has the label 'deployment'" in capsys.readouterr().err


@pytest.mark.slow
def test_dead_panels_are_exit_1_and_named(capsys):
    names = {
        f"/api/v1/label/{label}/values": ["demo"] for label in ("deployment", "revision", "__name__", "run")
    }
    with serving(Script({"/api/v1/targets": TARGETS, **names})) as url:
        assert main(["dashboards", "check", "--prometheus", url]) == 1
    assert "dead: there is no teapot_" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--range", "5"], "has no unit"),
        (["--range", "10ms"], "too short"),
        (["--set", "revision"], "NAME=VALUE"),
    ],
)
def test_a_wrong_argument_is_refused_with_the_form_wanted(words, said, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["dashboards", "check", "--prometheus", "http://127.0.0.1:9", *words])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_nobody_at_the_address_is_told(capsys):
    assert main(["dashboards", "check", "--prometheus", "ftp://x"]) == 2
    assert "is not the address of a Prometheus" in capsys.readouterr().err
