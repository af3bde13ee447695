"""The tables of flags: complete, true of the installed engine, and told on docs/flags.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from serving.engine.environments import installed
from serving.engine.folders import data_folder
from serving.facts.flags import Removed
from serving.facts.load_flags import any_version, engine_flags, first_spellings, knowledge, removed_names

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "deploy" / "engine_scripts" / "extract_flags.py"
STORED = ROOT / "serving" / "facts" / "flags"
PAGE = (ROOT / "docs" / "flags.md").read_text(encoding="utf-8")
FLAG = re.compile(r"--[a-z0-9][a-z0-9-]+")


def test_two_versions_are_known_oldest_first() -> None:
    assert list(engine_flags()) == ["0.32.0", "0.33.0"]


@pytest.mark.parametrize(
    ("flag", "kind", "off"),
    [
        ("--enable-prefix-caching", "bool", "--no-enable-prefix-caching"),
        ("--headless", "switch", None),
        ("--seed", "int", None),
        ("--max-model-len", "size", None),
        ("--speculative-config", "json", None),
    ],
)
def test_both_versions_have_what_teapot_stands_on(flag: str, kind: str, off: str | None) -> None:
    for table in engine_flags().values():
        assert table.flags[flag].kind == kind
        if off:
            assert off in table.flags[flag].off


def test_the_new_negative_spelling_is_known_to_the_new_version_only() -> None:
    old, new = engine_flags().values()
    assert "--disable-prefix-caching" not in old.flags
    assert "--disable-prefix-caching" in new.flags["--enable-prefix-caching"].off


def test_what_only_the_new_version_has_is_told_apart() -> None:
    old, new = engine_flags().values()
    names = {flag.name for flag in new.flags.values()} - {flag.name for flag in old.flags.values()}
    assert names == {"--monokernel", "--reasoning-effort-map", "--sleep-mode-backend", "--watchdog-config"}
    assert old.words["speculative_method"] - new.words["speculative_method"] == {"medusa", "mlp_speculator"}


@pytest.mark.parametrize(
    ("asked", "answers"), [("0.32.0", "0.32.0"), ("0.32.7", "0.32.0"), ("0.33.0", "0.33.0")]
)
def test_a_patch_release_is_judged_by_its_minor_version(asked: str, answers: str) -> None:
    known = knowledge(asked)
    assert known is not None
    assert known.version.version == answers


def test_an_unread_version_is_not_judged() -> None:
    assert knowledge("0.9.1") is None


def test_short_spellings_lead_to_the_first() -> None:
    assert first_spellings()["-tp"] == "--tensor-parallel-size"
    assert first_spellings()["--disable-prefix-caching"] == "--enable-prefix-caching"


def test_a_name_that_no_version_knows_is_said_of_all_of_them() -> None:
    assert any_version().flag("--max-num-seqz", ()) == (
        "--max-num-seqz is no flag of vLLM 0.32.0 or 0.33.0",
        "did you mean --max-num-seqs?",
    )
    assert any_version().variable("VLLM_STEP5_SHARD_SP_SHARED_EXPERT") is None


@pytest.mark.parametrize("row", removed_names(), ids=lambda row: row.name)
def test_a_removed_name_is_really_gone_from_a_version(row: Removed) -> None:
    has = {
        "flag": lambda table: row.name in table.flags,
        "variable": lambda table: row.name in table.variables,
        "connector": lambda table: row.name in table.words["kv_connector"],
        "method": lambda table: row.name in table.words["speculative_method"],
        "key": lambda table: False,  # keys are inside a value, which no parser lists
    }[row.of]
    assert not all(has(table) for table in engine_flags().values())


@pytest.mark.parametrize("row", removed_names(), ids=lambda row: row.name)
def test_what_to_use_now_is_there_in_every_version(row: Removed) -> None:
    for flag in FLAG.findall(row.instead):
        assert all(flag in table.flags for table in engine_flags().values()), flag


def test_no_name_is_removed_twice() -> None:
    names = [(row.name, row.of) for row in removed_names()]
    assert len(names) == len(set(names))


def test_the_table_on_the_page_is_the_data() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert rows == [(row.name, row.of, row.instead, row.source) for row in removed_names()]


def test_the_page_says_which_versions_and_when() -> None:
    for table in engine_flags().values():
        assert f"| {table.version} | {table.extracted} | {table.source} |" in PAGE


@pytest.mark.engine
@pytest.mark.timeout(300)
def test_the_installed_engines_own_parser_says_the_same() -> None:
    stored = {path.stem.removeprefix("vllm-"): path for path in STORED.glob("*.json")}
    environments = [e for e in installed(data_folder(os.environ, Path.home())) if e.version in stored]
    if not environments:
        pytest.skip("no engine environment of a version whose flags are kept")
    for environment in environments:
        ran = subprocess.run(
            [environment.python, SCRIPT], capture_output=True, text=True, check=False, cwd="/"
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        now, kept = json.loads(ran.stdout), json.loads(stored[environment.version].read_text())
        for key in ("version", "flags", "variables", "words"):
            assert now[key] == kept[key], key
