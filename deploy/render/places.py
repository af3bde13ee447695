"""Where things are inside the containers: what services, mounted files and their tests agree on.

Owns: ports, folders and the names of mounted files. Knows nothing about services.
"""

from __future__ import annotations

FOLDER = "deploy/compose"
"""Of the files that are mounted, beside the compose file."""
PUBLIC_PORT, ADMIN_PORT, PROMETHEUS_PORT, GRAFANA_PORT, LOCUST_PORT = 8000, 8001, 9090, 3000, 8089
DCGM_PORT = 9400
EXPORTER_PORT = 9478
SCRATCH = "/var/tmp"
TARGETS = "/targets"
"""Where a load generator says that it runs, for Prometheus to find it (loadgen/discovery.py)."""
