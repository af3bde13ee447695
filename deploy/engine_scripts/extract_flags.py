"""Prints what one vLLM version accepts, as the JSON that `serving/facts/flags/` keeps.

    ENGINE/bin/python deploy/engine_scripts/extract_flags.py > serving/facts/flags/vllm-VERSION.json

Run by the Python of an engine environment (`teapot engine list` names them); nothing is started. For a
version that is not installed or needs another device: unpack its published wheel into a folder, delete the
`.so` files, append `+cpu` to the `Version:` in its METADATA (vLLM then takes the CPU for its platform), and
run this with `PYTHONPATH=FOLDER` by the Python of an environment that has torch. Say so with `--note`.

Owns: reading the parser, the variables and the words that no parser checks. Knows nothing about teapot.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import json
import sys
from typing import Any, get_args

NEGATIVE = ("--no-", "--disable-")
JSON_TYPES = ("loads", "union_dict_and_str", "parse_dataclass")
SIZE_TYPES = ("human_readable_int", "human_readable_int_or_auto")


def main() -> None:
    """Print one JSON document: a line per flag, so that versions can be compared line by line."""
    options = argparse.ArgumentParser(description="Print what this Python's vLLM accepts.")
    options.add_argument("--note", default="read from the installed engine's own parser")
    note = options.parse_args().note
    with contextlib.redirect_stdout(sys.stderr):  # vLLM's imports talk
        version = importlib.import_module("importlib.metadata").version("vllm")
        found = {
            "version": version.partition("+")[0],
            "extracted": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "source": note,
            "flags": _flags(),
            "variables": sorted(importlib.import_module("vllm.envs").environment_variables),
            "words": _words(),
        }
    print(_lines(found))  # noqa: T201 (a script's result)


def _flags() -> dict[str, dict[str, Any]]:
    """Every flag by its first spelling. Spellings are the parser's own: some are hidden from help."""
    flexible = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
    try:
        module = importlib.import_module("vllm.entrypoints.launchers.cli_args")  # 0.32
    except ImportError:
        module = importlib.import_module("vllm.entrypoints.common.cli_args")  # 0.33
    parser = module.make_arg_parser(flexible())
    spellings: dict[int, list[str]] = {}
    for spelling, action in parser._option_string_actions.items():
        spellings.setdefault(id(action), []).append(spelling)
    rows: dict[str, dict[str, Any]] = {}
    for action in parser._actions:
        names = spellings.get(id(action), [])
        if names and "--help" not in names:
            name, row = _row(action, names)
            rows[name] = row
    return dict(sorted(rows.items()))


def _row(action: Any, names: list[str]) -> tuple[str, dict[str, Any]]:
    is_bool = isinstance(action, argparse.BooleanOptionalAction)
    negatives = set(getattr(action, "negative_option_strings", [n for n in names if n.startswith("--no-")]))
    positive = [n for n in names if not (is_bool and n in negatives)]
    name = next(n for n in positive if n.startswith("--"))
    kind = "bool" if is_bool else "switch" if action.nargs == 0 else _kind(action.type)
    row: dict[str, Any] = {"kind": kind}
    if others := [n for n in positive if n != name]:
        row["also"] = others
    if is_bool:
        row["off"] = [n for n in names if n in negatives]
    if action.nargs not in (0, None):
        row["takes"] = str(action.nargs)
    if action.choices:
        row["choices"] = [str(choice) for choice in action.choices]
    if isinstance(action.default, bool | int | float | str):
        row["default"] = action.default
    return name, row


def _kind(converter: Any) -> str:
    """What a value must look like: vLLM wraps converters, so look into the wrapper's closure too."""
    if converter in (int, float):
        return str(converter.__name__)
    name = getattr(converter, "__name__", "")
    if name in JSON_TYPES:
        return "json"
    if name in SIZE_TYPES:
        return "size"
    inside = [cell.cell_contents for cell in getattr(converter, "__closure__", None) or ()]
    return next((kind for kind in map(_kind, inside) if kind != "text"), "text")


def _words() -> dict[str, list[str]]:
    """Words inside values, which vLLM checks only once it has been imported and the model was read."""
    factory = importlib.import_module("vllm.distributed.kv_transfer.kv_connector.factory")
    quantization = importlib.import_module("vllm.model_executor.layers.quantization")
    backends = importlib.import_module("vllm.v1.attention.backends.registry")
    speculative = importlib.import_module("vllm.config.speculative")
    cache = importlib.import_module("vllm.config.cache")
    return {
        "attention_backend": sorted(backends.AttentionBackendEnum.__members__),
        "kv_cache_dtype": sorted(get_args(cache.CacheDType)),
        "kv_connector": sorted(factory.KVConnectorFactory._registry),
        "prefix_caching_hash_algo": sorted(get_args(cache.PrefixCachingHashAlgo)),
        "quantization": sorted(quantization.QUANTIZATION_METHODS),
        "speculative_method": sorted(_flat(speculative.SpeculativeMethod)),
    }


def _flat(literal: Any) -> set[str]:
    parts = get_args(literal)
    return {word for part in parts for word in (_flat(part) if get_args(part) else {str(part)})}


def _lines(found: dict[str, Any]) -> str:
    parts = []
    for key, value in found.items():
        if isinstance(value, dict):
            rows = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in value.items()]
            parts.append(f"{json.dumps(key)}: {{\n" + ",\n".join(rows) + "\n }")
        elif isinstance(value, list):
            parts.append(f"{json.dumps(key)}: [\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n " + ",\n ".join(parts) + "\n}"


if __name__ == "__main__":
    main()
