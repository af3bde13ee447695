from __future__ import annotations

from serving.engine.pip import PipProgress, failure, missing_package

NOT_FOUND = [
    "ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from versions: 2.13)",
    "ERROR: No matching distribution found for torch==2.13.0+cpu",
]
NO_NETWORK = [
    "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'NewConnectionError("
    "'<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish a new connection: "
    "[Errno -3] Temporary failure in name resolution')': /simple/torch/",
    *NOT_FOUND,
]
FULL = [
    "Installing collected packages: torch",
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
]


def test_progress_counts_packages_and_bytes_and_then_unpacking() -> None:
    progress = PipProgress(wanted=3)
    for line in (
        "Collecting numpy==2.3.5 (from -r list.txt (line 1))",
        "  Downloading numpy-2.3.5-cp311-cp311-manylinux.whl (16.9 MB)",
        "Processing /wheels/torch-2.13.0.whl",
        "  Using cached six-1.17.0-py2.py3-none-any.whl (11 kB)",
        "Requirement already satisfied: pip in ./lib",
    ):
        progress.hear(line)
    assert str(progress) == "2 of 3 packages, 17 MB downloaded"
    progress.hear("Installing collected packages: numpy, torch")
    assert str(progress) == "unpacking 2 packages"


def test_a_package_that_no_index_has_is_named() -> None:
    assert missing_package(NOT_FOUND) == "torch==2.13.0+cpu"
    assert "pip finds no package for torch==2.13.0+cpu" in str(failure(NOT_FOUND, "log"))


def test_without_a_network_no_package_is_called_missing() -> None:
    assert missing_package(NO_NETWORK) is None
    said = str(failure(NO_NETWORK, "/logs/install.log"))
    assert said.startswith("/logs/install.log: the package index does not answer; check the network")


def test_a_full_disk_is_said_with_what_to_do() -> None:
    assert str(failure(FULL, "log")).startswith("log: the disk is full; free some space or set TEAPOT_HOME")


def test_anything_else_is_quoted() -> None:
    assert "pip failed: Invalid requirement: 'x=='" in str(
        failure(["ERROR: Invalid requirement: 'x=='"], "log")
    )
    assert "it said nothing" in str(failure([], "log"))
