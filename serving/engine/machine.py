"""What this machine offers to engines: cores, memory, shared memory, accelerators, addresses, a C++ compiler.

Owns: asking the kernel, nvidia-smi and the search path. Knows nothing about what engines need.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from serving.engine.commands import Runner, run
from serving.modes.mode import Accelerator, MachineFacts

ROOT = Path("/")
QUERY = ("nvidia-smi", "--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits")
MIB = 1024**2
SIOCGIFCONF = 0x8912
IFREQ_BYTES = 40
"""Of a 64-bit Linux: 16 of the name, then a socket address whose IPv4 address is at 4."""
MAX_ADDRESSES = 256
COMPILERS = ("g++", "clang++", "c++")


def ipv4_interfaces() -> dict[str, str]:
    """The network interface of each IPv4 address, by SIOCGIFCONF (netdevice(7)); empty where it fails.

    An address without its own name is listed with its interface's; an alias `eth0:1` counts for eth0.
    """
    rows = array("B", bytes(MAX_ADDRESSES * IFREQ_BYTES))
    asked = struct.pack("iP", len(rows), rows.buffer_info()[0])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            used = struct.unpack("iP", fcntl.ioctl(any_socket, SIOCGIFCONF, asked))[0]
    except OSError:
        return {}
    told = rows.tobytes()
    found = {}
    for start in range(0, used, IFREQ_BYTES):
        name = told[start : start + 16].split(b"\0", 1)[0].decode().partition(":")[0]
        found[socket.inet_ntoa(told[start + 20 : start + 24])] = name
    return found


def read_machine(
    *,
    accelerators: bool,
    runner: Runner = run,
    root: Path = ROOT,
    cores: Callable[[], frozenset[int]] = lambda: frozenset(os.sched_getaffinity(0)),
    interfaces: Callable[[], Mapping[str, str]] = ipv4_interfaces,
) -> MachineFacts:
    """Read the machine's facts; accelerators only where they matter. `root` holds /proc, /sys and /dev."""
    nodes = list((root / "sys/devices/system/node").glob("node[0-9]*"))
    return MachineFacts(
        cores=tuple(sorted(cores())),
        numa_nodes=max(1, len(nodes)),
        memory_available_bytes=_available(root / "proc/meminfo"),
        shared_memory_free_bytes=_free(root / "dev/shm"),
        accelerators=tuple(_accelerators(runner)) if accelerators else (),
        interfaces=interfaces(),
    )


def cpp_compiler(environ: Mapping[str, str], which: Callable[[str], str | None] = shutil.which) -> str | None:
    """The C++ compiler that torch could be given: CXX, else the first of g++, clang++, c++; None: none."""
    asked = environ.get("CXX")
    return next((name for name in ((asked,) if asked else COMPILERS) if which(name)), None)


def _available(meminfo: Path) -> int:
    """MemAvailable in bytes (the file has kB, which are KiB); 0 where there is no such line."""
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return 0
    rows = (line.split() for line in lines)
    return next((int(row[1]) * 1024 for row in rows if row and row[0] == "MemAvailable:"), 0)


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def _accelerators(runner: Runner) -> Iterator[Accelerator]:
    """NVIDIA's, as `name, total MiB, free MiB` a line. Not run on a GPU."""
    asked = runner(QUERY)
    for line in asked.lines if asked.code == 0 else ():
        name, total, free = (part.strip() for part in line.rsplit(",", 2))
        if total.isdigit() and free.isdigit():
            yield Accelerator(name, int(total) * MIB, int(free) * MIB)
