"""KServe: what is merged into its presets, and the prefill section."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from fakes.clusters import documents, flag, rendered

from serving.facts.load_flags import engine_flags

PLAIN = "name: d\nmodel: a/b\nreplicas: 3\nengine: {start_timeout: 300s}\nslo: {ttft: 500ms}\n"
PAIR = "name: d\nmodel: a/b\nmodes: [{kind: disaggregated, prefill: 2, decode: 3, connector: {kind: nixl}}]\n"


def spec(tmp_path: Path, text: str) -> dict[str, Any]:
    [found] = documents(rendered(tmp_path, "kserve", text)["kserve/service.yaml"])
    inner: dict[str, Any] = found["spec"]
    return inner


def main(template: dict[str, Any]) -> dict[str, Any]:
    [container] = template["containers"]
    found: dict[str, Any] = container
    return found


def test_words_are_what_the_presets_shell_makes_of_them(tmp_path: Path) -> None:
    args = main(spec(tmp_path, PLAIN)["template"])["args"]
    # As config/llmisvcconfig does it: the words come as "$@" into a text that eval reads once more.
    script = "eval \"exec printf '%s\\n' $@\""
    told = subprocess.run(
        ["bash", "-c", script, "--", *args], capture_output=True, text=True, check=True, timeout=60
    )
    words = told.stdout.splitlines()
    assert 0.5 in json.loads(flag(words, "--custom-histogram-buckets"))["request_latency"]
    assert {word for word in words if word.startswith("--")} <= engine_flags()["0.33.0"].flags.keys()


def test_what_the_presets_say_is_not_said_twice(tmp_path: Path) -> None:
    found = spec(tmp_path, PLAIN)
    container = main(found["template"])
    assert container["name"] == "main", "by which it is merged"
    assert not {"--model", "--served-model-name", "--host", "--port", "--shutdown-timeout"} & set(
        container["args"]
    )
    assert "command" not in container
    assert found["model"] == {"uri": "hf://a/b", "name": "a/b"}
    assert found["replicas"] == 3
    # Presets: preStop 15 s, and --shutdown-timeout from what the grace leaves; ours drains 30 s + 10 s.
    assert found["template"]["terminationGracePeriodSeconds"] >= 15 + 40
    assert container["startupProbe"] == {"failureThreshold": 30}, "every 10 s by the preset"


def test_prefill_and_decode_have_sections_of_their_own_and_the_same_flags(tmp_path: Path) -> None:
    found = spec(tmp_path, PAIR)
    assert (found["prefill"]["replicas"], found["replicas"]) == (2, 3)
    prefill, decode = main(found["prefill"]["template"]), main(found["template"])
    assert prefill["args"] == decode["args"]
    assert json.loads(flag(decode["args"], "--kv-transfer-config").strip("'")) == {
        "kv_connector": "NixlConnector", "kv_role": "kv_both",
    }  # fmt: skip
    for container in (prefill, decode):
        env = {each["name"]: each for each in container["env"]}
        assert env["VLLM_NIXL_SIDE_CHANNEL_HOST"]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
        assert env["VLLM_NIXL_SIDE_CHANNEL_PORT"]["value"] == "5600"


def test_without_the_mode_there_is_no_prefill_section(tmp_path: Path) -> None:
    assert "prefill" not in spec(tmp_path, PLAIN)


def test_no_variable_names_a_folder_that_kserves_pods_do_not_have(tmp_path: Path) -> None:
    assert not any(
        "/cache" in each.get("value", "") for each in main(spec(tmp_path, PLAIN)["template"])["env"]
    )
