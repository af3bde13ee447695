"""From options to a question for the planner: reads config.json, headers and the tables of facts.

Owns: reading what `teapot plan` names. Knows nothing about the arithmetic.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from serving.errors import UsageError
from serving.facts.hardware import find_gpu
from serving.facts.load import gpus, kv_formats, latent_storage, weight_storage
from serving.facts.storage import find_storage
from serving.planner.ask import Ask
from serving.planner.kv_layers import kv_storage
from serving.planner.model import model_shape
from serving.planner.weights import Ranks


def read_ask(args: argparse.Namespace) -> Ask:
    """Read the model and the tables."""
    import json

    path = Path(args.model)
    path = path / "config.json" if path.is_dir() else path
    shape = model_shape(json.loads(path.read_text()), str(path))
    gpu = find_gpu(args.gpu, gpus())
    storage = find_storage(args.weight_format or shape.quantization or "bf16", weight_storage())
    if gpu is None or storage is None:
        raise UsageError("not known")
    count = args.count or 1
    return Ask(
        shape=shape,
        weights=storage,
        cache=kv_storage(args.kv_format, kv_formats(), latent_storage(), device="cuda"),
        version="0.33.0",
        gpu=gpu,
        memory_bytes=gpu.memory_bytes,
        ranks=Ranks(args.tensor or count, args.pipeline, args.data, args.expert),
        max_model_len=args.max_model_len or shape.max_position,
        users=args.users,
    )
