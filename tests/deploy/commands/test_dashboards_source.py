from __future__ import annotations

import argparse

import pytest

from deploy.commands.dashboards_source import add_source, given


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_source(parser, span="5m")
    return parser.parse_args(["--prometheus", "http://p", *words])


def test_the_range_is_in_seconds_and_has_a_default():
    assert parsed().range == 300
    assert parsed("--range", "90s").range == 90


def test_choices_are_values_of_variables_and_the_deployment_is_one_of_them():
    args = parsed("--set", "price=0.4", "--set", "expr=a=b", "--deployment", "demo")
    assert given(args) == {"price": "0.4", "expr": "a=b", "deployment": "demo"}
    assert given(parsed()) == {}


@pytest.mark.parametrize("words", [["--range", "x"], ["--set", "=1"], ["--set", "price"]])
def test_what_is_not_in_the_form_wanted_is_a_usage_error(words, capsys):
    with pytest.raises(SystemExit) as stop:
        parsed(*words)
    assert stop.value.code == 2
    assert capsys.readouterr().err
