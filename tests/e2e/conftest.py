"""What the end-to-end tests stand on: an engine environment, a small random Llama, a running deployment."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.deployments import Serving, serve, write_deployment

from serving.console import Console
from serving.engine.embedded import EMBEDDED, ensure_embedded
from serving.engine.environments import Environment
from serving.engine.folders import DataFolder, data_folder
from serving.engine.install import ensure_environment
from serving.engine.recipes import choose_recipe

MAKE_TINY_LLAMA = Path(__file__).parent / "make_tiny_llama.py"


@pytest.fixture(scope="session")
def folder() -> DataFolder:
    """The user's data folder, as the program itself finds it."""
    return data_folder(os.environ, Path.home()).make()


@pytest.fixture(scope="session")
def environment(folder: DataFolder) -> Environment:
    """A whole CPU engine environment, installed if it is not there."""
    return ensure_environment(choose_recipe("cpu", "auto"), folder, Console())


@pytest.fixture(scope="session")
def tiny_llama(
    folder: DataFolder, environment: Environment, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with a 4-layer random Llama and SmolLM2's tokenizer."""
    tokenizer = ensure_embedded(EMBEDDED["smollm2-135m"], environment.python, folder, Console())
    out = tmp_path_factory.mktemp("models") / "tiny-llama"
    subprocess.run([environment.python, MAKE_TINY_LLAMA, tokenizer, out], check=True, capture_output=True)
    return out


@pytest.fixture(scope="module")
def serving(tiny_llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """`teapot serve` of the tiny Llama with prefix caching and an FP8 KV cache; ended by SIGTERM."""
    path = write_deployment(
        tmp_path_factory.mktemp("deployment"),
        model=tiny_llama,
        modes=[{"kind": "prefix_cache"}, {"kind": "quantized_kv", "format": "fp8"}],
        args={"enable-auto-tool-choice": True, "tool-call-parser": "hermes"},
    )
    with serve(path) as running:
        assert running.get("/health/ready")[0] in (0, 503)
        running.wait_until_ready()
        yield running
        assert running.stop(signal.SIGTERM) == 143
