from __future__ import annotations

from pathlib import Path

import pytest

from serving.engine.folders import DataFolder, data_folder
from serving.errors import Failed

HOME = Path("/home/someone")


def test_teapot_home_comes_first() -> None:
    environ = {"TEAPOT_HOME": "/data/teapot", "XDG_DATA_HOME": "/xdg"}
    assert data_folder(environ, HOME).root == Path("/data/teapot")


def test_xdg_data_home_comes_second() -> None:
    assert data_folder({"XDG_DATA_HOME": "/xdg"}, HOME).root == Path("/xdg/teapot")


def test_the_home_folder_comes_last() -> None:
    assert data_folder({"TEAPOT_HOME": ""}, HOME).root == Path("/home/someone/.local/share/teapot")


def test_making_it_makes_the_five_sub_folders(tmp_path: Path) -> None:
    DataFolder(tmp_path / "new" / "teapot").make()
    made = sorted(path.name for path in (tmp_path / "new" / "teapot").iterdir())
    assert made == ["cache", "environments", "logs", "models", "state"]


def test_a_place_where_nothing_can_be_made_is_an_error_that_names_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Failed, match="TEAPOT_HOME"):
        DataFolder(tmp_path / "file").make()


def test_an_engine_keeps_its_caches_in_the_data_folder(tmp_path: Path) -> None:
    environment = DataFolder(Path("/data")).engine_environment({}, tmp_path)
    assert environment == {
        "VLLM_CACHE_ROOT": "/data/cache/vllm",
        "TORCHINDUCTOR_CACHE_DIR": "/data/cache/torchinductor",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HOME": "/data/cache/huggingface",
    }


def test_a_hub_cache_that_the_user_has_is_kept(tmp_path: Path) -> None:
    assert "HF_HOME" not in DataFolder(Path("/data")).engine_environment({"HF_HOME": "/hub"}, tmp_path)
    (tmp_path / ".cache" / "huggingface").mkdir(parents=True)
    assert "HF_HOME" not in DataFolder(Path("/data")).engine_environment({}, tmp_path)
