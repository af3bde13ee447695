"""Run by an engine environment's Python: what vLLM's own classes hold of models, and the blocks they get.

stdin is a JSON object: `models`, each name's config.json, and `cases`, each a model's name, how it is spread
and stored, and `asks` of [max_model_len, max_num_batched_tokens, bytes of KV cache]. stdout is the same with
`counts` (parameters by transformers' class), `slots` (bytes of a head in formats of the cache) and, in each
case, `stages` (bytes of one rank's parameters, by pipeline stage) and `answers` ([blocks, tokens,
concurrency] of each ask).

Nothing is loaded: all tensors are on torch's meta device. The layout of the ranks is pretended, so that a
model's classes divide their tensors as they would on so many devices, and `gpu` cases have what CUDA's
attention backends have where the CPU's differ: blocks of 16 tokens and a step scheduled ahead.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import json
import os
import sys
import tempfile
import types
from pathlib import Path

SCALES = tuple(f"{part}_scale" for part in ("q", "k", "v", "prob"))
"""Ends of the names of attention's scales."""
DIMENSIONS = (64, 80, 96, 112, 128, 192, 256)
os.environ |= {"VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1"}


class Ranks:
    """Stands in for a group of processes, of which this is one."""

    def __init__(self, size, rank=0):
        self.world_size, self.rank_in_group, self.rank, self.local_rank = size, rank, rank, rank
        self.ranks, self.first_rank, self.last_rank = list(range(size)), 0, size - 1
        self.is_first_rank, self.is_last_rank = rank == 0, rank == size - 1
        self.device_group = types.SimpleNamespace(size=lambda: size, rank=lambda: rank)
        self.cpu_group, self.device_communicator, self.use_device_communicator = None, None, False


class Anything(type):
    """A class that has every attribute."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class Vision(types.ModuleType):
    """Stands in for torchvision, which some models' files import for images and the environment lacks."""

    def __init__(self, name):
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})


class Finder:
    """Finds `Vision` for every module of torchvision."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Vision(spec.name)

    def exec_module(self, module):
        pass


def prepare():
    """Look at models in this process, not each in one of its own, and do not ask this machine's CPU."""
    import torch
    from vllm.model_executor.layers.fused_moe import expert_map_manager
    from vllm.model_executor.models import registry

    uncached = importlib.import_module("transformers.utils.import_utils")
    uncached.is_torchvision_available()  # "no", before there is something that looks like it
    sys.meta_path.append(Finder())
    registry._LazyRegisteredModel.inspect_model_cls = lambda self: registry._ModelInfo.from_model_cls(
        self.load_model_cls()
    )
    torch.cpu._is_amx_tile_supported = lambda: True
    torch.cpu._is_avx512_bf16_supported = lambda: False
    real = expert_map_manager.determine_expert_map

    def mapped(*args, **kwargs):
        with torch.device("cpu"):
            return real(*args, **kwargs)

    expert_map_manager.determine_expert_map = mapped


def pretend(case, stage):
    """The groups of one rank of this stage."""
    import vllm.distributed.parallel_state as state

    tensor, pipeline, data = (case.get(key, 1) for key in ("tensor", "pipeline", "data"))
    state._WORLD = Ranks(tensor * pipeline)
    state._TP, state._PP, state._DP = Ranks(tensor), Ranks(pipeline, stage), Ranks(data)
    state._EP = state._EPLB = state._ETP = Ranks(tensor * data)
    state._DCP = state._PCP = state._INNER_DP_WORLD = Ranks(1)


def configured(case, folder, batched):
    """The configuration as the server makes it of its arguments."""
    from vllm.engine.arg_utils import EngineArgs

    config = EngineArgs(
        model=folder,
        skip_tokenizer_init=True,
        enforce_eager=True,
        dtype="bfloat16",
        max_num_batched_tokens=batched,
        max_num_seqs=min(64, batched),
        kv_cache_dtype=case.get("kv", "auto"),
        block_size=16 if case.get("gpu") else None,
        tensor_parallel_size=case.get("tensor", 1),
        pipeline_parallel_size=case.get("pipeline", 1),
        enable_expert_parallel=case.get("expert", False),
        enable_prefix_caching=case.get("prefix_cache"),
    ).create_engine_config()
    config.parallel_config.data_parallel_size = case.get("data", 1)
    config.scheduler_config.async_scheduling = case.get("gpu", False)
    config.cache_config.kv_cache_layout = "LBHNC"
    return config


def made(config):
    """The model of this rank, without memory."""
    import torch
    from vllm.config import set_current_vllm_config
    from vllm.model_executor.model_loader.utils import initialize_model

    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with set_current_vllm_config(config), torch.device("meta"):
            return initialize_model(config)
    finally:
        torch.set_default_dtype(usual)


def held(model):
    """Bytes of what is loaded, tied parameters once. Attention's scales are in no file that a case has."""
    loaded = model.state_dict(keep_vars=True).items()
    kept = {id(tensor): tensor for name, tensor in loaded if not name.endswith(SCALES)}
    return sum(tensor.numel() * tensor.element_size() for tensor in kept.values())


def count(case, folder):
    """Make every stage's rank, lay out its cache, and answer each ask."""
    from vllm.platforms import current_platform
    from vllm.v1.attention.backend import MultipleOf
    from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend
    from vllm.v1.core.kv_cache_utils import (
        generate_scheduler_kv_cache_config,
        get_kv_cache_capacity,
        get_kv_cache_configs,
    )
    from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec

    size = 16 if case.get("gpu") else 32
    CPUAttentionBackend.get_supported_kernel_block_sizes = staticmethod(lambda spec=None: [MultipleOf(size)])
    stages, specs = [], []
    for stage in range(case.get("pipeline", 1)):
        pretend(case, stage)
        config = configured(case, folder, case["asks"][0][1])
        config.parallel_config.rank = stage * case.get("tensor", 1)
        model = made(config)
        current_platform.update_block_size_for_backend(config)
        stages.append(held(model))
        specs.append(get_kv_cache_spec(config))
    answers = []
    os.environ["VLLM_USE_V2_MODEL_RUNNER"] = "1"  # as with Triton, which the CPU's environment lacks
    for longest, batched, memory in case["asks"]:
        config.model_config.max_model_len = longest
        config.scheduler_config.max_num_batched_tokens = batched
        laid = get_kv_cache_configs(config, [dict(spec) for spec in specs], [memory] * len(specs))
        pool = generate_scheduler_kv_cache_config(laid)
        tokens, concurrency = get_kv_cache_capacity(config, pool)
        answers.append([pool.num_blocks, tokens, concurrency])
    del os.environ["VLLM_USE_V2_MODEL_RUNNER"]
    return {**case, "stages": stages, "answers": answers}


def parameters(folder):
    """What transformers' class of the model has, tied parameters once, with buffers that are stored."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    stored = model.state_dict()
    buffers = sum(buffer.numel() for name, buffer in model.named_buffers() if name in stored)
    return sum(parameter.numel() for parameter in model.parameters()) + buffers


def slots():
    """Bytes of the keys and values of a token and a head, by format and dimension, where files of CUDA's
    backends can be imported."""
    from vllm.model_executor.layers.quantization.turboquant.config import TurboQuantConfig
    from vllm.utils.torch_utils import nvfp4_kv_cache_full_dim

    turbo = [f"turboquant_{bits}" for bits in ("k8v4", "4bit_nc", "k3v4_nc", "3bit_nc")]
    found = {
        name: {dim: TurboQuantConfig.from_cache_dtype(name, dim).slot_size_aligned for dim in DIMENSIONS}
        for name in turbo
    }
    return {**found, "nvfp4": {dim: 2 * nvfp4_kv_cache_full_dim(dim) for dim in DIMENSIONS}}


def written(said):
    """As JSON, each model and each case on a line."""
    parts = []
    for key, rows in said.items():
        if isinstance(rows, dict):
            lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
            parts.append(f'"{key}": {{\n' + ",\n".join(lines) + "\n}")
        else:
            parts.append(f'"{key}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    """Answer stdin on stdout."""
    wanted = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as root:
        prepare()
        folders = {}
        for name, config in wanted["models"].items():
            folder = Path(root) / name
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(config))
            folders[name] = str(folder)
        plain = [name for name, config in wanted["models"].items() if "quantization_config" not in config]
        wanted["counts"] = {name: parameters(folders[name]) for name in plain}
        wanted["slots"] = slots()
        wanted["cases"] = [count(case, folders[case["model"]]) for case in wanted["cases"]]
    sys.stdout.write(written(wanted))


if __name__ == "__main__":
    main()
