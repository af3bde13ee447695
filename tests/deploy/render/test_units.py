"""The units: how long they may take to stop, and what they start again."""

from __future__ import annotations

from configparser import ConfigParser

import pytest

from deploy.render.units import node_unit, ray_unit, serving_unit
from serving.config.schema import Deployment, GatewaySection

DEPLOYMENT = Deployment(name="d")
GATEWAY = {"drain_timeout": "300s", "grace": "20s"}
ADDRESSES = ("10.0.0.1", "10.0.0.2", "10.0.0.3")


def read(unit: str) -> ConfigParser:
    parsed = ConfigParser(strict=False, interpolation=None, delimiters="=")
    parsed.optionxform = str  # type: ignore[assignment, method-assign]  # systemd's names have capitals
    parsed.read_string(unit)
    return parsed


def test_stopping_waits_for_the_requests_in_flight() -> None:
    patient = Deployment(name="d", gateway=GatewaySection.model_validate(GATEWAY))
    # 20 s grace, 300 s drain, and engines get 10 s more; the rest is a margin.
    assert float(read(serving_unit(patient, "#"))["Service"]["TimeoutStopSec"]) > 330


def test_a_port_that_no_plain_user_may_listen_on_is_allowed_and_others_need_nothing() -> None:
    low = Deployment(name="d", gateway=GatewaySection(port=443))
    assert read(serving_unit(low, "#"))["Service"]["AmbientCapabilities"] == "CAP_NET_BIND_SERVICE"
    assert "AmbientCapabilities" not in serving_unit(DEPLOYMENT, "#")


def test_the_address_to_try_is_one_that_this_machine_reaches() -> None:
    gateway = GatewaySection.model_validate({"host": "::", "tls": {"cert": "c", "key": "k"}})
    assert "https://[::1]:8000/health/ready" in serving_unit(Deployment(name="d", gateway=gateway), "#")
    everywhere = Deployment(name="d", gateway=GatewaySection(host="0.0.0.0"))
    assert "http://127.0.0.1:8000/health/ready" in serving_unit(everywhere, "#")


def test_only_teapot_is_told_to_stop_and_what_is_left_is_killed() -> None:
    assert read(serving_unit(DEPLOYMENT, "#"))["Service"]["KillMode"] == "mixed"


def test_a_wrong_file_is_not_tried_again_and_a_signal_is_no_failure() -> None:
    service = read(serving_unit(DEPLOYMENT, "#"))["Service"]
    assert service["RestartPreventExitStatus"] == "2"
    assert service["SuccessExitStatus"] == "130 143"


@pytest.mark.parametrize(
    "unit", [node_unit(DEPLOYMENT, "#", ADDRESSES), ray_unit(DEPLOYMENT, "#", ADDRESSES)]
)
def test_other_machines_are_started_until_the_first_is_there(unit: str) -> None:
    parsed = read(unit)
    assert parsed["Unit"]["StartLimitIntervalSec"] == "0"
    assert parsed["Service"]["Restart"] == "always"


def test_every_machine_is_told_its_instance() -> None:
    node, ray = node_unit(DEPLOYMENT, "#", ADDRESSES), ray_unit(DEPLOYMENT, "#", ADDRESSES)
    assert "on 10.0.0.3: systemctl enable --now teapot-d-node@2" in node
    assert "10.0.0.1" not in node
    assert "on 10.0.0.1: systemctl enable --now teapot-d-ray@0" in ray


def test_ray_runs_before_what_needs_it() -> None:
    unit = serving_unit(DEPLOYMENT, "#", after="teapot-d-ray@0.service", ray="10.0.0.1:6379")
    assert read(unit)["Unit"]["Requires"] == "teapot-d-ray@0.service"
    assert "Environment=RAY_ADDRESS=10.0.0.1:6379" in unit
