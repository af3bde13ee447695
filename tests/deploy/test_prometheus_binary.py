from __future__ import annotations

from pathlib import Path

import pytest
from fakes.fake_prometheus import FakePrometheus, make_fake_prometheus

from deploy.prometheus_binary import find, usable
from serving.engine.folders import DataFolder
from serving.errors import Failed

DEBIAN_12 = "prometheus, version 2.42.0+ds (branch: debian/sid, revision: 2.42.0+ds-5+deb12u1)"


@pytest.fixture
def fake(tmp_path: Path) -> FakePrometheus:
    return make_fake_prometheus(tmp_path)


def test_the_one_in_the_data_folder_comes_before_the_one_on_path(
    fake: FakePrometheus, tmp_path: Path
) -> None:
    other = make_fake_prometheus(tmp_path / "other")
    environ = {"PATH": str(other.program.parent)}
    assert find(DataFolder(tmp_path), environ) == str(fake.program)
    assert find(DataFolder(tmp_path / "empty"), environ) == str(other.program)
    assert find(DataFolder(tmp_path / "empty"), {"PATH": str(tmp_path / "empty")}) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "version"),
    [
        (DEBIAN_12, "2.42.0+ds"),
        ("prometheus, version 3.5.0 (branch: HEAD)", "3.5.0"),
        ("prometheus, version v3.0.1", "3.0.1"),
    ],
)
def test_it_tells_its_version(fake: FakePrometheus, words: str, version: str) -> None:
    fake.behave(version=words)
    assert usable(str(fake.program)).version == version


def test_an_old_one_is_refused_with_the_version_wanted(fake: FakePrometheus) -> None:
    fake.behave(version="prometheus, version 2.31.2+ds1 (branch: debian/sid)")
    with pytest.raises(Failed, match=r"is Prometheus 2\.31\.2\+ds1, and 2\.42 or newer is needed"):
        usable(str(fake.program))


@pytest.mark.slow
def test_another_program_of_that_name_is_refused(fake: FakePrometheus) -> None:
    fake.behave(version="Prometheus the film, 2012")
    with pytest.raises(Failed, match="does not answer --version"):
        usable(str(fake.program))


@pytest.mark.parametrize("how", ["not executable", "not a program"])
def test_a_file_that_cannot_be_run_is_refused(tmp_path: Path, how: str) -> None:
    program = tmp_path / "prometheus"
    program.write_bytes(b"\x7fELF and nothing more")
    program.chmod(0o644 if how == "not executable" else 0o755)
    with pytest.raises(Failed, match=r"cannot be run: .*; get another one: apt install prometheus"):
        usable(str(program))
