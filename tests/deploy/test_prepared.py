from __future__ import annotations

import io
from pathlib import Path

import pytest
from fakes.engine_home import EngineHome, make_engine_home, make_model

from deploy.prepared import Among, Prepared, adapter_folders, free_devices, prepare, share_cores
from serving.console import Console
from serving.errors import Failed, UsageError
from serving.modes.mode import Accelerator, KvBlock, MachineFacts


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineHome:
    home = make_engine_home(tmp_path / "home")
    monkeypatch.setenv("TEAPOT_HOME", str(home.root))
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "40")
    return home


def prepared(path: Path, *overrides: str, allow_ineffective: bool = False) -> Prepared:
    console = Console(err=io.StringIO(), out=io.StringIO())
    return prepare(str(path), overrides, console, allow_ineffective=allow_ineffective)


def test_one_engine_gets_a_name_a_port_a_log_and_its_command(home: EngineHome) -> None:
    found = prepared(home.deployment())
    [engine] = found.engines
    assert engine.spec.name == "scripted-0"
    assert engine.spec.log.parent == home.root / "logs"
    assert tuple(engine.spec.argv[1:3]) == ("-m", "vllm.entrypoints.openai.api_server")
    assert str(engine.spec.port) in engine.spec.argv
    assert found.model.name == "tiny"
    assert found.context.model is not None
    assert found.context.model.kv_heads == 4


def test_what_a_shell_would_silently_change_is_kept_from_the_engine(home: EngineHome) -> None:
    [engine] = prepared(home.deployment(), "engine.kv_cache_memory=256MiB").engines
    assert "VLLM_CPU_KVCACHE_SPACE" in engine.spec.unset
    assert "VLLM_CPU_KVCACHE_SPACE" not in engine.spec.environment


def test_engines_are_told_what_a_block_of_their_cache_takes_where_that_was_planned(home: EngineHome) -> None:
    # By hand: 4 layers, 4 KV heads of 64, keys and values, 128 tokens; one byte in FP8, two in 16 bits.
    path = home.deployment(modes=[{"kind": "quantized_kv", "format": "fp8"}])
    [engine] = prepared(path).engines
    assert engine.context.kv_block == KvBlock(128, 128 * 2_048, 128 * 4_096)
    assert prepared(home.deployment()).context.kv_block is None


def test_replicas_are_engines_with_ports_and_logs_of_their_own(home: EngineHome) -> None:
    found = prepared(home.deployment(replicas=2), "engine.kv_cache_memory=256MiB")
    assert [engine.spec.name for engine in found.engines] == ["scripted-0", "scripted-1"]
    assert len({engine.spec.port for engine in found.engines}) == 2
    assert len({engine.spec.log for engine in found.engines}) == 2
    assert len({engine.context.slot.cores for engine in found.engines}) == 2
    assert [len(engine.context.peers) for engine in found.engines] == [1, 1]


def test_a_relative_model_folder_lies_beside_the_file(home: EngineHome) -> None:
    assert prepared(home.deployment(model="models/tiny")).model.path_or_id == str(home.root / "models/tiny")


def test_a_drafting_model_beside_the_file_is_found_and_its_config_is_read(home: EngineHome) -> None:
    make_model(home.root / "drafts" / "small")
    mode = {"kind": "speculative", "method": "draft_model", "model": "drafts/small", "tokens": 3}
    context = prepared(home.deployment(modes=[mode])).context
    assert context.paths == {"drafts/small": str(home.root / "drafts" / "small")}
    assert context.draft is not None
    assert context.draft.name == "small"


def test_a_problem_is_told_before_anything_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAPOT_HOME", str(tmp_path / "none"))
    path = tmp_path / "bad.yaml"
    path.write_text("name: bad\nengine: {device: cpu, gpu_memory_utilization: 0.5}\n")
    with pytest.raises(Failed, match="no GPU memory on device cpu"):
        prepared(path)
    assert not (tmp_path / "none").exists()


def test_what_the_model_cannot_do_is_refused(home: EngineHome) -> None:
    with pytest.raises(Failed, match="4096 is longer than the 2048 positions of tiny"):
        prepared(home.deployment(), "engine.max_model_len=4096")


def test_what_would_do_nothing_starts_only_where_it_is_allowed(home: EngineHome) -> None:
    path = home.deployment(modes=[{"kind": "quantized_kv", "format": "int4_per_token_head"}])
    with pytest.raises(Failed, match="int4_per_token_head"):
        prepared(path)
    assert len(prepared(path, allow_ineffective=True).engines) == 1


def test_a_model_that_is_not_there_is_said(home: EngineHome) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        prepared(home.deployment(model="nowhere"))


def test_adapters_are_folders_beside_the_file_or_ids_of_a_hub(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "adapter_config.json").write_text("{}")
    assert adapter_folders(["mine", "org/other"], tmp_path, "w") == {"mine": str(tmp_path / "mine")}


@pytest.mark.parametrize(
    ("place", "said"),
    [("nosuch", "no such folder"), ("./a/b", "no such folder"), ("empty", r"no adapter_config\.json")],
)
def test_an_adapter_that_is_none_is_said_before_a_start_is_paid_for(
    home: EngineHome, place: str, said: str
) -> None:
    (home.root / "empty").mkdir()
    path = home.deployment(modes=[{"kind": "lora", "adapters": {"a": place}}])
    with pytest.raises(UsageError, match=rf"modes\[0\].adapters: .*{said}"):
        prepared(path, "engine.args.enforce-eager=true")


def gpus(count: int) -> MachineFacts:
    """A machine with some; no GPU was there when this was written."""
    one = Accelerator("H100", 80 * 1024**3, 80 * 1024**3)
    return MachineFacts((0,), 1, 0, 0, (one,) * count)


def test_engines_beside_others_get_the_devices_that_these_leave() -> None:
    assert free_devices(gpus(4), frozenset({0, 2}), 2) == (1, 3)
    assert free_devices(gpus(4), frozenset(), 2) is None


@pytest.mark.parametrize(
    ("mine", "theirs", "shared"),
    [("auto", "auto", True), ([0], "auto", True), ([0], [0], True), ([0], [1], False)],
)
def test_engines_on_cpu_share_cores_unless_each_is_given_its_own(
    home: EngineHome, mine: object, theirs: object, shared: bool
) -> None:
    one, other = (
        prepared(home.deployment(engine={"device": "cpu", "kv_cache_memory": "256MiB", "cores": cores}))
        for cores in (mine, theirs)
    )
    assert share_cores(one, [other]) is shared
    assert not share_cores(one, [])


def test_too_few_devices_beside_those_that_run_is_refused_with_the_way_out() -> None:
    with pytest.raises(Failed, match=r"need 2 devices, and 1 of 2 are free .* strategy: replace"):
        free_devices(gpus(2), frozenset({1}), 2)


def test_an_engine_among_others_answers_to_their_models_names_too(home: EngineHome) -> None:
    console = Console(err=io.StringIO(), out=io.StringIO())
    among = Among("new", also_named=("older", "tiny"))
    found = prepare(str(home.deployment()), (), console, among=among)
    argv = found.engines[0].spec.argv
    at = argv.index("--served-model-name")
    assert argv[at + 1 : at + 4] == ("tiny", "older", "--host")
    assert found.engines[0].spec.log.name.endswith("-new.log")
    assert found.file == str(home.root / "deployment.yaml")
