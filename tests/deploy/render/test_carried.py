"""What every container target refuses and says, and how a `$` gets through those who replace it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml
from fakes.clusters import find, rendered

from deploy.commands.render import render
from deploy.render.targets import TARGETS
from serving.errors import UsageError

CONTAINERS = ("compose", "kubernetes", "kserve", "production-stack", "ray")
DRAFTING = "{kind: speculative, method: draft_model, model: /m/x, tokens: 3}"
ODD = 'it\'s "q" $HOME ${X:-y} $(Y) $$ `id` \\ %h 100%\nline two'
"""What a person may put into a value; `$` at both ends of all that others read."""


def odd(model: str = "a/b") -> str:
    args = {"chat_template": ODD, "override_generation_config": {"stop": ODD}}
    engine = {"env": {"ODD": ODD, "SHA": "1e3"}, "args": args}
    return json.dumps({"name": "d", "model": model, "engine": engine})


def as_kubernetes_reads(text: str) -> str:
    """`$(NAME)` of a variable that is set is its value, and `$$` is `$` (the API's words on EnvVar.value)."""
    return re.sub(r"\$\$|\$\(Y\)", lambda found: "$" if found[0] == "$$" else "REPLACED", text)


def container(target: str, files: Any) -> tuple[dict[str, str], list[str]]:
    """The variables and the words of the engine, as its file has them."""
    if target == "compose":
        engine = yaml.safe_load(files["docker-compose.yml"])["services"]["engine-0"]
        return engine["environment"], engine["command"]
    if target == "kubernetes":
        spec = find(files["kubernetes/serving.yaml"], "StatefulSet", "d-engine")["spec"]["template"]["spec"]
        found, words = spec["containers"][0], spec["containers"][0]["args"]
    elif target == "kserve":
        service = yaml.safe_load(files["kserve/service.yaml"])
        [found] = service["spec"]["template"]["containers"]
        words = found["args"]
    else:
        [found] = yaml.safe_load(files["production-stack/values.yaml"])["servingEngineSpec"]["modelSpec"]
        words = found["vllmConfig"]["extraArgs"]
    return {each["name"]: each.get("value", "") for each in found["env"]}, words


@pytest.mark.parametrize("target", ["compose", "kubernetes", "kserve", "production-stack"])
def test_a_value_with_dollars_quotes_and_lines_reaches_the_engine_as_it_is(
    tmp_path: Path, target: str
) -> None:
    env, words = container(target, rendered(tmp_path, target, odd()))
    read = (lambda text: Template(text).substitute()) if target == "compose" else as_kubernetes_reads
    assert read(env["ODD"]) == ODD
    argument = read(words[words.index("--chat-template") + 1])
    if target == "kserve":
        printed = subprocess.run(["bash", "-c", f"printf %s {argument}"], capture_output=True, check=True)
        argument = printed.stdout.decode()
    assert argument == ODD


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="no docker-compose on this machine")
def test_docker_compose_itself_reads_the_value_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "docker-compose.yml").write_text(rendered(tmp_path, "compose", odd())["docker-compose.yml"])
    command = ["docker-compose", "--profile", "gpu", "config"]
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GRAFANA_ADMIN_PASSWORD": "x", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # What `config` prints can be read again, so it is escaped once more.
    env, _ = container("compose", {"docker-compose.yml": done.stdout})
    assert env["ODD"].replace("$$", "$") == ODD
    assert env["SHA"] == "1e3"


@pytest.mark.parametrize("target", CONTAINERS)
@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("name: d\n", "d.yaml:1: model", "is no hub id"),
        ("name: d\nmodel: gpt2\n", "d.yaml:2: model", "is no hub id"),
        ("name: d\nmodel: ../a/b\n", "d.yaml:2: model", "is no hub id"),
        (
            f"name: d\nmodel: a/b\nmodes: [{DRAFTING}]\n",
            "d.yaml:3: modes[0].model", "'/m/x' is no hub id",
        ),
        ("name: d\nmodel: a/b\nengine: {device: rocm}\n", "engine.device", "render for cuda or cpu"),
        (
            "name: d\nmodel: a/b\nrevisions: [{name: main}, {name: b, urls: ['http://x/v1']}]\n",
            "d.yaml:3: revisions", "leave them out",
        ),
    ],
)  # fmt: skip
def test_what_no_container_carries_is_refused_with_its_line(
    tmp_path: Path, target: str, text: str, where: str, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        rendered(tmp_path, target, text)
    assert where in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize("target", [*CONTAINERS, "systemd"])
def test_a_secret_that_is_written_is_told_by_name_only(tmp_path: Path, target: str) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("name: d\nmodel: a/b\nengine: {env: {MY_API_KEY: s3cr3t}}\n")
    notes = render(target, str(file)).notes
    assert any("MY_API_KEY" in note and "no other user" in note for note in notes)
    assert not any("s3cr3t" in note for note in notes)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["compose", "kubernetes"])
def test_a_hub_token_of_the_file_is_the_only_one(tmp_path: Path, target: str) -> None:
    files = rendered(tmp_path, target, "name: d\nmodel: a/b\nengine: {env: {HF_TOKEN: mine}}\n")
    assert container(target, files)[0]["HF_TOKEN"] == "mine"
    assert sum(text.count("name: HF_TOKEN") for text in files.values()) == (target == "kubernetes")


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_no_folder_of_this_machine_is_in_what_is_rendered(tmp_path: Path, target: str) -> None:
    mode = "modes: [{kind: parallel, tensor: 2, pipeline: 8}]\n" if target == "lws" else ""
    files = rendered(tmp_path, target, f"name: d\nmodel: a/b\n{mode}")
    assert any("Rendered from d.yaml" in text for text in files.values())
    assert not any(str(tmp_path) in text for text in files.values())
