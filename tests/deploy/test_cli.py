"""The teapot command itself: help, unknown commands, errors as words, --json, exit codes."""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

from deploy import cli
from serving.console import Console
from serving.errors import Failed, UsageError


def install_command(monkeypatch: pytest.MonkeyPatch, run) -> None:
    """Register a command `probe` whose module is a fake."""
    module = SimpleNamespace(
        configure=lambda parser: parser.add_argument("--n", type=int, default=1), run=run
    )
    monkeypatch.setitem(cli.COMMANDS, "probe", cli.Command("probe_module", "probe"))
    monkeypatch.setitem(sys.modules, "probe_module", module)


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_every_registered_command_can_be_configured(name: str) -> None:
    module = import_module(cli.COMMANDS[name].module)
    parser = argparse.ArgumentParser()
    module.configure(parser)
    assert callable(module.run)


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_every_command_has_help_with_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    assert stop.value.code == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_help_names_a_default_at_most_once_and_no_none(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "(default: None)" not in words
    assert "(default: False)" not in words
    assert ") (default" not in words


def test_a_wrong_option_is_told_without_the_list_of_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["plan", "--users", "none"])
    assert stop.value.code == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("teapot plan: argument --users: ")
    assert told[1:] == ["see: teapot plan --help"]


def test_a_wrong_option_is_a_document_where_one_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["load", "run", "--json"])
    assert stop.value.code == 2
    [problem] = json.loads(capsys.readouterr().out)["error"]
    assert problem["where"] == "teapot load run"
    assert problem["fix"] == "see: teapot load run --help"
    assert cli.main(["plann", "--json"]) == 2
    [problem] = json.loads(capsys.readouterr().out)["error"]
    assert problem["what"] == "'plann' is not a command; did you mean 'plan'?"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert all(name in out for name in cli.COMMANDS)


def test_help_imports_neither_aiohttp_nor_pydantic_nor_locust() -> None:
    code = (
        "import sys; from deploy import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'aiohttp', 'pydantic', 'locust', 'gevent', 'openai', 'asyncio'} & set(sys.modules)\n"
        "sys.exit(f'imported for --help: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_misspelt_command_is_answered_with_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sevre"]) == 2
    assert "did you mean 'serve'?" in capsys.readouterr().err


def test_no_command_prints_the_help_and_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "commands:" in capsys.readouterr().out


@pytest.mark.parametrize(("brief", "collects"), [(frozenset(), True), (frozenset({"probe"}), False)])
def test_garbage_is_looked_for_in_what_stays_up_and_not_in_what_ends_at_once(
    monkeypatch: pytest.MonkeyPatch, brief: frozenset[str], collects: bool
) -> None:
    seen: list[bool] = []

    def run(args: argparse.Namespace, console: Console) -> int:
        seen.append(gc.isenabled())
        return 0

    install_command(monkeypatch, run)
    monkeypatch.setattr(cli, "BRIEF", brief)
    assert cli.main(["probe"]) == 0
    assert seen == [collects]
    assert gc.isenabled()


@pytest.mark.parametrize("brief", [frozenset(), frozenset({"probe"})])
@pytest.mark.parametrize("own_process", [False, True])
def test_a_process_that_ends_at_once_does_not_look_for_garbage_a_last_time(
    monkeypatch: pytest.MonkeyPatch, brief: frozenset[str], own_process: bool
) -> None:
    install_command(monkeypatch, lambda args, console: 0)
    monkeypatch.setattr(cli, "BRIEF", brief)
    monkeypatch.setattr(sys, "argv", ["teapot", "probe"])
    before = gc.get_freeze_count()
    try:
        assert cli.main(None if own_process else ["probe"]) == 0
        assert (gc.get_freeze_count() > before) == bool(own_process and brief)
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("said", [None, "logfire"])
def test_plugins_of_pydantic_are_looked_for_only_by_commands_that_may_start_engines(
    monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    seen: list[str | None] = []

    def run(args: argparse.Namespace, console: Console) -> int:
        seen.append(os.environ.get(cli.PLUGINS))
        return 0

    install_command(monkeypatch, run)
    if said is None:
        monkeypatch.delenv(cli.PLUGINS, raising=False)
    else:
        monkeypatch.setenv(cli.PLUGINS, said)
    for brief in (frozenset({"probe"}), frozenset[str]()):
        monkeypatch.setattr(cli, "BRIEF", brief)
        assert cli.main(["probe"]) == 0
        assert os.environ.get(cli.PLUGINS) == said
    assert seen == [said or "__all__", said]


def test_brief_commands_are_commands() -> None:
    assert set(cli.COMMANDS) > cli.BRIEF


def test_an_error_is_told_on_stderr_with_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(args: argparse.Namespace, console: Console) -> int:
        raise UsageError("unknown key", where="a.yaml:3: modes", fix="remove it")

    install_command(monkeypatch, fail)
    assert cli.main(["probe"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "teapot: a.yaml:3: modes: unknown key; remove it\n"
    assert captured.out == ""


def test_with_json_an_error_is_one_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(args: argparse.Namespace, console: Console) -> int:
        raise Failed("engine died", where="engine 0", fix="see the log")

    install_command(monkeypatch, fail)
    assert cli.main(["probe", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "error": [{"what": "engine died", "where": "engine 0", "fix": "see the log"}],
        "exit_code": 1,
    }


def test_ctrl_c_exits_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(args: argparse.Namespace, console: Console) -> int:
        raise KeyboardInterrupt

    install_command(monkeypatch, interrupt)
    assert cli.main(["probe"]) == 130
