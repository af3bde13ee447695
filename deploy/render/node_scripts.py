"""Shell scripts that start one machine's part of an engine: readable, and runnable by hand.

Owns: their text. Knows nothing about which flags an engine needs: those come in as settings.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deploy.render.units import DATA
from serving.modes.mode import Setting
from serving.modes.nodes import DEFAULT_MASTER_PORT, Node

_PER_MACHINE = ("--node-rank", "--headless", "--model", "--port")
PORT = 8000
"""Of the engine of rank 0 where the script starts it; on loopback, without the gateway's keys and limits."""
RAY_PORT = 6379


@dataclass(frozen=True, slots=True)
class Parts:
    """What a script is made of."""

    made: str
    """Its first line."""
    name: str
    environment: str
    """The engine environment's folder below TEAPOT_HOME, as the shell matches it."""
    variables: Mapping[str, str]
    """Values in double quotes, for TEAPOT_HOME is in them."""


def node_script(parts: Parts, model: str, nodes: Sequence[Node], settings: Sequence[Setting]) -> str:
    """`vllm serve` with the flags of one machine; the rank is the only argument."""
    last = len(nodes) - 1
    master_port = dict(nodes[0].flags).get("--master-port") or DEFAULT_MASTER_PORT
    cases = "\n".join(
        f"    {node.rank}) address={node.address}; set -- {_own_flags(node)} ;;" for node in nodes
    )
    flags = " \\\n".join(
        f"    {_flag(setting)}"
        for setting in settings
        if setting.name.startswith("--") and setting.name not in _PER_MACHINE
    )
    return f"""\
#!/bin/sh
{parts.made}
#
#   sh {parts.name}-node.sh RANK
#
# One engine on {len(nodes)} machines, each with its rank. On the first, `teapot serve` starts rank 0 with the
# same flags, and the gateway; `sh {parts.name}-node.sh 0` starts it alone, on 127.0.0.1:{PORT}, to try it.
set -eu
rank=${{1:?"give the rank of this machine, 0 to {last}"}}
case $rank in
{cases}
    *) echo "there is no rank $rank: give 0 to {last}" >&2; exit 2 ;;
esac

{_here(parts)}: "${{MODEL:={model}}}"   # a folder must be there on every machine

# gloo would take the address that this machine's name stands for: often 127.0.1.1, which no other reaches.
{_INTERFACE}
export VLLM_HOST_IP="$address" GLOO_SOCKET_IFNAME="$interface"
{_exports(parts.variables)}
set -- serve "$MODEL" \\
{flags} \\
    "$@"
[ "$rank" -gt 0 ] || exec "$VLLM" "$@"

{_WATCHED.replace("PORT", str(master_port))}"""


def ray_address(addresses: Sequence[str]) -> str:
    """Where Ray's head answers, as URLs spell it."""
    first = addresses[0]
    return f"[{first}]:{RAY_PORT}" if ":" in first else f"{first}:{RAY_PORT}"


def ray_script(parts: Parts, addresses: Sequence[str]) -> str:
    """`ray start` on one machine; its number among the hosts is the only argument."""
    last, first = len(addresses) - 1, ray_address(addresses)
    cases = "\n".join(
        f"    {number}) address={address}; set -- "
        f"{f'--address={first}' if number else f'--head --port={RAY_PORT}'} ;;"
        for number, address in enumerate(addresses)
    )
    return f"""\
#!/bin/sh
{parts.made}
#
#   sh {parts.name}-ray.sh NUMBER
#
# Not run: Ray's executor needs GPUs, and there was no machine with one. vLLM 0.33.0 does not ask for Ray
# itself: install it into the engine environment of every machine, in one version.
# Ray has no keys: whoever reaches its ports runs code as this user. Keep them in a network of their own.
set -eu
number=${{1:?"give the number of this machine, 0 to {last}"}}
case $number in
{cases}
    *) echo "there is no machine $number: give 0 to {last}" >&2; exit 2 ;;
esac

{_here(parts)}{_INTERFACE}
export VLLM_HOST_IP="$address" GLOO_SOCKET_IFNAME="$interface"
{_exports(parts.variables)}
exec "${{VLLM%/vllm}}/ray" start --block --node-ip-address="$address" --disable-usage-stats "$@"
"""


_WATCHED = """\
# A rank whose first one is gone waits for ever (seen with vLLM 0.32.0), and the next first one waits for it.
# So its connection to the first is watched: once it was there and is no more, this ends, to be started anew.
: "${WATCH_S:=5}"
"$VLLM" "$@" &
engine=$!
trap 'kill -TERM "$engine" 2>/dev/null || true' INT TERM
joined=no
while kill -0 "$engine" 2>/dev/null; do
    if ss -Htn state established '( dport = :PORT )' | grep -q .; then
        joined=yes
    elif [ "$joined" = yes ]; then
        echo "the first machine is gone: ending this rank" >&2
        kill -TERM "$engine" 2>/dev/null || true
        for _ in 1 2 3 4; do
            kill -0 "$engine" 2>/dev/null || break
            sleep "$WATCH_S"
        done
        kill -KILL "$engine" 2>/dev/null || true
        exit 1
    fi
    sleep "$WATCH_S" & wait $! || true
done
wait "$engine"
"""
_INTERFACE = """\
interface=$(ip -o address | awk -v own="$address" '
    { split($4, part, "/") } part[1] == own { print $2; exit }')
if [ -z "$interface" ]; then
    echo "this machine has no address $address: is its number right?" >&2
    exit 1
fi"""


def _here(parts: Parts) -> str:
    return f"""\
: "${{TEAPOT_HOME:={DATA}}}"
for found in "$TEAPOT_HOME"/environments/{parts.environment}/bin/vllm; do : "${{VLLM:=$found}}"; done
if [ ! -x "$VLLM" ]; then
    echo "there is no $VLLM: run teapot engine install on this machine" >&2
    exit 1
fi
"""


def _exports(variables: Mapping[str, str]) -> str:
    return "".join(f'export {name}="{value}"\n' for name, value in variables.items())


def _own_flags(node: Node) -> str:
    own = [word for name, value in node.flags if name in _PER_MACHINE for word in (name, value) if word]
    return " ".join([*map(str, own), *(() if node.headless else ("--port", str(PORT)))])


def _flag(setting: Setting) -> str:
    """A value that begins with a dash must be tied to its flag, or it is taken for another."""
    if setting.value is None:
        return setting.name
    words = shlex.split(setting.value)
    tied = len(words) == 1 and words[0].startswith("-")
    return f"{setting.name}{'=' if tied else ' '}{setting.value}"


def quoted(value: str) -> str:
    """A word of the deployment file as it stands inside double quotes of a shell."""
    return "".join(f"\\{letter}" if letter in '\\"$`' else letter for letter in value)
