"""The `engine.args` section: any vLLM flag by its own name, except those that teapot or a mode decides.

Owns: how a key becomes a flag, and which flags are refused with what to use in their place. Knows
nothing about the values of other sections.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from serving.facts.load_flags import any_version, first_spellings
from serving.modes import MODES

_LOOPBACK = "engines listen on loopback only; applications use gateway.host and gateway.port"
_KEYS = "keys are the gateway's: use gateway.keys_file"
OWNED: Mapping[str, str] = {
    "--model": "use model",
    "--served-model-name": "use model: its name is what clients say",
    "--host": _LOOPBACK,
    "--port": _LOOPBACK,
    "--uds": _LOOPBACK,
    "--grpc-port": _LOOPBACK,
    "--root-path": _LOOPBACK,
    "--ssl-keyfile": _LOOPBACK,
    "--ssl-certfile": _LOOPBACK,
    "--api-key": _KEYS,
    "--max-model-len": "use engine.max_model_len",
    "--max-num-seqs": "use engine.max_num_seqs",
    "--kv-cache-memory-bytes": "use engine.kv_cache_memory",
    "--gpu-memory-utilization": "use engine.gpu_memory_utilization",
    "--shutdown-timeout": "use gateway.drain_timeout",
    "--custom-histogram-buckets": "use slo: its bounds become buckets",
    "--enable-prompt-tokens-details": "it is always on",
    "--disable-log-stats": "teapot proves modes by the engine's metrics",
    "--api-server-count": "one API server an engine: its metrics must be whole; use replicas",
    "--headless": "teapot talks to every engine over HTTP",
    "--config": "write its flags here, under engine.args",
    "--middleware": "the gateway is where requests are changed",
}
_COUNT = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<times>[kKmMgGtT]?)")
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_TIMES |= {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_NAME = re.compile(r"[a-z0-9][A-Za-z0-9-]*(\.[\w.-]+)?")


def flag_of(key: str) -> str:
    """The flag that a key means: `max_num_seqs` and `--max-num-seqs` are one, `tp` is the short `-tp`."""
    head, dot, rest = key.strip().lstrip("-").partition(".")
    name = head.replace("_", "-")
    return f"{first_spellings().get(f'-{name}', f'--{name}')}{dot}{rest}"


def argument_problems(args: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """For each key that cannot be passed on: the key, what is wrong, what to do."""
    seen: dict[str, str] = {}
    by_mode = {flag: mode.model_fields["kind"].default for mode in MODES for flag in mode.owns}
    for key in args:
        flag = flag_of(key)
        typed = flag.partition(".")[0]
        base, same = _first(typed), _any_spelling(key)
        if not _NAME.fullmatch(flag[2:]):
            yield key, "is not a flag's name", "write it like max_num_batched_tokens: 2048"
        elif "\0" in str(args[key]):
            yield key, "holds a NUL, which no argument of a process can", "leave it out"
        elif same in seen:
            yield key, f"is the same flag as '{seen[same]}'", "keep one of them"
        elif base in by_mode:
            yield key, f"{base} is decided by a mode", f"use a mode {{kind: {by_mode[base]}, ...}}"
        elif base in OWNED or base.startswith(("--uvicorn-", "--ssl-")):
            yield key, f"{base} is decided by teapot", OWNED.get(base, _LOOPBACK)
        elif base not in first_spellings() and (complaint := any_version().flag(typed, ())):
            yield key, *complaint
        seen.setdefault(same, key)


def _first(flag: str) -> str:
    """One name for all spellings, also the negative ones: `--no-x` and `--disable-x` are `--enable-x`."""
    return first_spellings().get(flag, flag.replace("--no-", "--", 1))


def same_argument(key: str, other: str) -> bool:
    """Whether two keys are spellings of one flag, its negative ones among them."""
    return _any_spelling(key) == _any_spelling(other)


def _any_spelling(key: str) -> str:
    flag = flag_of(key)
    typed = flag.partition(".")[0]
    return _first(typed) + flag[len(typed) :]


def argument_flags(args: Mapping[str, Any]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """For each key: the key, its flag, and the words that follow it.

    true is the flag alone, false its `--no-` form, a section becomes JSON, a list several words. What is
    inside an object (`--compilation-config.mode`) always follows its flag, as JSON where it is no word.
    """
    for key, value in args.items():
        flag = flag_of(key)
        if "." in flag and isinstance(value, bool | list):
            yield key, flag, (json.dumps(value, separators=(",", ":")),)
        elif isinstance(value, bool):
            yield key, flag if value else flag.replace("--", "--no-", 1), ()
        elif isinstance(value, Mapping):
            yield key, flag, (json.dumps(value, separators=(",", ":")),)
        elif isinstance(value, list):
            yield key, flag, tuple(map(_word, value))
        else:
            yield key, flag, (str(value),)


def counted(word: str) -> int | None:
    """The count that vLLM's parser reads in a word: 8192, 8k (8,000), 8K (8,192); None: it is none.

    Source: vllm 0.32.0 utils/argparse_utils.py human_readable_int.
    """
    found = _COUNT.fullmatch(word)
    return int(float(found["number"]) * _TIMES[found["times"]]) if found else None


def _word(item: Any) -> str:
    """An entry of a list; Python's own spelling of true and false is no word of vLLM's."""
    return json.dumps(item) if isinstance(item, bool) else str(item)
