"""A relay beside a container of ours, by which Prometheus reads /metrics of a port on loopback.

Owns: the relay's container and its configuration. Knows nothing about whose metrics they are.
"""

from __future__ import annotations

from typing import Any

from deploy.render.places import SCRATCH

RELAY_PORT = 9101
IMAGE = "nginxinc/nginx-unprivileged:1.29-alpine"
CONFIG = "relay.conf"
_CONFIG = """\
# The one path that leaves this pod of an address on loopback.
worker_processes 1;
error_log stderr warn;
pid %(scratch)s/nginx.pid;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path %(scratch)s/body;
  proxy_temp_path %(scratch)s/proxy;
  fastcgi_temp_path %(scratch)s/fastcgi;
  uwsgi_temp_path %(scratch)s/uwsgi;
  scgi_temp_path %(scratch)s/scgi;
  server {
    listen %(listen)d;
    location = /metrics {
      proxy_pass http://127.0.0.1:%(port)d;
      # The admin address answers loopback names only.
      proxy_set_header Host 127.0.0.1;
    }
    location / { return 404; }
  }
}
"""


def relay_config(port: int) -> str:
    """nginx's configuration for the metrics of a port on the pod's loopback."""
    return _CONFIG % {"listen": RELAY_PORT, "port": port, "scratch": SCRATCH}


def relay_container(config: str, scratch: str) -> dict[str, Any]:
    """The container; `config` and `scratch` are volumes, the first one with the key `relay.conf`."""
    return {
        "name": "relay",
        "image": IMAGE,
        "command": ["nginx", "-c", f"/etc/relay/{CONFIG}", "-g", "daemon off;"],
        "ports": [{"name": "metrics", "containerPort": RELAY_PORT}],
        "volumeMounts": [
            {"name": config, "mountPath": "/etc/relay", "readOnly": True},
            {"name": scratch, "mountPath": SCRATCH},
        ],
        "securityContext": {
            "runAsNonRoot": True,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
