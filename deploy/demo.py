"""The whole story in small: serve the embedded model, load it over HTTP, show what came out.

Owns: what the demo runs and says at its end. Knows nothing about how serving or measuring is done.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path

from deploy.stack import Stack
from deploy.verdicts import verdict_table
from loadgen.run import LoadResult, run_load
from loadgen.workload import Workload
from serving.console import Console
from serving.modes.mode import Verdict

HERE = Path(__file__).parent
DEPLOYMENT = HERE / "configs" / "demo.yaml"
WORKLOAD = HERE / "workloads" / "demo.yaml"


@dataclass(slots=True)
class Demo:
    """The work of the demo on a running stack; `result` is there once it is done."""

    console: Console
    out: Path | None
    workload: Workload
    result: LoadResult | None = None
    verdicts: tuple[Verdict, ...] = ()

    async def __call__(self, stack: Stack) -> int:
        """Run the load in a thread (the gateway needs this loop); a cancellation ends the sending."""
        self.verdicts = tuple(stack.verdicts)
        stop = threading.Event()
        running = asyncio.create_task(
            asyncio.to_thread(
                run_load,
                workload=self.workload,
                target=stack.gateway.public_url,
                console=self.console,
                out=self.out,
                metrics_urls=tuple(f"{url}/metrics" for url in stack.engine_urls),
                discovery=stack.prepared.prometheus.files.load,
                stopped=stop.is_set,
            )
        )
        try:
            self.result = await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            # The summary of what was measured is worth the moment it takes.
            self.result = await running
            raise
        return self.result.exit_code


def story(demo: Demo) -> str:
    """The modes proven, the table, and where the files lie."""
    result = demo.result
    if result is None:
        return "nothing was measured"
    return "\n".join(
        [
            "modes",
            verdict_table(demo.verdicts),
            "",
            result.table,
            "",
            f"report   {result.folder / 'report.html'}",
            f"files    {result.folder} (manifest, timetable, records, server, summary)",
            "next     make up serves the same until Ctrl-C",
        ]
    )
