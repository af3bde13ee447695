"""Make an engine environment: a virtual environment with one vLLM for one device.

Owns: the order of the work and what is left when it is broken off. Knows nothing about which packages
(`serving.engine.recipes`). A virtual environment cannot be moved, since its scripts hold absolute paths, so
it is made in place under a lock, and its record, written last, declares it whole.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from serving.console import Console
from serving.engine import pip
from serving.engine.commands import Ran, Runner, run
from serving.engine.environments import Environment, python_of, read_environment, write_record
from serving.engine.folders import DataFolder
from serving.engine.locks import file_lock
from serving.engine.recipes import Recipe, Step
from serving.errors import Failed, TeapotError

HEARTBEAT_S = 15.0
SUPPORTED_PYTHON = ((3, 11), (3, 14))
_SELF_CHECK = """
import importlib.metadata as metadata, importlib.util as util, sys
import torch, transformers
assert util.find_spec("vllm.entrypoints.openai.api_server"), "vllm has no api_server"
print(*(f"{name}=={metadata.version(name)}" for name in sys.argv[1:]), sep="\\n")
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the install needs of the machine, so that tests can stand in for it."""

    runner: Runner = run
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
    python: str = sys.executable
    python_version: tuple[int, int] = (sys.version_info[0], sys.version_info[1])
    clock: Callable[[], float] = time.monotonic


def ensure_environment(
    recipe: Recipe, folder: DataFolder, console: Console, machine: Machine | None = None
) -> Environment:
    """The environment of a recipe, installed if it is not there yet.

    Two at once: the second waits and then finds it whole. A half-made one, left by a kill, is removed first.
    One that was made by another recipe gets what it lacks, in place.
    Raises: Failed with what to do (disk, network, package); then, as on Ctrl-C, nothing half-made is left.
    """
    machine = machine or Machine()
    path = folder.environments / recipe.environment_name(machine.python_version)
    if found := _current(path, recipe):
        return found
    _check_python(machine.python_version)
    folder.make()
    with file_lock(folder.environments / f".{path.name}.lock", console.say) as lock:
        if found := _current(path, recipe):
            return found
        install = _Install(recipe, path, folder.logs / f"install-{path.name}.log", console, machine, lock)
        if read_environment(path):
            # Broken off, its record still tells that it lacks something: the next start goes on.
            install.update()
        else:
            _make(install, path, recipe, folder, machine)
    found = _current(path, recipe)
    if found is None:
        raise Failed("the environment vanished after its install", where=str(path), fix="run again")
    return found


def _current(path: Path, recipe: Recipe) -> Environment | None:
    found = read_environment(path)
    return found if found and found.record.get("recipe") == recipe.fingerprint() else None


def _make(install: _Install, path: Path, recipe: Recipe, folder: DataFolder, machine: Machine) -> None:
    if path.exists():
        install.console.say(f"removing {path}, left by an install that was broken off")
        _remove(path)
    _check_disk(recipe, folder, machine)
    try:
        install.make()
    except BaseException:
        install.console.say(f"removing the unfinished {path}")
        _remove(path)
        raise


class _Install:
    """One install: a venv, pip's steps, the alias, the self-check, the record."""

    def __init__(
        self, recipe: Recipe, path: Path, log: Path, console: Console, machine: Machine, lock: int
    ) -> None:
        self._recipe, self._path, self._log = recipe, path, log
        self.console, self._machine, self._lock = console, machine, lock
        self._started = self._spoke = machine.clock()
        self._stage = 0
        self._stages = len(recipe.steps) + 1

    def make(self) -> None:
        recipe = self._recipe
        self.console.say(
            f"installing vLLM {recipe.version} for {recipe.device} into {self._path} (log: {self._log})"
        )
        self._stages += 1
        self._log.write_text("")
        self._step("virtual environment", [self._machine.python, "-m", "venv", str(self._path)])
        self._fill(recipe)

    def update(self) -> None:
        self.console.say(f"{self._path.name} was made by another recipe: adding what it lacks")
        self._log.write_text("")
        self._fill(self._recipe)

    def _fill(self, recipe: Recipe) -> None:
        for step in recipe.steps:
            self._pip(step)
        if recipe.alias_version:
            _write_alias(self._path, recipe)
        checked = self._step(
            "self-check",
            [str(python_of(self._path)), "-c", _SELF_CHECK, recipe.distribution, "torch", "transformers"],
        )
        size = _size_bytes(self._path)
        write_record(
            self._path,
            {
                "device": recipe.device,
                "recipe": recipe.fingerprint(),
                "version": recipe.version,
                "packages": [line for line in checked.lines if "==" in line],
                "python": ".".join(map(str, self._machine.python_version)),
                "installed": datetime.now(UTC).isoformat(timespec="seconds"),
                "size_bytes": size,
            },
        )
        self.console.say(f"installed {self._path.name}: {size / 1e9:.1f} GB in {self._elapsed()}")

    def _pip(self, step: Step) -> None:
        base = [str(python_of(self._path)), "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
        title = f"packages: {step.title}"
        ran = self._run(title, [*base, *step.pip_arguments()], pip.PipProgress(step.count()))
        if ran.code and step.fallback_index and pip.missing_package(ran.lines):
            self.console.say(
                f"  pip's index does not have {', '.join(step.packages)}: asking {step.fallback_index}"
            )
            again = [*base, "--extra-index-url", step.fallback_index, *step.pip_arguments()]
            ran = self._run(title, again, pip.PipProgress(step.count()))
        if ran.code:
            raise pip.failure(ran.lines, str(self._log))

    def _step(self, title: str, argv: Sequence[str]) -> Ran:
        ran = self._run(title, argv, None)
        if ran.code:
            last = next((line for line in reversed(ran.lines) if line.strip()), "it said nothing")
            if "No space left on device" in last:
                raise pip.failure(ran.lines, str(self._log))
            raise Failed(f"{title} failed: {last}", where=str(self._log), fix="see the log, and run again")
        return ran

    def _run(self, title: str, argv: Sequence[str], progress: pip.PipProgress | None) -> Ran:
        self._stage += 1
        head = f"  [{self._stage}/{self._stages}] {title}"
        self.console.say(f"{head} ({self._elapsed()})")
        self._spoke = self._machine.clock()
        with self._log.open("a") as log:

            def hear(line: str) -> None:
                log.write(line + "\n")
                if progress:
                    progress.hear(line)
                    self._show(f"{head}: {progress} ({self._elapsed()})")

            return self._machine.runner(argv, on_line=hear, keep_open=(self._lock,))

    def _show(self, text: str) -> None:
        """Progress in place on a terminal; elsewhere a line from time to time."""
        self.console.progress(text)
        now = self._machine.clock()
        if now - self._spoke >= HEARTBEAT_S and not self.console.err.isatty():
            self.console.say(text)
            self._spoke = now

    def _elapsed(self) -> str:
        return f"{self._machine.clock() - self._started:.0f} s"


def _check_python(version: tuple[int, int]) -> None:
    low, high = SUPPORTED_PYTHON
    if not low <= version <= high:
        raise Failed(
            f"Python is {version[0]}.{version[1]}, engines need {low[0]}.{low[1]} to {high[0]}.{high[1]}",
            fix="run teapot with one of these",
        )


def _check_disk(recipe: Recipe, folder: DataFolder, machine: Machine) -> None:
    free = machine.free_bytes(folder.environments)
    if free < recipe.free_bytes:
        raise Failed(
            f"{free / 1e9:.1f} GB are free and the engine environment needs {recipe.free_bytes / 1e9:.1f} GB",
            where=str(folder.environments),
            fix="free some space, or set TEAPOT_HOME to a folder on a larger disk",
        )


def _write_alias(path: Path, recipe: Recipe) -> None:
    """Let `importlib.metadata.version("vllm")` answer: the `vllm` command and its platform check ask it."""
    for site in path.glob("lib/python*/site-packages"):
        info = site / f"vllm-{recipe.alias_version}.dist-info"
        info.mkdir(exist_ok=True)
        summary = f"Another name of {recipe.distribution} {recipe.version}"
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: vllm\nVersion: {recipe.alias_version}\nSummary: {summary}\n"
        )
        (info / "INSTALLER").write_text("teapot\n")
        (info / "RECORD").write_text("")


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        raise TeapotError("cannot be removed", where=str(path), fix="remove it by hand, and run again")


def _size_bytes(path: Path) -> int:
    return sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir() or file.is_symlink())
