"""The target systemd: what is written for one machine, for several, and by Ray; what is refused and said."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from deploy.commands.render import render
from serving.errors import UsageError

TOP = Path(__file__).parents[3]
GOLDEN = TOP / "tests/golden/render/systemd"
CASES = ("one-machine", "two-machines", "ray")
HOSTS = "hosts: [10.0.0.1, 10.0.0.2]"


verifies = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="no systemd-analyze on this machine"
)


def refused(folder: Path, text: str) -> str:
    file = folder / "d.yaml"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        render("systemd", str(file))
    return str(caught.value)


@pytest.mark.parametrize("case", CASES)
def test_what_is_rendered_is_what_was_looked_at(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)
    written = {
        path.relative_to(case).as_posix(): path.read_text()
        for path in Path(case).rglob("*")
        if path.is_file()
    }
    assert dict(render("systemd", f"{case}.yaml").files) == written


@pytest.mark.parametrize("case", CASES)
def test_the_deployment_file_that_is_served_says_what_was_given(case: str) -> None:
    given = yaml.safe_load((GOLDEN / f"{case}.yaml").read_text())
    assert yaml.safe_load((GOLDEN / case / "systemd" / f"{given['name']}.yaml").read_text()) == given


def test_what_set_changed_is_in_the_file_that_is_served() -> None:
    files = render("systemd", str(GOLDEN / "one-machine.yaml"), ["engine.max_model_len=1024"]).files
    assert yaml.safe_load(files["systemd/one.yaml"])["engine"] == {"max_model_len": 1024}


def verified(case: str, folder: Path, wrong: str = "") -> subprocess.CompletedProcess[str]:
    """What systemd says of the units of a case; a template is judged as its instances 0 and 1."""
    for source in (GOLDEN / case / "systemd").glob("*.service"):
        # teapot is not installed where the unit looks for it.
        text = source.read_text().replace("/opt/teapot/.venv/bin/teapot", "/bin/true")
        for instance in ("@0.", "@1."):
            (folder / source.name.replace("@.", instance)).write_text(
                text.replace("KillMode", f"{wrong}KillMode")
            )
    units = sorted(str(path) for path in folder.glob("*.service"))
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@verifies
@pytest.mark.parametrize("case", CASES)
def test_systemd_itself_takes_every_unit(case: str, tmp_path: Path) -> None:
    done = verified(case, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@verifies
def test_systemd_would_notice_a_wrong_word(tmp_path: Path) -> None:
    assert "NoKillMode" in verified("one-machine", tmp_path, wrong="No").stderr


def test_a_model_that_cannot_be_shared_so_is_refused_with_its_line(tmp_path: Path) -> None:
    text = f"name: d\nengine: {{device: cpu}}\nmodes:\n  - {{kind: parallel, tensor: 2, {HOSTS}}}\n"
    said = refused(tmp_path, text)
    assert "9 attention heads cannot be shared by 2" in said
    assert "d.yaml:4: modes[0].tensor" in said


def test_a_device_that_serve_has_no_engine_for_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, "name: d\nmodel: a/b\nengine: {device: rocm}\n")
    assert "d.yaml:3: engine.device: no engine is known for device 'rocm'" in said


def test_several_engines_on_the_same_hosts_are_refused(tmp_path: Path) -> None:
    text = f"name: d\nmodel: a/b\nreplicas: 2\nmodes: [{{kind: parallel, tensor: 2, {HOSTS}}}]\n"
    assert "2 engines on the same 2 nodes" in refused(tmp_path, text)


def test_ray_without_hosts_is_one_machine_that_must_find_its_cluster(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    file.write_text("name: d\nmodel: a/b\nmodes: [{kind: parallel, tensor: 2, executor: ray}]\n")
    rendered = render("systemd", str(file))
    assert sorted(rendered.files) == ["systemd/d.yaml", "systemd/teapot-d.service"]
    assert any("name its machines as hosts" in note for note in rendered.notes)


def test_an_interface_that_the_file_names_goes_before_the_one_with_the_address(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    text = "name: d\nmodel: a/b\nengine: {env: {GLOO_SOCKET_IFNAME: ib0}}\n"
    file.write_text(f"{text}modes: [{{kind: parallel, tensor: 2, {HOSTS}}}]\n")
    script = render("systemd", str(file)).files["systemd/d-node.sh"]
    assert script.index('GLOO_SOCKET_IFNAME="$interface"') < script.index('GLOO_SOCKET_IFNAME="ib0"')


def test_a_secret_that_is_written_is_told(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    text = "name: d\nmodel: a/b\nengine: {env: {HF_TOKEN: x}}\n"
    file.write_text(f"{text}modes: [{{kind: parallel, tensor: 2, {HOSTS}}}]\n")
    notes = render("systemd", str(file)).notes
    assert any("HF_TOKEN" in note and "no other user" in note for note in notes)
    assert any("engine.device auto" in note for note in notes)


def test_files_that_must_be_put_beside_are_named() -> None:
    notes = render("systemd", str(GOLDEN / "one-machine.yaml")).notes
    assert "gateway.keys_file: put it beside /etc/teapot/one.yaml" in notes


def test_files_that_the_units_do_not_see_are_told(tmp_path: Path) -> None:
    file = tmp_path / "d.yaml"
    gateway = "gateway: {keys_file: /home/a/keys.yaml, tls: {cert: /srv/c.pem, key: k.pem}}\n"
    file.write_text(f"name: d\nmodel: ./m\n{gateway}grafana: {{url: 'http://g:3000', token_file: ~/t}}\n")
    notes = render("systemd", str(file)).notes
    assert any(note.startswith("gateway.keys_file /home/a/keys.yaml: the units do not see") for note in notes)
    assert any(note.startswith("grafana.token_file ~/t: the units do not see it") for note in notes)
    assert "gateway.tls.cert /srv/c.pem: the user teapot must be able to read it" in notes
    assert "gateway.tls.key: put it beside /etc/teapot/d.yaml" in notes
    assert "the model: put it beside /etc/teapot/d.yaml" in notes


def test_values_of_the_file_are_no_code_in_the_script(tmp_path: Path) -> None:
    said = '$TEAPOT_HOME/x"; touch pwned; echo "it\'s $(touch pwned) `touch pwned` \\ ${HOME}\nline two'
    engine = {"env": {"SAID": said}, "args": {"chat_template": f"-x {said}"}}
    modes = [{"kind": "parallel", "tensor": 2, "hosts": ["10.0.0.1", "10.0.0.2"]}]
    file = tmp_path / "d.yaml"
    file.write_text(yaml.safe_dump({"name": "d", "model": "a/b", "engine": engine, "modes": modes}))
    script = render("systemd", str(file)).files["systemd/d-node.sh"]
    (tmp_path / "ip").write_text("#!/bin/sh\necho '1: lo inet 10.0.0.1/8 x'\n")
    (tmp_path / "vllm").write_text('#!/bin/sh\nprintf "%s\\0" "$SAID" "$@"\n')
    for program in ("ip", "vllm"):
        (tmp_path / program).chmod(0o755)
    (tmp_path / "d-node.sh").write_text(script)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "VLLM": str(tmp_path / "vllm")}
    command = ["sh", "d-node.sh", "0"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    words = done.stdout.split("\0")
    assert words[0] == said
    assert f"--chat-template=-x {said}" in words
    assert not (tmp_path / "pwned").exists()
