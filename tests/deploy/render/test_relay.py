"""The relay: only /metrics leaves the pod."""

from __future__ import annotations

import re

from deploy.render.places import SCRATCH
from deploy.render.relay import CONFIG, RELAY_PORT, relay_config, relay_container


def test_only_metrics_of_that_port_are_told_and_under_a_loopback_name() -> None:
    config = relay_config(8001)
    assert f"listen {RELAY_PORT};" in config
    assert re.findall(r"location (.*?) \{", config) == ["= /metrics", "/"]
    assert "location / { return 404; }" in config
    assert "proxy_pass http://127.0.0.1:8001;" in config
    assert "proxy_set_header Host 127.0.0.1;" in config, "the admin address refuses other names"


def test_it_needs_no_writable_image_and_reads_the_key_that_it_is_given() -> None:
    container = relay_container("config", "scratch")
    assert container["command"][container["command"].index("-c") + 1].endswith(f"/{CONFIG}")
    assert {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]} == {
        "config": "/etc/relay", "scratch": SCRATCH,
    }  # fmt: skip
    written = re.findall(r"^\s*(?:pid|\w+_temp_path) (\S+);", relay_config(1), flags=re.MULTILINE)
    assert len(written) == 6
    assert all(path.startswith(f"{SCRATCH}/") for path in written)
