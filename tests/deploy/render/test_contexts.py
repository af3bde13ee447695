"""Engines as they would start, whatever the machine."""

from __future__ import annotations

import pytest

from deploy.render.contexts import startable
from deploy.render.target import Request
from serving.config.load import parse, validate
from serving.config.schema import Deployment
from serving.errors import UsageError


def request(text: str) -> Request:
    document = parse(f"name: d\nmodel: a/b\n{text}", "d.yaml")
    return Request(validate(document, Deployment), document, "d.yaml")


def test_every_engine_knows_its_role_and_the_others() -> None:
    pair = "modes: [{kind: disaggregated, prefill: 1, decode: 2, connector: {kind: nixl}}]\n"
    found = startable(request(pair), "cuda", "0.33.0")
    assert [context.slot.role for context in found] == ["prefill", "decode", "decode"]
    assert all(len(context.peers) == 2 for context in found)
    assert {context.version for context in found} == {"0.33.0"}


def test_all_that_would_not_start_is_told_at_once() -> None:
    text = "engine:\n  gpu_memory_utilization: 0.5\n  args: {dtype: bf16}\n"
    with pytest.raises(UsageError) as caught:
        startable(request(text), "cpu", "0.32.0")
    wheres = [problem.where for problem in caught.value.problems]
    assert wheres == ["d.yaml:4: engine.gpu_memory_utilization", "d.yaml:5: engine.args.dtype"]
