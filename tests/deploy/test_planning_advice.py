"""Advice is feasible and true: what is advised, typed as an option or written in the file, is what was
predicted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.plan_options import options
from fakes.planning import config, facts

from deploy.plan_file import plan_file
from deploy.planning import gpu_of, model_ask
from serving.facts.load import overheads
from serving.planner.advise import Advice, advise, users_of
from serving.planner.plan import Plan, make_plan

ASKED = (
    ("meta-llama/Meta-Llama-3.1-8B", "--gpu h100-sxm"),
    ("meta-llama/Meta-Llama-3.1-8B", "--gpu h100-sxm --max-model-len 8192 --max-num-seqs 4"),
    ("meta-llama/Meta-Llama-3.1-8B", "--gpu l4 --max-model-len 2048 --input-tokens 4000 --output-tokens 500"),
    ("meta-llama/Meta-Llama-3.1-8B", "--gpu h200 --tensor 2 --data 2 --users 900 --max-model-len 16384"),
    ("meta-llama/Meta-Llama-3.1-70B", "--gpu h100-sxm --max-model-len 8192"),
    ("meta-llama/Meta-Llama-3.1-70B", "--gpu h100-sxm --tensor 2 --pipeline 2 --max-model-len 8192"),
    ("Qwen/Qwen3-32B", "--gpu l4 --tensor 2 --max-model-len 16384 --users 32"),
    ("mistralai/Mixtral-8x7B-v0.1", "--gpu l4"),
    ("Qwen/Qwen3-30B-A3B", "--gpu h100-sxm --tensor 2 --expert --max-model-len 8192"),
    ("deepseek-ai/DeepSeek-V3", "--gpu h200 --tensor 8 --input-tokens 2000 --output-tokens 500"),
    ("google/gemma-3-27b-it", "--gpu l4 --max-model-len 131072"),
)
OPTIONS = {
    "--kv-cache-dtype": "--kv-format",
    "--quantization": "--weight-format",
    "--tensor-parallel-size": "--tensor",
    "--data-parallel-size": "--data",
}
"""Flags of vLLM that `teapot plan` has by another name."""


def planned(file: Path, words: list[str]) -> Plan:
    found = options("--model", str(file), *words)
    return make_plan(model_ask(found, str(file), gpu_of(found)), overheads())


def told(plan: Plan) -> list[Advice]:
    return list(advise(plan, facts().choices, overheads(), most=100))


def effect(plan: Plan) -> tuple[Any, ...]:
    return plan.fits, users_of(plan), plan.capacity.tokens, plan.ask.ranks.devices, plan.ask.user_tokens


def foretold(advice: Advice) -> tuple[Any, ...]:
    return advice.fits, advice.users, advice.kv_tokens, advice.devices, advice.user_tokens


@pytest.mark.slow
@pytest.mark.parametrize(("model", "words"), ASKED)
def test_every_advice_typed_as_options_gives_what_was_predicted(
    model: str, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config(model)))
    before = planned(file, words.split())
    found = told(before)
    assert found
    for advice in found:
        typed = re.sub(r"a checkpoint in (\w+) as --model(?: and)?", r"--weight-format \1", advice.flags)
        more = [OPTIONS.get(word, word) for word in typed.replace(" and ", " ").split()]
        after = planned(file, [*words.split(), *more])
        assert effect(after) == foretold(advice), advice.title
        if advice.decode_floor_s is not None and after.decode is not None:
            assert after.decode.seconds == pytest.approx(advice.decode_floor_s), advice.title
        assert after.fits >= before.fits


def merged(document: dict[str, Any], keys: str) -> dict[str, Any]:
    """The document with an advice's keys in it: a mode takes the place of one of its kind."""
    made = json.loads(json.dumps(document))
    for part in keys.split(" and "):
        changed = yaml.safe_load(part)
        made["engine"] |= changed.get("engine", {})
        kinds = {mode["kind"] for mode in changed.get("modes", ())}
        made["modes"] = [mode for mode in made["modes"] if mode["kind"] not in kinds]
        made["modes"] += changed.get("modes", ())
    return made


DEPLOYED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("meta-llama/Meta-Llama-3.1-8B", "h100-sxm", {"engine": {"max_model_len": 8192, "max_num_seqs": 8}}),
    ("meta-llama/Meta-Llama-3.1-70B", "h100-sxm", {"modes": [{"kind": "parallel", "tensor": 2}]}),
    ("Qwen/Qwen3-30B-A3B", "h100-sxm", {"modes": [{"kind": "parallel", "tensor": 2, "expert": True}]}),
    ("google/gemma-3-27b-it", "l40s", {"modes": [{"kind": "prefix_cache"}]}),
)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "gpu", "keys"), DEPLOYED)
def test_every_advice_written_into_the_file_is_taken_and_gives_what_was_predicted(
    model: str, gpu: str, keys: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config(model)))
    document = {"name": "d", "model": str(tmp_path), "engine": {}, "modes": [], **keys}
    file = tmp_path / "d.yaml"

    def of(written: dict[str, Any]) -> Plan:
        file.write_text(yaml.safe_dump(written))
        return plan_file(options(str(file), "--gpu", gpu))

    found = [advice for advice in told(of(document)) if "<its folder>" not in advice.keys]
    assert found
    for advice in found:
        assert effect(of(merged(document, advice.keys))) == foretold(advice), advice.title
