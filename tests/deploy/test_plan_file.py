"""Planning a deployment file on a named device and on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.plan_options import options

from deploy.plan_file import plan_file
from serving.engine.devices import nvidia_driver_answers
from serving.errors import UsageError


def write(folder: Path, text: str) -> str:
    path = folder / "d.yaml"
    path.write_text(f"name: d\n{text}")
    return str(path)


def test_a_file_is_planned_for_a_named_device(tmp_path: Path) -> None:
    found = plan_file(
        options(write(tmp_path, "engine: {max_model_len: 2048}\n"), "--gpu", "l4", "--users", "8")
    )
    assert found.fits
    assert (found.ask.device, found.ask.users) == ("cuda", 8)


def test_a_file_for_rocm_is_planned_for_a_device_that_is_named_and_else_refused_with_its_line(
    tmp_path: Path,
) -> None:
    file = write(tmp_path, "engine: {device: rocm, max_model_len: 2048}\n")
    found = plan_file(options(file, "--gpu", "mi300x"))
    assert found.fits
    assert found.ask.device == "rocm"
    with pytest.raises(UsageError, match=r"d.yaml:2: engine.device: no engine is known for device 'rocm'"):
        plan_file(options(file))


def test_a_file_for_cpu_is_planned_for_this_machine(tmp_path: Path) -> None:
    text = "engine: {device: cpu, max_model_len: 2048, kv_cache_memory: 256MiB}\n"
    found = plan_file(options(write(tmp_path, text)))
    assert found.capacity.blocks == 91
    assert found.ask.gpu is None or found.ask.gpu.name == "cpu"  # unknown where the clock is not told


def test_rates_that_are_given_make_floors_of_a_cpu_that_follow_them(tmp_path: Path) -> None:
    text = "engine: {device: cpu, max_model_len: 2048, kv_cache_memory: 256MiB}\n"
    found = plan_file(options(write(tmp_path, text), "--bandwidth", "10", "--flops", "1"))
    assert found.decode is not None
    # SmolLM2's 269,030,016 bytes (the tied embedding is lm_head) and 2,048 tokens of 23,040 bytes at 10 GB/s.
    assert found.decode.seconds == pytest.approx((269_030_016 + 2048 * 23_040) / 10e9, rel=1e-4)


def test_a_model_that_is_not_here_is_an_error_with_the_way_around(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'org/name' is not a folder on this machine"):
        plan_file(options(write(tmp_path, "model: org/name\n"), "--gpu", "l4"))


def test_a_file_that_starts_no_engine_has_nothing_to_plan(tmp_path: Path) -> None:
    text = "revisions: [{name: there, urls: ['http://10.0.0.7:8000/v1']}]\n"
    with pytest.raises(UsageError, match=r"d.yaml:2: revisions: .* no engine to plan"):
        plan_file(options(write(tmp_path, text)))


def test_a_model_or_draft_that_is_not_here_is_named_by_its_line(tmp_path: Path) -> None:
    draft = "modes:\n  - {kind: speculative, method: draft_model, model: org/draft, tokens: 3}\n"
    with pytest.raises(UsageError, match=r"d\.yaml:3: modes\[0\]\.model: 'org/draft' is not a folder"):
        plan_file(options(write(tmp_path, draft), "--gpu", "l4"))
    with pytest.raises(UsageError, match=r"d\.yaml:2: model: 'org/name'"):
        plan_file(options(write(tmp_path, "model: org/name\n"), "--gpu", "l4"))


def test_the_file_tells_how_many_tokens_are_drafted_and_the_options_how_many_are_kept(tmp_path: Path) -> None:
    mode = "{kind: speculative, method: ngram, tokens: 4, prompt_lookup_max: 4, prompt_lookup_min: 2}"
    file = write(tmp_path, f"engine: {{max_model_len: 2048}}\nmodes:\n  - {mode}\n")
    told = plan_file(options(file, "--gpu", "l4", "--acceptance", "0.5"))
    # 1 + 0.5 + 0.25 + 0.125 + 0.0625
    assert told.gains[0].tokens_per_step == pytest.approx(1.9375)
    untold = plan_file(options(file, "--gpu", "l4"))
    assert untold.gains == ()
    assert "not predicted: give its measured --acceptance" in untold.ask.shape.notes[-1]


def test_the_plan_is_of_one_of_several_engines(tmp_path: Path) -> None:
    found = plan_file(options(write(tmp_path, "engine: {max_model_len: 2048}\nreplicas: 3\n"), "--gpu", "l4"))
    assert found.ask.engines == 3
    assert plan_file(options(write(tmp_path, ""), "--gpu", "l4")).ask.engines == 1


def test_a_draft_is_counted_as_its_checkpoint_has_it_beside_a_quantized_model(tmp_path: Path) -> None:
    text = "engine: {{max_model_len: 2048}}\nmodes:\n  - {}\n  - {{kind: quantized_weights, format: fp8}}\n"
    draft = "{kind: speculative, method: draft_model, model: smollm2-135m, tokens: 3}"
    found = plan_file(options(write(tmp_path, text.format(draft)), "--gpu", "l4"))
    assert found.weights.draft_bytes == 2 * 134_515_008


def test_a_pair_of_engines_without_a_link_is_told_what_is_missing(tmp_path: Path) -> None:
    pair = "engine: {max_model_len: 2048}\nmodes:\n  - {kind: disaggregated, connector: {kind: nixl}}\n"
    file = write(tmp_path, pair)
    assert any("give --link" in note for note in plan_file(options(file, "--gpu", "l4")).ask.shape.notes)
    linked = plan_file(options(file, "--gpu", "l4", "--link", "50"))
    assert linked.transfer is not None
    assert not any("--link" in note for note in linked.ask.shape.notes)


def test_an_acceptance_where_the_file_drafts_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the file drafts nothing .*give it the mode speculative"):
        plan_file(options(write(tmp_path, ""), "--gpu", "l4", "--acceptance", "0.5"))


@pytest.mark.skipif(nvidia_driver_answers(), reason="this machine has a GPU to plan for")
def test_a_file_for_cuda_on_a_machine_without_is_told_to_name_the_gpu(tmp_path: Path) -> None:
    file = write(tmp_path, "engine: {device: cuda}\n")
    with pytest.raises(UsageError, match=r"d\.yaml:2: engine\.device: no NVIDIA driver .*--gpu h100-sxm"):
        plan_file(options(file))


def test_the_tokens_of_a_step_are_the_modes(tmp_path: Path) -> None:
    chunks = "engine: {max_model_len: 2048}\nmodes:\n  - {kind: chunked_prefill, max_batched_tokens: 512}\n"
    assert plan_file(options(write(tmp_path, chunks), "--gpu", "l4")).ask.batch.max_num_batched_tokens == 512
