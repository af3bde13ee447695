"""A data folder whose engine environment is the scripted engine, and a model folder to go with it.

Owns: what `prepare` must find to start a deployment without installing anything. Knows nothing about tests.
What the engine does beyond vLLM's flags is written to `arguments`, which each start reads.
"""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from fakes import scripted_engine

from serving.engine.environments import write_record
from serving.engine.folders import DataFolder
from serving.engine.ports import free_port
from serving.engine.recipes import choose_recipe

TINY = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 49152,
    "max_position_embeddings": 2048,
    "dtype": "bfloat16",
}

_PYTHON = """\
#!{python}
import os, pathlib, shlex, sys
# vLLM is started as `python -m vllm.entrypoints.openai.api_server FLAGS`.
more = shlex.split(pathlib.Path("{arguments}").read_text())
os.execv("{python}", ["{python}", "{engine}", *sys.argv[1:][2:], *more])
"""
"""What stands for the environment's Python."""


@dataclass(frozen=True, slots=True)
class EngineHome:
    """The folder for TEAPOT_HOME."""

    root: Path

    @property
    def arguments(self) -> Path:
        """The file with further words for the scripted engine, read at each of its starts."""
        return self.root / "arguments"

    @property
    def environ(self) -> dict[str, str]:
        """What makes `teapot` use it."""
        return {"TEAPOT_HOME": str(self.root)}

    def behave(self, words: str) -> None:
        """Give every engine that starts from now on these further arguments."""
        self.arguments.write_text(words)

    def deployment(self, **keys: Any) -> Path:
        """A deployment file of the model folder, with these keys beside or in place of a quick start's."""
        document: dict[str, Any] = {
            "name": "scripted",
            "model": str(self.root / "models" / "tiny"),
            "engine": {"device": "cpu", "max_model_len": 2048, "kv_cache_memory": "1GiB"},
            "gateway": {"port": free_port(), "admin_port": free_port(), "drain_timeout": "5s"},
            "prometheus": {"enabled": False},
        }
        path = self.root / "deployment.yaml"
        path.write_text(yaml.safe_dump(document | keys))
        return path


def make_engine_home(root: Path) -> EngineHome:
    """Make the data folder, its environment and the model."""
    home = EngineHome(root)
    folder = DataFolder(root).make()
    recipe = choose_recipe("cpu", "auto")
    environment = folder.environments / recipe.environment_name(sys.version_info[:2])
    (environment / "bin").mkdir(parents=True)
    python = environment / "bin" / "python"
    python.write_text(
        _PYTHON.format(python=sys.executable, engine=scripted_engine.__file__, arguments=home.arguments)
    )
    python.chmod(0o755)
    record = {"device": recipe.device, "version": recipe.version, "recipe": recipe.fingerprint()}
    write_record(environment, record)
    home.behave("")
    make_model(folder.models / "tiny")
    return home


def make_model(path: Path) -> None:
    """A model folder that looks whole: config, tokenizer, weights of one number."""
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(TINY))
    (path / "tokenizer.json").write_text("{}")
    header = json.dumps({"w": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}).encode()
    (path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0\0")
