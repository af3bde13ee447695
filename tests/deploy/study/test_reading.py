from __future__ import annotations

from pathlib import Path

import pytest
from fakes.studies import CHAT, FP8, study

from deploy.study.reading import read_study
from serving.errors import UsageError

WRONG = """\
name: wrong
base: base.yaml
arms:
  plain: {}
  fp8: {modes: [{kind: quantized_kv, formt: fp8}]}
  other: {on: plane, engine: {max_model_len: x}, without: [prefix_cach]}
workloads:
  chat:
    arrival: {process: closed, concurrency: 1, requests: 1}
    prompts: {kind: random_tokens, input_tokens: 64, output_tokens: 32}
    samplng: {}
control: plan
"""


def test_all_that_is_wrong_is_told_at_once_with_file_line_and_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("name: base\n")
    file = tmp_path / "wrong.yaml"
    file.write_text(WRONG)
    with pytest.raises(UsageError) as caught:
        read_study(file)
    said = str(caught.value).replace(f"{tmp_path}/", "").splitlines()
    assert caught.value.exit_code == 2
    assert "wrong.yaml:5: arms.fp8.modes[0].formt: unknown key; did you mean 'format'?" in said
    assert "wrong.yaml:6: arms.other.on: there is no arm 'plane'; did you mean 'plain'?" in said
    where = "wrong.yaml:6: arms.other.without[0]"
    assert f"{where}: 'prefix_cach' is no kind of mode; did you mean 'prefix_cache'?" in said
    assert "wrong.yaml:11: workloads.chat.samplng: unknown key; did you mean 'sampling'?" in said
    assert "wrong.yaml:12: control: there is no arm 'plan'; did you mean 'plain'?" in said
    assert any(
        line.startswith("wrong.yaml:6: arms.other.engine.max_model_len: 'x' is not a whole") for line in said
    )


def test_what_is_wrong_in_the_base_is_told_in_the_base(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("name: base\nmodl: x\n")
    file = tmp_path / "s.yaml"
    file.write_text(WRONG.replace("formt", "format").replace("samplng: {}", "seed: 1"))
    with pytest.raises(UsageError, match=r"base.yaml:2: modl: unknown key; did you mean 'model'\?"):
        read_study(file)


def test_a_missing_base_is_told_with_the_key_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"(?s)no such file.*base: is the base of this study"):
        study(tmp_path, deployment=None, base="none.yaml")


def test_an_arm_stands_on_another_with_all_that_it_changes(tmp_path: Path) -> None:
    arms = {"bare": {}, "kv": {"on": "bare", **FP8}, "more": {"on": "kv", "engine": {"max_num_seqs": 4}}}
    last = study(tmp_path, arms=arms).arms[-1]
    assert last.on == "kv"
    assert last.deployment.engine.max_num_seqs == 4
    assert [mode.kind for mode in last.deployment.modes] == ["quantized_kv"]


def test_arms_that_stand_on_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="in a circle"):
        study(tmp_path, arms={"a": {"on": "b"}, "b": {"on": "a"}})


def test_factors_become_arms_with_labels(tmp_path: Path) -> None:
    factors = {"kv": {"bf16": {}, "fp8": FP8}, "seats": {"4": {"engine": {"max_num_seqs": 4}}, "8": {}}}
    found = {arm.name: arm for arm in study(tmp_path, arms=None, factors=factors).arms}
    assert list(found) == ["bf16+4", "bf16+8", "fp8+4", "fp8+8"]
    assert found["fp8+4"].labels == {"kv": "fp8", "seats": "4"}
    assert found["fp8+4"].fragment == {**FP8, "engine": {"max_num_seqs": 4}}
    assert found["fp8+4"].deployment.name == "fp8-4"


def test_a_study_takes_free_ports_of_loopback_whatever_its_base_serves_on(tmp_path: Path) -> None:
    deployment = {
        "name": "live",
        "gateway": {"host": "0.0.0.0", "port": 8000, "keys_file": "keys"},
        "prometheus": {"port": 9090},
    }
    gateway = study(tmp_path, deployment=deployment).arms[0].deployment.gateway
    assert (gateway.host, gateway.port, gateway.admin_port, gateway.keys_file) == ("127.0.0.1", 0, 0, None)
    assert study(tmp_path, deployment=deployment).arms[0].deployment.prometheus.enabled is False


def test_what_is_set_for_all_arms_is_stronger_than_that(tmp_path: Path) -> None:
    assert study(tmp_path, set={"gateway": {"port": 18000}}).arms[0].deployment.gateway.port == 18000


def test_folders_of_models_are_found_beside_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "there" / "model").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    (tmp_path / "draft").mkdir()
    (tmp_path / "there" / "base.yaml").write_text("name: base\nmodel: model\n")
    draft = {"kind": "speculative", "method": "draft_model", "model": "../draft", "tokens": 1}
    one = study(tmp_path / "here", deployment=None, base="../there/base.yaml", arms={"a": {"modes": [draft]}})
    assert Path(one.arms[0].deployment.model).resolve() == tmp_path / "there" / "model"
    assert Path(one.arms[0].document.data["modes"][0]["model"]).resolve() == tmp_path / "draft"


def test_a_workload_is_a_file_or_written_here(tmp_path: Path) -> None:
    (tmp_path / "load.yaml").write_text(
        "name: far\narrival: {process: closed, concurrency: 3, requests: 3}\n"
        "prompts: {kind: random_tokens, input_tokens: 64, output_tokens: 32}\n"
    )
    found = study(tmp_path, workloads={"near": CHAT, "far.away": "load.yaml"}).workloads
    assert found["near"].name == "near"
    assert found["far.away"].name == "far-away"
    assert found["far.away"].arrival.concurrency == 3  # type: ignore[union-attr]


def test_the_first_arm_is_the_control_where_nobody_says(tmp_path: Path) -> None:
    assert study(tmp_path).control == "plain"
    assert study(tmp_path, control="fp8").control == "fp8"


def test_the_fingerprint_holds_what_is_measured_and_not_how_long_it_may_take(tmp_path: Path) -> None:
    one = study(tmp_path).fingerprint()
    assert study(tmp_path, budget="1h", title="words").fingerprint() == one
    assert study(tmp_path, repeats=3).fingerprint() != one
    assert study(tmp_path, set={"engine": {"max_num_seqs": 4}}).fingerprint() != one
