"""What stands beside a platform's own file, with our gateway in front and without."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.clusters import find, flag, rendered

from deploy.render.target import Choices
from serving.errors import UsageError

TEXT = "name: d\nmodel: a/b\n"
OWN = {"kserve": "service.yaml", "production-stack": "values.yaml", "ray": "serve.yaml"}
URL = "http://inner:8080/v1"


@pytest.mark.parametrize("target", OWN)
def test_by_default_the_platforms_router_takes_over_and_it_is_said_what_the_gateway_did(
    tmp_path: Path, target: str
) -> None:
    files = rendered(tmp_path, target, TEXT)
    assert f"{target}/gateway.yaml" not in files
    head = files[f"{target}/{OWN[target]}"].partition("\n\n")[0]
    for words in ("Not run on a cluster", "keys, rates, queue", "objectives (slo)", "modes are not proven"):
        assert words in head


@pytest.mark.parametrize("target", ["kserve", "ray"])
def test_a_gateway_needs_to_know_what_it_is_in_front_of(tmp_path: Path, target: str) -> None:
    with pytest.raises(UsageError, match="add --platform-url URL"):
        rendered(tmp_path, target, TEXT, Choices(gateway="edge"))
    assert f"{target}/load/load.yaml" not in rendered(tmp_path, target, TEXT)
    assert "it needs --platform-url" in rendered(tmp_path, target, TEXT)[f"{target}/{OWN[target]}"]


@pytest.mark.slow
@pytest.mark.parametrize("target", OWN)
def test_load_goes_to_the_gateway_where_there_is_one_and_else_to_the_platforms_router(
    tmp_path: Path, target: str
) -> None:
    for gateway, asked in (("edge", "http://d-gateway:8000"), ("none", "http://inner:8080")):
        files = rendered(tmp_path, target, TEXT, Choices(gateway=gateway, platform_url=URL))  # type: ignore[arg-type]
        job = find(files[f"{target}/load/load.yaml"], "Job", "d-load")
        assert flag(job["spec"]["template"]["spec"]["containers"][0]["args"], "-H") == asked


@pytest.mark.parametrize("target", OWN)
def test_rules_and_boards_are_there(tmp_path: Path, target: str) -> None:
    files = rendered(tmp_path, target, TEXT)
    assert {f"{target}/rules.yaml", f"{target}/dashboards.yaml"} <= files.keys()
