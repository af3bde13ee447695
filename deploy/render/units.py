"""systemd units: teapot on the machine that serves, and what runs on the machines beside it.

Owns: what a unit says, and the places that units agree on. Knows nothing about vLLM's flags.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from serving.config.flags import SHUTDOWN_MARGIN_S
from serving.config.schema import Deployment, GatewaySection

TEAPOT = "/opt/teapot/.venv/bin/teapot"
"""Where the units look for it: a clone in /opt/teapot in which `make demo` or `make check` ran once."""
CONFIGURATION = "/etc/teapot"
DATA = "/var/lib/teapot"
STOP_MARGIN_S = 15
_FIRST_FREE_PORT = 1024
_SECTION = """\
[Service]
Type=exec
User=teapot
# Made by systemd; engine environments, models and caches are here.
StateDirectory=teapot
WorkingDirectory={data}
Environment=TEAPOT_HOME={data}
"""
_GIVEN_UP = """\
# Ten starts within an hour are a fault that another start will not cure.
StartLimitIntervalSec=1h
StartLimitBurst=10
"""
_NEVER_GIVEN_UP = """\
# It is started until the first machine is there.
StartLimitIntervalSec=0
"""
_GUARDED = """\
LimitNOFILE=65536
# Memory that NCCL, NIXL or RDMA register with a device cannot be swapped.
LimitMEMLOCK=infinity
NoNewPrivileges=yes
PrivateTmp=yes
ProtectHome=yes
ProtectSystem=strict
ProtectControlGroups=yes
ProtectKernelModules=yes
RestrictSUIDSGID=yes
"""


def serving_unit(
    deployment: Deployment, made: str, *, after: str | None = None, ray: str | None = None
) -> str:
    """`teapot serve`: gateway and engines of this machine. `after`: a unit that must run before."""
    gateway = deployment.gateway
    stop_s = math.ceil(gateway.grace + gateway.drain_timeout) + SHUTDOWN_MARGIN_S + STOP_MARGIN_S
    wanted = f"Requires={after}\nAfter={after}\n" if after else ""
    environment = f"# Where vLLM finds the cluster.\nEnvironment=RAY_ADDRESS={ray}\n" if ray else ""
    name = f"{CONFIGURATION}/{deployment.name}.yaml"
    return f"""\
{made}
# It is up when {_address(gateway)}/health/ready answers 200.
{_unit(f"teapot: {deployment.name}, engines and gateway", wanted + _GIVEN_UP)}
{_SECTION.format(data=DATA)}{environment}{_privileged(gateway)}ExecStart={TEAPOT} serve {name}
# SIGTERM goes to teapot alone, which drains and ends its engines; what then still lives is killed.
KillMode=mixed
TimeoutStopSec={stop_s}
SuccessExitStatus=130 143
Restart=on-failure
RestartSec=10
# 2: the file is wrong, and will be as wrong the next time.
RestartPreventExitStatus=2
{_GUARDED}
[Install]
WantedBy=multi-user.target
"""


def _address(gateway: GatewaySection) -> str:
    """Where it answers, as this machine reaches it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(gateway.host, gateway.host)
    scheme = "http" if gateway.tls is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{gateway.port}"


def _privileged(gateway: GatewaySection) -> str:
    """What a port needs that no plain user may listen on."""
    if not any(0 < port < _FIRST_FREE_PORT for port in (gateway.port, gateway.admin_port)):
        return ""
    return f"# For a port below {_FIRST_FREE_PORT}.\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n"


def node_unit(deployment: Deployment, made: str, addresses: Sequence[str]) -> str:
    """The engine's part on each machine but the first; the instance is its rank."""
    ranks = "\n".join(
        f"#   on {address}: systemctl enable --now teapot-{deployment.name}-node@{rank}"
        for rank, address in enumerate(addresses)
        if rank
    )
    return f"""\
{made}
# The instance is the machine's rank:
{ranks}
{_unit(f"teapot: {deployment.name}, rank %i of {len(addresses)} machines", _NEVER_GIVEN_UP)}
{_SECTION.format(data=DATA)}ExecStart=/bin/sh {CONFIGURATION}/{deployment.name}-node.sh %i
# Without the first machine it has nothing to do: it ends, and waits for the next first one.
Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=30
{_GUARDED}
[Install]
WantedBy=multi-user.target
"""


def ray_unit(deployment: Deployment, made: str, addresses: Sequence[str]) -> str:
    """Ray on every machine; the instance is its place among the hosts."""
    numbers = "\n".join(
        f"#   on {address}: systemctl enable --now teapot-{deployment.name}-ray@{number}"
        for number, address in enumerate(addresses)
    )
    return f"""\
{made}
# Not run: Ray's executor needs GPUs, and there was no machine with one. The instance is the machine's number:
{numbers}
{_unit(f"teapot: {deployment.name}, Ray on machine %i of {len(addresses)}", _NEVER_GIVEN_UP)}
{_SECTION.format(data=DATA)}ExecStart=/bin/sh {CONFIGURATION}/{deployment.name}-ray.sh %i
Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=60
{_GUARDED}
[Install]
WantedBy=multi-user.target
"""


def _unit(description: str, more: str) -> str:
    return f"""\
[Unit]
Description={description}
Wants=network-online.target
After=network-online.target
{more}"""
