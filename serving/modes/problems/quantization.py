"""What does not go with quantized weights or a quantized KV cache: devices, checkpoints, models.

Owns: these rows. Knows nothing about bits and kernels: those are in the facts.
"""

from __future__ import annotations

from collections.abc import Iterator

from serving.facts.load import kv_formats, weight_formats
from serving.modes.problems.row import Asked, Hit, Row
from serving.modes.quantized_kv import QuantizedKv
from serving.modes.quantized_weights import CHECKPOINT, QuantizedWeights


def _kv_not_stored(asked: Asked) -> Iterator[Hit]:
    found, device = asked.find(QuantizedKv), asked.context.device
    if found:
        row = kv_formats()[found[1].format]
        if device not in row.devices:
            how = "stored at 1 byte an element" if device == "cpu" else "no attention backend stores it"
            fits = [f.name for f in kv_formats().values() if f.quantized and device in f.devices]
            what = f"KV format {row.name} is not really supported on {device}: {how}"
            yield Hit(what=what, fix=f"use one of {', '.join(fits)}", mode=found[0], key="format")


def _e5m2_checkpoint(asked: Asked) -> Iterator[Hit]:
    found, model = asked.find(QuantizedKv), asked.context.model
    if found and found[1].format == "fp8_e5m2" and model and model.quantization == "fp8":
        what = "an FP8 checkpoint cannot be served with an fp8_e5m2 KV cache"
        yield Hit(what=what, fix="use format: fp8", mode=found[0], key="format")


def _kv_scales(asked: Asked) -> Iterator[Hit]:
    found, model = asked.find(QuantizedKv), asked.context.model
    if found and model and found[1].lacks_scales(model):
        what = f"{model.name} carries no scales for its KV cache, so {found[1].format} uses scale 1.0"
        fix = "check the answers' quality, or take a checkpoint that was calibrated with KV scales"
        yield Hit(what=what, fix=fix, mode=found[0], key="format")


def _no_kernel(asked: Asked) -> Iterator[Hit]:
    found, device = asked.find(QuantizedWeights), asked.context.device
    if not found or found[1].from_checkpoint(asked.context):
        return
    row = weight_formats()[found[1].format]
    if device not in row.devices and not _experts_only(asked):
        fits = [f.name for f in weight_formats().values() if f.layers == "linear" and device in f.devices]
        what = f"weight format {row.name} has no kernel on {device}"
        yield Hit(what=what, fix=f"use one of {', '.join(fits)}", mode=found[0], key="format")


def _zero_layers(asked: Asked) -> Iterator[Hit]:
    found, model = asked.find(QuantizedWeights), asked.context.model
    if found and _experts_only(asked):
        what = (
            f"{found[1].format} quantizes 0 layers of {model.name if model else 'this model'}, a dense model"
        )
        yield Hit(what=what, fix="use format: fp8_per_block", mode=found[0], key="format")


def _experts_only(asked: Asked) -> bool:
    """A format of experts, for a model without any (or not known, on CPU where it was seen to do nothing)."""
    found, model = asked.find(QuantizedWeights), asked.context.model
    if not found or found[1].format not in weight_formats():
        return False
    if weight_formats()[found[1].format].layers != "experts":
        return False
    return model is not None and not model.experts


def _slow(asked: Asked) -> Iterator[Hit]:
    found = asked.find(QuantizedWeights)
    if found and found[1].format == "fp8_per_channel" and asked.context.device == "cpu":
        what = "fp8_per_channel on CPU is unusably slow"
        yield Hit(what=what, fix="use format: fp8_per_block", mode=found[0], key="format")


def _checkpoint_differs(asked: Asked) -> Iterator[Hit]:
    found, model = asked.find(QuantizedWeights), asked.context.model
    if not found or not model:
        return
    wanted, stored = found[1].format, model.quantization
    if stored and wanted not in (CHECKPOINT, stored):
        what = f"{model.name} is already quantized ({stored}), and {wanted} contradicts it"
        yield Hit(
            what=what, fix=f"use format: {CHECKPOINT}, or an unquantized model", mode=found[0], key="format"
        )
    if wanted == CHECKPOINT and not stored:
        what = f"{model.name} is not quantized: its config.json has no quantization_config"
        yield Hit(
            what=what,
            fix="name a format to quantize it to, or leave the mode out",
            mode=found[0],
            key="format",
        )


ROWS = (
    Row(
        "kv_format_not_stored",
        "a KV format that the device's attention backend does not store",
        "ineffective",
        "vLLM takes the flag and starts; on CPU int4, int8 a token and head, and turboquant become 1 byte",
        "measured: vLLM 0.32.0 on CPU, KV tokens 186,368 where int4 would give 331,392; facts/formats.toml",
        _kv_not_stored,
    ),
    Row(
        "kv_e5m2_of_fp8_checkpoint",
        "an fp8_e5m2 KV cache for an FP8 checkpoint",
        "error",
        "vLLM: fp8_e5m2 kv-cache is not supported with fp8 checkpoints",
        "read: vLLM 0.32.0 model_executor/layers/attention/attention.py",
        _e5m2_checkpoint,
    ),
    Row(
        "kv_without_scales",
        "an FP8 KV cache without scales in the checkpoint",
        "warning",
        "vLLM takes scale 1.0 in silence; --calculate-kv-scales is gone",
        "read: vLLM 0.33.0; accuracy varies with tensor parallelism at long context: vLLM #23813",
        _kv_scales,
    ),
    Row(
        "weights_without_kernel",
        "a weight format that has no kernel on the device",
        "error",
        "the start fails while the model is loaded",
        "measured: --quantization fp8 on CPU (_C::static_scaled_fp8_quant); facts/formats.toml",
        _no_kernel,
    ),
    Row(
        "weights_of_experts_only",
        "a weight format of experts for a dense model",
        "ineffective",
        "it starts and quantizes 0 layers: linear layers stay as they are",
        "measured: int8_per_channel_weight_only, vLLM 0.32.0 on CPU; config/quantization.py",
        _zero_layers,
    ),
    Row(
        "weights_unusably_slow",
        "fp8_per_channel weights on CPU",
        "warning",
        "one answer of 60 tokens took over 60 s",
        "measured: vLLM 0.32.0 on CPU",
        _slow,
    ),
    Row(
        "weights_against_checkpoint",
        "a weight format that is not the checkpoint's",
        "error",
        "a checkpoint is quantized once; vLLM refuses another method",
        "read: vLLM 0.32.0 config/model.py _verify_quantization",
        _checkpoint_differs,
    ),
)
