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

from loadgen.prepare import Request, default_folder, load_workload, prepare
from loadgen.run_folder import RunFolder
from loadgen.target import parse_target
from loadgen.workload import Workload
from serving.errors import Failed, UsageError

Make = Callable[..., Workload]


def prepared(engine: ScriptedEngine, workload: Workload, out: Path, **more: str) -> RunFolder:
    target = parse_target(engine.url, api_key=more.pop("api_key", None))
    said: list[str] = []
    folder = prepare(Request(workload, target, out, **more), say=said.append)  # type: ignore[arg-type]
    assert said == []
    return folder


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
