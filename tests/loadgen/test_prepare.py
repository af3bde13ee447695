from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from fakes.scripted_engine import ScriptedEngine
from fakes.words import Words

from loadgen.control import ControlClient
from loadgen.prepare import Request, default_folder, load_workload, prepare
from loadgen.run_folder import RunFolder
from loadgen.scrape import read_once
from loadgen.target import parse_target
from loadgen.workload import Workload
from serving.errors import Failed, UsageError

Make = Callable[..., Workload]
SHIPPED = Path(__file__).parents[2] / "deploy/workloads"


def prepared(engine: ScriptedEngine, workload: Workload, out: Path, **more: str) -> RunFolder:
    target = parse_target(engine.url, api_key=more.pop("api_key", None))
    said: list[str] = []
    folder = prepare(Request(workload, target, out, **more), say=said.append)  # type: ignore[arg-type]
    assert said == []
    return folder


@pytest.mark.slow
def test_every_prompt_has_the_length_asked_for_as_the_server_counts(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    folder = prepared(engine, workload(warmup={"requests": 2}), run_dir)
    table = folder.timetable()
    assert [row.phase for row in table] == ["warmup"] * 2 + ["measure"] * 6
    assert {len(Words().encode_prompt(row.body)) for row in table} == {24}
    assert folder.manifest().exact_prompts


def test_completions_have_the_length_without_a_template(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    table = prepared(engine, workload(endpoint="completions"), run_dir).timetable()
    assert {len(row.body["prompt"].split()) for row in table} == {24}


def test_no_two_runs_share_the_head_of_a_prompt(
    engine: ScriptedEngine, workload: Make, tmp_path: Path
) -> None:
    heads = [
        " ".join(row.body["messages"][0]["content"].split()[:5])
        for name in ("one", "two")
        for row in prepared(engine, workload(), tmp_path / name).timetable()
    ]
    assert len(set(heads)) == len(heads)


def test_the_same_seed_and_salt_give_the_same_timetable(
    engine: ScriptedEngine, workload: Make, tmp_path: Path
) -> None:
    made = [prepared(engine, workload(), tmp_path / name, salt="fixed").timetable() for name in ("a", "b")]
    assert made[0] == made[1]


def test_a_prompt_set_carries_its_kinds(engine: ScriptedEngine, workload: Make, run_dir: Path) -> None:
    prompts = {"kind": "prompt_set", "kinds": ["code", "story"], "output_tokens": 4}
    table = prepared(engine, workload(prompts=prompts), run_dir).timetable()
    assert [row.kind for row in table] == ["code", "story"] * 3


def test_the_manifest_says_what_was_asked_of_whom_and_hides_the_key(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    asked = workload()
    request = Request(
        asked,
        parse_target(engine.url.replace("//", "//user:hidden@")),
        run_dir,
        (f"{engine.url}/metrics",),
    )
    folder = prepare(request, say=lambda _: None)
    manifest = folder.manifest()
    assert (manifest.target, manifest.model) == (engine.url, "scripted")
    assert manifest.fingerprint == asked.fingerprint()
    assert manifest.workload["arrival"]["rate"] == 40
    assert manifest.cache_config["block_size"] == "16"
    assert set(manifest.versions) == {"python", "teapot", "locust", "gevent"}
    assert abs(manifest.clock["perf_counter_ns"] - time.perf_counter_ns()) < 60e9
    assert all("hidden" not in file.read_text() for file in run_dir.iterdir())


def test_a_prompt_too_short_for_the_template_stops_before_anything_is_written(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    prompts = {"kind": "random_tokens", "input_tokens": 10, "output_tokens": 4}
    with pytest.raises(Failed, match="ask for at least"):
        prepared(engine, workload(prompts=prompts), run_dir)
    assert not run_dir.exists()


def test_a_time_in_which_nothing_arrives_is_refused(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    arrival = {"process": "poisson", "rate": "1/h", "duration": "1ms"}
    with pytest.raises(UsageError, match="no request falls into this time"):
        prepared(engine, workload(arrival=arrival), run_dir)


def test_metrics_that_cannot_be_read_are_told_before_the_run(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    request = Request(workload(), parse_target(engine.url), run_dir, (f"{engine.url}/nothing",))
    with pytest.raises(Failed, match="no metrics: HTTP 404"):
        prepare(request, say=lambda _: None)


def test_the_default_folder_is_named_by_time_and_workload(workload: Make) -> None:
    moment = time.struct_time((2026, 11, 29, 8, 5, 9, 6, 333, 0))
    assert default_folder(workload(), now=moment) == Path("runs/20261129-080509-small")


def test_a_workload_file_is_read_with_line_numbers(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("name: a\nseeed: 2\n")
    with pytest.raises(UsageError, match=r"w\.yaml:2: seeed: unknown key; did you mean 'seed'"):
        load_workload(file)


class WithoutTokenizer(BaseHTTPRequestHandler):
    """Streams one token and says that the prompt had 7 tokens more than words; has no /tokenize."""

    def do_GET(self) -> None:
        self._answer("application/json", b'{"data": [{"id": "other"}]}')

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/tokenize":
            self.send_error(404)
            return
        words = len(asked["messages"][0]["content"].split())
        usage = json.dumps({"choices": [], "usage": {"prompt_tokens": words + 7, "completion_tokens": 1}})
        self._answer("text/event-stream", f"data: {usage}\n\ndata: [DONE]\n\n".encode())

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
def test_without_a_tokenizer_prompts_are_about_as_long_and_that_is_said(
    workload: Make, run_dir: Path
) -> None:
    said: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), WithoutTokenizer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        target = parse_target(f"http://127.0.0.1:{server.server_port}")
        folder = prepare(Request(workload(), target, run_dir), say=said.append)
        server.shutdown()
    assert "no /tokenize" in said[0]
    assert not folder.manifest().exact_prompts
    # 24 tokens less the 7 that the probe's answer showed.
    assert {len(row.body["messages"][0]["content"].split()) for row in folder.timetable()} == {17}


def test_the_warm_up_shares_no_prefix_with_the_measurement(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    prompts = {"kind": "shared_prefix", "groups": 1, "prefix_tokens": 20, "suffix_tokens": 20}
    asked = workload(prompts=prompts, sampling={"max_tokens": 4}, warmup={"requests": 2})
    folder = prepared(engine, asked, run_dir)
    heads = [row.body["messages"][0]["content"].split()[:20] for row in folder.timetable()]
    assert heads[0] == heads[1]
    assert heads[2] == heads[7]
    assert heads[1][:5] != heads[2][:5]
    # 6 measured requests of 40 tokens, 5 of which begin as the first one did.
    assert folder.manifest().planned["shared_tokens"] == 5 * 20
    assert folder.manifest().planned["prompt_tokens_total"] == 6 * 40


def test_a_trace_is_sent_at_its_times_with_its_lengths_and_its_own_bodies(
    engine: ScriptedEngine, run_dir: Path
) -> None:
    asked = load_workload(SHIPPED / "trace.yaml")
    table = prepared(engine, asked, run_dir).timetable()
    assert [(row.t_intended_ns or 0) / 1e9 for row in table] == [0.0, 0.4, 0.5, 2.1, 2.2, 3.9]
    lengths = [len(Words().encode_prompt(row.body)) for row in table]
    assert lengths[:3] + lengths[4:] == [96, 180, 64, 400, 96]
    assert table[3].body["messages"][1]["content"] == "What colour is a ripe lemon?"
    assert [row.body["max_tokens"] for row in table] == [32, 12, 48, 4, 20, 32]


def test_rows_that_the_served_model_cannot_be_asked_stop_before_anything_is_written(
    engine: ScriptedEngine, tmp_path: Path, run_dir: Path
) -> None:
    # The scripted engine takes 2048 tokens, and its template costs 10.
    lengths = [(9, 9), (2040, 9), (20, 9), (30, 9)]
    rows = [f'{{"at_s": {i}, "input_tokens": {a}, "output_tokens": {b}}}' for i, (a, b) in enumerate(lengths)]
    (tmp_path / "t.jsonl").write_text("\n".join(rows))
    head = "name: a\narrival: {process: trace}\nprompts: {kind: trace, file: t.jsonl"
    (tmp_path / "w.yaml").write_text(head + "}\n")
    with pytest.raises(UsageError) as error:
        prepared(engine, load_workload(tmp_path / "w.yaml"), run_dir)
    assert "t.jsonl:1: has 9 tokens in; the chat template and a word cost 11" in str(error.value)
    assert "t.jsonl:2: needs 2049 tokens; the model takes 2048" in str(error.value)
    assert not run_dir.exists()


def test_unfit_rows_are_left_out_and_the_times_stay_with_their_rows(
    engine: ScriptedEngine, tmp_path: Path, run_dir: Path
) -> None:
    lengths = [(9, 9), (2040, 9), (20, 9), (30, 9)]
    rows = [f'{{"at_s": {i}, "input_tokens": {a}, "output_tokens": {b}}}' for i, (a, b) in enumerate(lengths)]
    (tmp_path / "t.jsonl").write_text("\n".join(rows))
    head = "name: a\narrival: {process: trace}\nprompts: {kind: trace, file: t.jsonl"
    (tmp_path / "w.yaml").write_text(head + ", unfit_rows: skip}\n")
    said: list[str] = []
    request = Request(load_workload(tmp_path / "w.yaml"), parse_target(engine.url), run_dir)
    table = prepare(request, say=said.append).timetable()
    assert [(row.t_intended_ns, len(Words().encode_prompt(row.body))) for row in table] == [
        (0, 20),
        (1_000_000_000, 30),
    ]
    assert "2 rows shorter or longer than this model can be asked were left out" in said[0]


def test_prompts_longer_than_the_served_model_are_refused(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    prompts = {"kind": "random_tokens", "input_tokens": 2045, "output_tokens": 4}
    with pytest.raises(UsageError, match="request 0 needs 2049 tokens, and the model takes 2048"):
        prepared(engine, workload(prompts=prompts), run_dir)


def test_a_model_that_is_not_served_is_told_with_those_that_are(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    with pytest.raises(UsageError, match=r"models: 'lora' is not served; .* lists scripted"):
        prepared(engine, workload(models={"scripted": 1, "lora": 1}), run_dir)


def test_each_turn_of_a_conversation_is_planned(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    prompts = {"kind": "multi_turn", "turns": 3, "input_tokens": 20, "output_tokens": 4, "think": "1s"}
    folder = prepared(engine, workload(prompts=prompts), run_dir)
    table = folder.timetable()
    assert [row.turn for row in table] == [0, 1, 2] * 6
    assert folder.manifest().planned["requests"] == 18
    assert folder.manifest().planned["conversations"] == 6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mix", "lengths", "shared-prefix", "sharegpt", "trace-mooncake", "stages"])
def test_a_shipped_workload_can_be_prepared(engine: ScriptedEngine, name: str, run_dir: Path) -> None:
    folder = prepare(
        Request(load_workload(SHIPPED / f"{name}.yaml"), parse_target(engine.url), run_dir),
        say=lambda _: None,
    )
    table = folder.timetable()
    assert table
    times = [row.t_intended_ns for row in table if row.t_intended_ns is not None]
    assert times == sorted(times)


@pytest.mark.slow
def test_what_is_said_to_be_shared_is_what_the_server_finds_in_its_cache(
    engine: ScriptedEngine, workload: Make, run_dir: Path
) -> None:
    prompts = {"kind": "shared_prefix", "groups": 2, "prefix_tokens": 22, "suffix_tokens": 30}
    arrival = {"process": "constant", "rate": "40/s", "requests": 20}
    asked = workload(prompts=prompts, arrival=arrival, sampling={"max_tokens": 1}, warmup={"requests": 3})
    folder = prepared(engine, asked, run_dir)

    def hits() -> float:
        return read_once(f"{engine.url}/metrics", t_ns=0, edge=True).series["vllm:prefix_cache_hits_total"]

    with ControlClient(parse_target(engine.url)) as client:
        rows = folder.timetable()
        for row in rows[:3]:
            client.post(row.path, row.body)
        before = hits()
        for row in rows[3:]:
            client.post(row.path, row.body)
    # 18 of 20 find their group's 22 tokens and the template's 10 before them: two blocks of 16 each.
    assert folder.manifest().planned["shared_tokens"] == 18 * 22
    assert hits() - before == 18 * 32
