"""The ports in containers are those that the rest of teapot uses outside of them."""

from __future__ import annotations

from deploy.render.places import ADMIN_PORT, PROMETHEUS_PORT, PUBLIC_PORT
from serving.config.schema import GatewaySection, PrometheusSection


def test_ports_are_the_defaults_of_the_deployment_file() -> None:
    assert (GatewaySection().port, GatewaySection().admin_port) == (PUBLIC_PORT, ADMIN_PORT)
    assert PrometheusSection().port == PROMETHEUS_PORT
