"""`teapot render`: writing, comparing, and saying what is not carried over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.cli import main

TEXT = "name: d\nmodel: a/b\n"


def files(tmp_path: Path) -> tuple[str, str]:
    file = tmp_path / "d.yaml"
    file.write_text(TEXT)
    return str(file), str(tmp_path / "out")


def test_files_are_written_once_and_then_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = files(tmp_path)
    assert main(["render", "compose", file, "--out", out, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "docker-compose.yml" in told["written"]
    assert any("not proven" in note for note in told["not_carried_over"])
    assert (Path(out) / "docker-compose.yml").is_file()
    assert main(["render", "compose", file, "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["compose", "kubernetes"])
def test_a_rendering_of_another_deployment_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    file, out = files(tmp_path)
    words = ["render", target, "--out", out]
    assert main([*words, file]) == 0
    assert main([*words, file, "--set", "model=a/d"]) == 0
    before = {path: path.read_text() for path in Path(out).rglob("*") if path.is_file()}
    other, namesake = tmp_path / "other.yaml", tmp_path / "elsewhere" / "d.yaml"
    other.write_text(TEXT.replace("a/b", "a/c"))
    # As told from outside both folders, where their files are called the same.
    namesake.parent.mkdir()
    namesake.write_text(TEXT.replace("name: d", "name: e"))
    for another, called in ((other, "other.yaml (d)"), (namesake, "d.yaml (e)")):
        capsys.readouterr()
        assert main([*words, str(another)]) == 1
        told = capsys.readouterr().err
        assert f"was rendered from d.yaml (d), and {called} would be written over it" in told
        assert "give each deployment its own --out, or remove what was rendered first" in told
    assert {path: path.read_text() for path in Path(out).rglob("*") if path.is_file()} == before


def test_check_writes_nothing_and_fails_where_a_file_would_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = files(tmp_path)
    assert main(["render", "compose", file, "--out", out, "--check"]) == 1
    assert "docker-compose.yml" in capsys.readouterr().err
    assert not Path(out).exists()
    assert main(["render", "compose", file, "--out", out]) == 0
    assert main(["render", "compose", file, "--out", out, "--check"]) == 0


def test_a_folder_that_cannot_be_written_to_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, _ = files(tmp_path)
    (tmp_path / "taken").write_text("")
    assert main(["render", "compose", file, "--out", str(tmp_path / "taken")]) == 1
    assert f"cannot be written: {tmp_path / 'taken'} is no folder" in capsys.readouterr().err


def test_what_stands_in_the_way_of_a_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = files(tmp_path)
    (Path(out) / "docker-compose.yml").mkdir(parents=True)
    assert main(["render", "compose", file, "--out", out]) == 1
    assert "docker-compose.yml: cannot be read" in capsys.readouterr().err


def test_a_file_of_an_earlier_rendering_is_named_and_others_are_let_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = files(tmp_path)
    words = ["render", "production-stack", file, "--out", out]
    assert main([*words, "--gateway", "edge"]) == 0
    (Path(out) / "production-stack" / "mine.yaml").write_text("# of somebody else\n")
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_over"] == ["production-stack/gateway.yaml"]
    assert main([*words, "--check"]) == 1
    assert "production-stack/gateway.yaml: of an earlier rendering" in capsys.readouterr().err
    (Path(out) / "production-stack" / "gateway.yaml").unlink()
    assert main([*words, "--check"]) == 0


@pytest.mark.parametrize("prefix", ["registry.example:5000/team", "registry.example:5000/team/"])
def test_an_image_prefix_is_a_folder_with_or_without_its_slash(tmp_path: Path, prefix: str) -> None:
    file, out = files(tmp_path)
    assert main(["render", "kubernetes", file, "--out", out, "--image-prefix", prefix]) == 0
    text = (Path(out) / "kubernetes" / "serving.yaml").read_text()
    assert "image: registry.example:5000/team/teapot-gateway:" in text


def test_the_same_is_rendered_however_the_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = files(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["render", "compose", file, "--out", out]) == 0
    assert main(["render", "compose", "./d.yaml", "--out", out, "--check"]) == 0


def test_a_choice_that_means_nothing_for_a_target_is_refused_with_those_that_take_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = files(tmp_path)
    assert main(["render", "compose", file, "--out", out, "--gateway", "none"]) == 2
    told = capsys.readouterr().err
    assert "--gateway: means nothing for compose" in told
    assert "kubernetes, lws, kserve, production-stack, ray take it" in told
    assert not Path(out).exists()


def test_choices_reach_the_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = files(tmp_path)
    url = "http://inner:8080/v1/"
    more = ["--gateway", "edge", "--platform-url", url, "--image-prefix", "r.example/"]
    assert main(["render", "ray", file, "--out", out, *more, "--json"]) == 0
    gateway = (Path(out) / "ray/gateway.yaml").read_text()
    assert "http://inner:8080/v1" in gateway
    assert "r.example/teapot-gateway" in gateway
    assert any("routing" in note for note in json.loads(capsys.readouterr().out)["not_carried_over"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nomad", "d.yaml"], "invalid choice: 'nomad'"),
        (["ray", "d.yaml", "--platform-url", "inner:8080"], "write it like http://10.0.0.7:8000/v1"),
        (["lws", "d.yaml", "--image-prefix", "r/x y"], "'r/x y' is no registry and folder"),
        (["lws", "d.yaml", "--gpus-per-node", "0"], "'0' is no whole number from 1"),
    ],
)
def test_a_wrong_word_is_told_with_what_would_do(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["render", *words])
    assert caught.value.code == 2
    assert told in capsys.readouterr().err
