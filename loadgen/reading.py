"""The reading process: makes records of spooled exchanges beside the process that stamps.

Owns: following a spool until its writer is done, appending records, and telling what each record came to.
Knows nothing about gevent, locust or sending. It runs at a low priority: an engine on the same machine,
and the stamping, go first.

    python -m loadgen.reading '{"spool": ..., "records": ..., "origin_ns": ..., "worker": 0, "slo": {...}}'

Its standard input closes when no more is coming. It says when it is ready; each line after that is a `Heard`.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, TextIO

from loadgen.live import Tally
from loadgen.parse import record
from loadgen.records import Phase, RequestRecord
from loadgen.spool import SpoolReader
from loadgen.stats.plan import Slo

READY = "ready"
"""Its first line: what it costs to start must not fall into the run."""
POLL_S = 0.05
NICENESS = 10


@dataclass(frozen=True, slots=True)
class Order:
    """What is read, and where the records go."""

    spool: Path
    records: Path
    origin_ns: int
    slo: Slo
    worker: int = 0

    def to_json(self) -> str:
        """For the command line."""
        row = asdict(self) | {"spool": str(self.spool), "records": str(self.records)}
        return json.dumps(row)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read `to_json`."""
        row = json.loads(text)
        paths = {name: Path(row[name]) for name in ("spool", "records")}
        return cls(**{**row, **paths, "slo": Slo(**row["slo"])})


@dataclass(frozen=True, slots=True)
class Heard:
    """What a record came to, for those who watch the run. `e2e_s` is to the end where nothing came out."""

    kind: str
    phase: Phase
    e2e_s: float
    bytes_in: int
    error: str | None
    tally: Tally | None
    """None for a warm-up request."""
    stage: int | None = None

    @classmethod
    def of(cls, made: RequestRecord, slo: Slo, *, stage: int | None = None) -> Heard:
        """Of one record."""
        end_ns = made.output_ns[-1] if made.output_ns else made.t_end_ns
        return cls(
            kind=made.kind,
            phase=made.phase,
            e2e_s=(end_ns - made.t_sent_ns) / 1e9,
            bytes_in=made.bytes_in,
            error=None if made.outcome == "ok" else made.error or made.outcome,
            tally=Tally.of(made, slo) if made.phase == "measure" else None,
            stage=stage,
        )

    def to_json(self) -> str:
        """One line, without the line end."""
        row = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(
            row | {"tally": self.tally.to_wire() if self.tally else None}, separators=(",", ":")
        )

    @classmethod
    def from_json(cls, line: str | bytes) -> Heard:
        """Read `to_json`. Raises: KeyError, TypeError, ValueError on a wrong line."""
        row: Mapping[str, Any] = json.loads(line)
        return cls(**{**row, "tally": Tally.from_wire(row["tally"]) if row["tally"] else None})


def read_all(order: Order, source: SpoolReader, records: TextIO, told: TextIO) -> int:
    """Read every frame that is there now; how many there were."""
    number = 0
    for frame in source.frames():
        number += 1
        made = record(
            frame.capture,
            frame.planned,
            origin_ns=order.origin_ns,
            measure_start_ns=frame.measure_start_ns,
            worker=order.worker,
        )
        records.write(made.to_json() + "\n")
        records.flush()
        told.write(Heard.of(made, order.slo, stage=frame.planned.stage).to_json() + "\n")
        told.flush()
    return number


def main() -> None:
    """Follow a spool until the standard input closes and all is read; then remove it."""
    order = Order.from_json(sys.argv[1])
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    source = SpoolReader(order.spool)
    sys.stdout.write(READY + "\n")
    sys.stdout.flush()
    with order.records.open("a", encoding="utf-8") as records:
        while True:
            # Asked before reading: what was written before the end is then surely read.
            over = bool(select.select([sys.stdin], [], [], POLL_S)[0])
            read_all(order, source, records, sys.stdout)
            if over:
                break
    source.remove()


if __name__ == "__main__":
    main()
