from __future__ import annotations

import io
from pathlib import Path

from loadgen.frames import Frame, pack
from loadgen.parse import Capture
from loadgen.reading import Heard, Order, read_all
from loadgen.records import Planned, RequestRecord
from loadgen.spool import SpoolReader, SpoolWriter
from loadgen.stats.plan import Slo

ORDER = Order(Path("spool"), Path("records.jsonl"), 1_000, Slo(ttft_s=0.5), worker=2)


def test_an_order_survives_the_command_line() -> None:
    assert Order.from_json(ORDER.to_json()) == ORDER


def test_what_was_heard_survives_its_line() -> None:
    record = RequestRecord(
        1, "measure", "code", "ok", 0, 10, 99, output_ns=(20, 40), output_tokens=2, bytes_in=7
    )
    heard = Heard.of(record, Slo(e2e_s=1.0))
    assert Heard.from_json(heard.to_json()) == heard
    assert (heard.kind, heard.bytes_in, heard.error) == ("code", 7, None)
    assert heard.e2e_s == 3e-8


def test_a_failed_request_lasts_until_its_failure_and_has_a_reason() -> None:
    record = RequestRecord(1, "warmup", "code", "failed", None, 1_000, 4_000, error="refused")
    heard = Heard.of(record, Slo())
    assert (heard.e2e_s, heard.error, heard.tally) == (3e-6, "refused", None)


def test_every_frame_of_the_spool_becomes_a_record_and_a_line(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path) as writer:
        for index in range(3):
            planned = Planned(index, "measure", 5, "any", "/", {})
            writer.append(pack(Frame(planned, Capture(2_000, 3_000, error="no"), 1_500)))
    records, told = io.StringIO(), io.StringIO()
    assert read_all(ORDER, SpoolReader(tmp_path), records, told) == 3
    read = [RequestRecord.from_json(line) for line in records.getvalue().splitlines()]
    assert [(one.index, one.t_intended_ns, one.t_sent_ns, one.worker, one.error) for one in read] == [
        (0, 505, 1_000, 2, "no"),
        (1, 505, 1_000, 2, "no"),
        (2, 505, 1_000, 2, "no"),
    ]
    assert [Heard.from_json(line).error for line in told.getvalue().splitlines()] == ["no"] * 3
