"""The services: what is published, what they may do, how they end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.compose import TOP, rendered, services

OURS = ("gateway", "prometheus", "grafana", "loadgen", "loadgen-worker")


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


@pytest.mark.slow
def test_only_loopback_is_published(shipped: Mapping[str, str]) -> None:
    ports = [port for service in services(shipped).values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert not any(":8001" in port for port in ports), "the admin interface has no keys"


@pytest.mark.slow
def test_engines_are_not_published_and_pinned(shipped: Mapping[str, str]) -> None:
    for name, service in services(shipped).items():
        if name.startswith("engine-"):
            assert "ports" not in service
        assert "latest" not in service["image"]
        assert ":" in service["image"]


@pytest.mark.slow
def test_our_own_services_are_guarded(shipped: Mapping[str, str]) -> None:
    for name in OURS:
        service = services(shipped)[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "user" not in service or service["user"] not in ("0", "root")


@pytest.mark.parametrize("image", ["gateway", "loadgen"])
def test_images_run_as_another_user_and_with_pinned_packages(image: str) -> None:
    text = (TOP / f"deploy/images/{image}.Dockerfile").read_text()
    assert "\nUSER teapot\n" in text
    assert "--constraint /src/deploy/constraints.txt" in text
    assert "\nSTOPSIGNAL SIG" in text


def test_the_password_has_no_default(shipped: Mapping[str, str]) -> None:
    password = services(shipped)["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"]
    assert password.startswith("${GRAFANA_ADMIN_PASSWORD:?")
    assert "\nGRAFANA_ADMIN_PASSWORD=\n" in (TOP / ".env.example").read_text()


def test_grace_periods_are_longer_than_the_drain(tmp_path: Path) -> None:
    found = services(rendered(tmp_path, "name: d\ngateway: {drain_timeout: 100s, grace: 7s}\nmodel: a/b\n"))
    assert seconds(found["gateway"]["stop_grace_period"]) > 107
    engine = found["engine-0"]
    shutdown = int(engine["command"][engine["command"].index("--shutdown-timeout") + 1])
    assert shutdown > 100
    assert seconds(engine["stop_grace_period"]) > shutdown


@pytest.mark.slow
def test_each_replica_has_its_own_devices(tmp_path: Path) -> None:
    text = "name: d\nmodel: a/b\nreplicas: 2\nmodes: [{kind: parallel, tensor: 2}]\n"
    found = services(rendered(tmp_path, text))
    devices = [
        found[f"engine-{n}"]["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"]
        for n in (0, 1)
    ]
    assert devices == [["0", "1"], ["2", "3"]]
    assert "CUDA_VISIBLE_DEVICES" not in found["engine-0"]["environment"]


@pytest.mark.slow
def test_mounted_files_are_in_the_repository(shipped: Mapping[str, str]) -> None:
    for service in services(shipped).values():
        for volume in service.get("volumes", []):
            source = volume.replace("${WORKLOAD:-", "").replace("}", "").split(":")[0]
            if source.startswith("./"):
                assert (TOP / source).exists(), f"{volume}: no such file"
