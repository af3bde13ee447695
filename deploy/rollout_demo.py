"""Two rollouts under load on the embedded model: a good revision is promoted, a bad one is taken back.

Owns: what this demo runs and where it puts its pictures. Knows nothing about how a rollout goes.

    python -m deploy.rollout_demo
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from deploy.prepared import prepare
from deploy.rollout import asking
from deploy.rollout.client import Admin
from deploy.rollout.journal import lock
from deploy.rollout.session import begin, carry_out, last, rollouts_of
from deploy.running import run_stack
from deploy.signals import terminable
from deploy.stack import Stack
from loadgen.run import LoadResult, run_load
from loadgen.workload import Workload
from serving.config.load import load_model
from serving.console import Console
from serving.errors import EXIT_FAILED, EXIT_OK, EXIT_SIGTERM, Failed, Interrupted, TeapotError
from serving.gateway import loop

HERE = Path(__file__).parent
BEFORE = HERE / "rollouts" / "before.yaml"
GOOD = HERE / "rollouts" / "prefix-cache.yaml"
BAD = HERE / "rollouts" / "large-draft.yaml"
WORKLOAD = HERE / "workloads" / "rollout-demo.yaml"
OUT = Path("runs") / "rollout-demo"
EXPECTED = {GOOD: EXIT_OK, BAD: EXIT_FAILED}
"""The exit codes of `teapot rollout start` with them: promoted, and rolled back."""
SCRAPED_S = 6.0
"""After the last change, so that the picture has it: Prometheus asks every 5 s."""


@dataclass(slots=True)
class RolloutDemo:
    """The work of the demo on a running stack; `codes` are there as far as it came."""

    console: Console
    workload: Workload
    out: Path
    files: dict[Path, int] = field(default_factory=lambda: dict(EXPECTED))
    codes: dict[Path, int] = field(default_factory=dict)
    load: LoadResult | None = None
    draw: Callable[[str, str, str, float, Path], None] | None = None
    """Draws the board of one rollout: Prometheus, baseline, canary, since when, where to."""
    _ran_dry: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)

    async def __call__(self, stack: Stack) -> int:
        """Load in a thread, rollouts in another, one after the other; the gateway needs this loop."""
        loading = asyncio.create_task(asyncio.to_thread(self._load, stack))
        rolling = asyncio.create_task(asyncio.to_thread(self._roll_all, stack))
        try:
            await asyncio.wait((loading, rolling), return_when=asyncio.FIRST_COMPLETED)
            self._ran_dry = not rolling.done()
        finally:
            # Whoever ends first, or a signal: the other one ends too, and what it has is kept.
            self._stop.set()
            await asyncio.gather(loading, rolling, return_exceptions=True)
        self.load = loading.result()
        if self._ran_dry:
            raise Failed("the load ended before the rollouts were over", where=str(self.load.folder))
        rolling.result()
        as_expected = self.codes == self.files
        self.console.result("as expected" if as_expected else f"NOT as expected: {self._told()}")
        return EXIT_OK if as_expected else EXIT_FAILED

    def _load(self, stack: Stack) -> LoadResult:
        return run_load(
            workload=self.workload,
            target=stack.gateway.public_url,
            console=self.console,
            out=self.out / "load",
            metrics_urls=tuple(f"{url}/metrics" for url in stack.engine_urls),
            discovery=stack.prepared.prometheus.files.load,
            stopped=self._stop.is_set,
        )

    def _roll_all(self, stack: Stack) -> None:
        self._finish_earlier(stack)
        for file in self.files:
            self.codes[file] = self._roll(stack, file)

    def _finish_earlier(self, stack: Stack) -> None:
        """End a rollout of a demo that was interrupted: its engines are not there any more."""
        folder = rollouts_of(stack.prepared.deployment.name)
        before = last(folder)
        if before is not None and not before.over:
            asking.ask(before.folder, "abort")
            with lock(folder):
                carry_out(before, Admin(stack.gateway.admin_url), self.console, self._sleep)

    def _roll(self, stack: Stack, file: Path) -> int:
        began_s = time.time()
        folder = rollouts_of(stack.prepared.deployment.name)
        admin = Admin(stack.gateway.admin_url)
        with lock(folder):
            session = begin(file.absolute(), admin, None, self.console)
            code = carry_out(session, admin, self.console, self._sleep)
        self._sleep(SCRAPED_S)
        plan = session.before.plan
        prometheus = stack.gateway.state.prometheus
        if self.draw is not None and prometheus is not None:
            self.draw(prometheus, plan.baseline, plan.canary, began_s, self.out / plan.canary)
        return code

    def _sleep(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Interrupted(exit_code=EXIT_SIGTERM)

    def _told(self) -> str:
        return ", ".join(f"{file.stem} ended with {code}" for file, code in self.codes.items())


def board_of(prometheus_url: str, baseline: str, canary: str, since_s: float, out: Path) -> None:
    """Draw the board of one rollout into a folder. Raises: Failed."""
    from dashboards.answers import span_until
    from dashboards.boards.rollout import ROLLOUT
    from dashboards.preview.making import preview
    from dashboards.query import Prometheus

    prometheus = Prometheus(prometheus_url)
    now_s = time.time()
    span = span_until(prometheus, now_s, now_s - since_s)
    made = preview(prometheus, (ROLLOUT,), span, {"baseline": baseline, "canary": canary})
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in made.files.items():
            (out / name).write_bytes(content)
    except OSError as error:
        raise Failed(f"the board cannot be written: {error.strerror}", where=str(out)) from error


def run(console: Console) -> int:
    """Serve, load, roll out twice, draw; returns the exit code. Raises: TeapotError."""
    workload = load_model(str(WORKLOAD), Workload)
    with terminable():
        prepared = prepare(str(BEFORE), (), console)
    demo = RolloutDemo(console, workload, OUT / time.strftime("%Y%m%d-%H%M%S"), draw=board_of)
    code = loop.run(run_stack(prepared, console, demo))
    console.result(f"boards and load: {demo.out}")
    return code


def main() -> int:
    """Run the demo, with errors as words."""
    console = Console()
    try:
        return run(console)
    except TeapotError as error:
        console.say(f"teapot: {error}")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
