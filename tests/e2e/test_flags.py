"""vLLM's own parser has the last word on every command that teapot makes, and on our judgement of flags."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from serving.config.flags import Placement, engine_command, engine_context, engine_contexts
from serving.config.layout import engine_slots
from serving.config.load import load_deployment
from serving.engine.environments import Environment
from serving.facts.load_flags import knowledge
from serving.modes.mode import MachineFacts

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
PARSE = ROOT / "tests" / "e2e" / "parse_argv.py"
SHIPPED = sorted((ROOT / "deploy" / "configs").glob("*.yaml"))
PLACEMENT = Placement(python="python", port=8100, model_path="/models/x", model_name="x")
FOUR_CORES = MachineFacts((0, 1, 2, 3), 1, 64 * 1024**3, 1024**3)
TRIED: Sequence[tuple[str, tuple[str, ...]]] = [
    ("--max-num-seqz", ("3",)),
    ("--max-num-seqs", ("3",)),
    ("--max-num-seqs", ("x",)),
    ("--max-num-seqs", ()),
    ("--max-model-len", ("8k",)),
    ("--max-model-len", ("auto",)),
    ("--max-model-len", ("8 k",)),
    ("--gpu-memory-utilization", ("0.5",)),
    ("--device-memory-utilization", ("0.5",)),
    ("--gpu-memory-utilization", ("half",)),
    ("--swap-space", ("4",)),
    ("--monokernel", ()),
    ("--disable-log-requests", ()),
    ("--no-enable-log-requests", ()),
    ("--disable-prefix-caching", ()),
    ("--no-enable-prefix-caching", ()),
    ("--no-headless", ()),
    ("--no-seed", ()),
    ("--dtype", ("bf16",)),
    ("--dtype", ("bfloat16",)),
    ("--moe-backend", ("FLASHINFER-TRTLLM",)),
    ("--compilation-config.mode", ("3",)),
    ("--compilation-config", ('{"mode":3}',)),
    ("--compilation-config", ('{"mode":',)),
    ("--hf-overrides", ("a.path",)),
    ("--served-model-name", ("a", "b")),
    ("-tp", ("2",)),
    ("--collect-detailed-traces", ("all",)),
    ("--collect-detailed-traces", ("everything",)),
]
"""Flags on which our judgement must be the parser's."""


def parsed(environment: Environment, commands: Sequence[Sequence[str]]) -> list[str | None]:
    """What the parser says of each, all in one process: importing vLLM takes ten seconds."""
    ran = subprocess.run(
        [environment.python, PARSE], input=json.dumps([list(argv) for argv in commands]),
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    answers = json.loads(ran.stdout)
    assert len(answers) == len(commands)
    return list(answers)


def test_every_shipped_deployment_is_a_command_that_the_parser_takes(environment: Environment) -> None:
    commands: dict[str, Sequence[str]] = {}
    for file in SHIPPED:
        deployment, document = load_deployment(file)
        shared = engine_context(
            deployment, device="cpu", version=environment.version, model=None, machine=FOUR_CORES
        )
        for context in engine_contexts(shared, engine_slots(deployment, FOUR_CORES, device="cpu")):
            command = engine_command(deployment, document, PLACEMENT, context)
            commands[f"{file.name}: {context.slot.name}"] = command.argv[3:]
    assert len(commands) > len(SHIPPED)
    answers = parsed(environment, list(commands.values()))
    assert [pair for pair in zip(commands, answers, strict=True) if pair[1]] == []


def test_our_judgement_of_a_flag_is_the_parsers(environment: Environment) -> None:
    known = knowledge(environment.version)
    assert known is not None
    answers = parsed(environment, [["--model", "x", flag, *words] for flag, words in TRIED])
    ours = [known.flag(flag, words) for flag, words in TRIED]
    differ = [
        (tried, complaint, answer)
        for tried, complaint, answer in zip(TRIED, ours, answers, strict=True)
        if (complaint is None) != (answer is None)
    ]
    assert differ == []
