"""From a config.json to the shape of a model: which family it is of, and how its checkpoint is stored.

Owns: the choice of the family and the reading of quantization_config. Knows nothing about any one layout (the
families do) nor about files: the parsed JSON comes in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from serving.errors import UsageError
from serving.planner.families import FAMILIES
from serving.planner.families.family import Family
from serving.planner.fields import Fields
from serving.planner.shape import ModelShape

NAME_IT = "name the storage that comes nearest with --weight-format"


def model_shape(
    config: Mapping[str, Any], where: str, name: str | None = None, *, named: bool = False
) -> ModelShape:
    """Work out the shape of a causal language model from its config.json.

    `where` names the file in errors. `named`: the user names the storage of the weights, so that one which is
    not known is passed over. Raises: UsageError where the architecture is not known or a field is missing or
    absurd; nothing is guessed.
    """
    fields = Fields(config, where)
    family = _family(fields)
    shape = family.build(fields)
    if not shape.layers:
        raise fields.error("num_hidden_layers", "gives no layers", "correct it")
    try:
        storage, ignore = checkpoint_storage(fields)
    except UsageError:
        if not named:
            raise
        storage, ignore = None, ()
    wide = str(fields.get("dtype", "torch_dtype")).removeprefix("torch.") == "float32"
    return replace(shape, name=name or where, quantization=storage, ignore=ignore, stored_wide=wide)


def _family(fields: Fields) -> Family:
    architectures = fields.outer.get("architectures")
    if architectures is not None and not (isinstance(architectures, list) and architectures):
        raise fields.error("architectures", f"is {architectures!r}, not a list of names", "correct it")
    if architectures:
        for family in FAMILIES:
            if architectures[0] in family.architectures:
                return family
        raise _unknown(fields, "architectures", str(architectures[0]))
    model_type = fields.get("model_type")
    for family in FAMILIES:
        if model_type in family.model_types:
            return family
    if model_type is None:
        raise fields.error(
            "architectures",
            "is missing, and so is model_type: the layout of the layers cannot be told",
            "give the complete config.json of the model",
        )
    raise _unknown(fields, "model_type", str(model_type))


def _unknown(fields: Fields, key: str, word: str) -> UsageError:
    from difflib import get_close_matches

    names = [
        n
        for family in FAMILIES
        for n in (family.architectures if key == "architectures" else family.model_types)
    ]
    close = get_close_matches(word, names, n=3, cutoff=0.75)
    near = f"near names are {', '.join(close)}; " if close else ""
    return fields.error(
        key,
        f"'{word}' is not known: what its layers keep of a token and which matrices they have is missing",
        f"{near}known families are {', '.join(family.name for family in FAMILIES)}; "
        "a new one is one file in serving/planner/families",
    )


def checkpoint_storage(fields: Fields) -> tuple[str | None, tuple[str, ...]]:
    """The name of a quantized checkpoint's storage (see facts/storage.toml) and its ignore list.

    Raises: UsageError where the method is not known.
    """
    section = fields.get("quantization_config")
    if section is None:
        return None, ()
    if not isinstance(section, Mapping):
        raise fields.error("quantization_config", f"is {section!r:.40}, not an object", "correct it")
    method = str(section.get("quant_method", "")).lower()
    ignored = section.get("ignore") or section.get("modules_to_not_convert") or section.get("exclude_modules")
    if ignored is not None and not isinstance(ignored, list):
        raise fields.error("quantization_config.ignore", f"is {ignored!r:.40}, not a list", "correct it")
    ignore = tuple(str(word) for word in ignored or ())
    _refuse_patterns(fields, ignore)
    if method == "fp8":
        return ("fp8_per_block" if section.get("weight_block_size") else "fp8"), ignore
    if method == "fbgemm_fp8":
        return "fp8_per_channel", ignore
    if method in {"awq", "gptq", "awq_marlin", "gptq_marlin"}:
        return _four_bits(fields, section, method), ignore
    if method == "mxfp4":
        return "mxfp4", ignore
    if method == "modelopt" or "quant_algo" in section:
        algorithm = str(section.get("quant_algo", "")).upper()
        if algorithm in {"NVFP4", "FP8"}:
            return ("nvfp4" if algorithm == "NVFP4" else "fp8"), ignore
    if method == "compressed-tensors":
        return _compressed(fields, section), ignore
    raise fields.error(
        "quantization_config.quant_method",
        f"'{method}' is not known",
        NAME_IT,
    )


def _refuse_patterns(fields: Fields, ignore: Sequence[str]) -> None:
    for word in ignore:
        try:
            re.compile(word.removeprefix("re:") if word.startswith("re:") else "")
        except re.error as error:
            what = f"has the pattern {word!r:.60}, which cannot be read: {error}"
            raise fields.error("quantization_config.ignore", what, "correct it") from None


def _four_bits(fields: Fields, section: Mapping[str, Any], method: str) -> str:
    bits, group = section.get("bits", section.get("w_bit", 4)), section.get("group_size", 128)
    if (bits, group) != (4, 128):
        raise fields.error(
            "quantization_config",
            f"has {bits} bits in groups of {group}, and 4 in groups of 128 is what is known",
            NAME_IT,
        )
    return "awq" if method.startswith("awq") else "gptq"


def _compressed(fields: Fields, section: Mapping[str, Any]) -> str:
    groups = section.get("config_groups")
    first: Any = next(iter(groups.values()), {}) if isinstance(groups, Mapping) else {}
    weights = first.get("weights") if isinstance(first, Mapping) else None
    weights = weights if isinstance(weights, Mapping) else {}
    bits, kind, strategy = weights.get("num_bits"), weights.get("type"), weights.get("strategy")
    if bits == 8 and kind == "float":
        return {"tensor": "fp8", "channel": "fp8_per_channel", "block": "fp8_per_block"}.get(
            str(strategy), "fp8_per_channel"
        )
    if bits == 8:
        return "int8"
    if bits == 4:
        return "nvfp4" if kind == "float" else "gptq"
    raise fields.error(
        "quantization_config.config_groups",
        f"has weights of {bits!r} bits",
        NAME_IT,
    )
