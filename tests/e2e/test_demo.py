"""The newcomer's first command, on the embedded model, with the real engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e.capacity import recorded
from e2e.deployments import free_port, teapot

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


def test_the_demo_serves_proves_measures_and_ends(tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = teapot(
        "demo", "--out", str(out),
        "--set", f"gateway.port={free_port()}", "--set", f"gateway.admin_port={free_port()}",
        timeout_s=800,
    )  # fmt: skip
    # 3: a busy machine may make the run's lateness too large to believe, which is then said.
    assert done.returncode in (0, 3), done.stderr
    summary = json.loads((out / "summary.json").read_text())
    assert done.returncode == (0 if summary["valid"] else 3)
    assert summary["requests"]["ok"] == summary["requests"]["intended"]
    assert all(row in done.stdout for row in ("TTFT", "TPOT", "ITL", "E2E", "p50", "p95", "p99"))
    assert done.stdout.count("in effect") == 2
    # The planner's figures, as the engine itself then told them (recorded from a running engine).
    cache = recorded("cpu-0.32-smollm2-fp8")
    told = f"blocks {cache.blocks:,}, tokens {cache.tokens:,}, concurrency {cache.concurrency:.2f}"
    assert f"{told}: all as predicted" in done.stderr
    assert (out / "report.html").read_text().count("<svg") >= 3
    own, engine = summary["ttft_s"]["mean"], summary["server"]["ttft_mean_s"]
    # The README's claim is 10 ms + 5 %; a busy machine adds waiting of its own, a wrong definition far more.
    assert engine <= own <= engine * 1.05 + 0.060
    assert "nothing of it is left" in done.stderr
