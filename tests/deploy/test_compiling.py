from __future__ import annotations

from deploy.compiling import compilable
from serving.config.flags import EngineCommand
from serving.modes.mode import Setting

SETTING = Setting("--model", "m", "default")
COMMAND = EngineCommand(("python", "--model", "m"), {"A": "1"}, (SETTING,))


def test_with_gplusplus_nothing_is_changed() -> None:
    assert compilable(COMMAND, "cpu", "g++", {}) is COMMAND


def test_without_any_compiler_the_engine_is_eager_and_says_why() -> None:
    command = compilable(COMMAND, "cpu", None, {})
    assert command.argv == ("python", "--model", "m", "--enforce-eager")
    assert command.settings == (
        Setting("--enforce-eager", None, "teapot: no C++ compiler found"),
        SETTING,
    )


def test_an_engine_that_is_eager_anyway_or_on_a_gpu_needs_none() -> None:
    eager = EngineCommand(("python",), {}, (Setting("--enforce-eager", None, "demo.yaml:3"),))
    assert compilable(eager, "cpu", None, {}) is eager
    assert compilable(COMMAND, "cuda", None, {}) is COMMAND


def test_another_compiler_is_named_to_torch() -> None:
    command = compilable(COMMAND, "cpu", "clang++", {})
    assert command.environment == {"A": "1", "CXX": "clang++"}
    assert command.settings[-1] == Setting("CXX", "clang++", "teapot: no g++ found")
    assert command.argv == COMMAND.argv


def test_a_compiler_that_the_user_chose_is_already_known() -> None:
    assert compilable(COMMAND, "cpu", "clang++", {"CXX": "clang++"}) is COMMAND
