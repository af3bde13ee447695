from __future__ import annotations

from fakes.run_folders import write_run
from fakes.studies import made

from deploy.study.folder import StudyFolder
from deploy.study.measured import cell_measured
from deploy.study.rows import CellRow
from loadgen.results import conclude
from loadgen.server_metrics import ServerSample


def row_of(cell):
    return CellRow(
        cell=cell.id, start=cell.start, arm=cell.arm, block=cell.block, workload=cell.workload, state="done",
        began="t", took_s=9.0,
    )  # fmt: skip


def test_counters_are_how_much_they_grew_between_the_edges(tmp_path):
    cell = made(tmp_path)[1].design.cells[0]
    folder = StudyFolder(tmp_path / "out")
    run = write_run(folder.load(cell).path, n=8)
    samples = [
        ServerSample(
            0, "u", {"vllm:generation_tokens_total": 5.0, "vllm:num_requests_running": 0.0}, edge=True
        ),
        ServerSample(
            1_000_000_000, "u", {"vllm:generation_tokens_total": 40.0, "vllm:num_requests_running": 4.0}
        ),
        ServerSample(
            2_000_000_000,
            "u",
            {"vllm:generation_tokens_total": 69.0, "vllm:num_requests_running": 0.0},
            edge=True,
        ),
    ]
    run.write("server.jsonl", "".join(f"{sample.to_json()}\n" for sample in samples))
    conclude(run)
    row = cell_measured(row_of(cell), folder)
    assert row.counters == {"vllm:generation_tokens_total": 64.0}
    assert row.gauges == {"running_max": 4.0}
    assert row.window_s is not None
    assert row.valid is not None


def test_a_cell_without_a_load_run_stays_as_it_is(tmp_path):
    cell = made(tmp_path)[1].design.cells[0]
    assert cell_measured(row_of(cell), StudyFolder(tmp_path / "out")) == row_of(cell)


def test_a_run_that_cannot_be_read_makes_the_cell_a_failed_one(tmp_path):
    cell = made(tmp_path)[1].design.cells[0]
    folder = StudyFolder(tmp_path / "out")
    run = write_run(folder.load(cell).path, n=8)
    run.write("summary.json", "not JSON")
    row = cell_measured(row_of(cell), folder)
    assert row.state == "failed"
    assert "not a JSON document" in (row.error or "")
