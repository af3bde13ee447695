"""deploy/bootstrap-prometheus on machines made of a few small programs."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "deploy" / "bootstrap-prometheus"
pytestmark = pytest.mark.skipif(
    not Path("/etc/debian_version").exists(), reason="it does nothing where there is no Debian"
)


@dataclass
class Machine:
    """A tree with the script, a PATH of its own, and a place for Debian's policy of starts."""

    root: Path

    def program(self, name: str, text: str) -> None:
        """Put a program on PATH."""
        path = self.root / "bin" / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the script."""
        return subprocess.run(
            [str(self.root / "deploy" / SCRIPT.name), *words],
            env={"PATH": str(self.root / "bin"), "POLICY_RC_D": str(self.policy)} | environ,
            capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    @property
    def policy(self) -> Path:
        """Where packages ask whether their services may be started."""
        return self.root / "policy-rc.d"

    @property
    def calls(self) -> list[str]:
        """What apt-get and the disabling programs were asked, and whether starts were forbidden then."""
        file = self.root / "calls"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    found = Machine(tmp_path)
    for folder in ("bin", "deploy", ".venv"):
        (tmp_path / folder).mkdir()
    shutil.copy(SCRIPT, tmp_path / "deploy")
    for name in ("sh", "dirname", "rm", "chmod"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    found.program("id", "echo 0")
    told = f'echo "${{0##*/}} $*" >>{tmp_path}/calls'
    found.program("apt-get", f"{told}; [ -x {found.policy} ] && echo forbidden >>{tmp_path}/calls; exit 0")
    found.program("systemctl", told)
    found.program("update-rc.d", told)
    return found


def test_where_it_is_there_nothing_is_done_and_nothing_said(machine: Machine) -> None:
    machine.program("prometheus", "")
    machine.program("promtool", "")
    done = machine.run("--require")
    assert (done.returncode, done.stderr, machine.calls) == (0, "", [])


def test_as_root_on_debian_it_is_installed_and_its_service_neither_started_nor_enabled(
    machine: Machine,
) -> None:
    done = machine.run()
    assert done.returncode == 0
    assert "installing Debian's package prometheus; its service is neither started nor enabled" in done.stderr
    update, forbidden, install, _, *disabled = machine.calls
    assert update.endswith(" update")
    assert forbidden == "forbidden"
    assert install.endswith(" install -y --no-install-recommends prometheus")
    assert disabled == ["systemctl disable prometheus.service", "update-rc.d prometheus disable"]
    assert not machine.policy.exists()


def test_a_policy_that_is_there_already_stays(machine: Machine) -> None:
    machine.policy.write_text("#!/bin/sh\nexit 101\n# the machine's own\n")
    assert machine.run().returncode == 0
    assert "the machine's own" in machine.policy.read_text()


@pytest.mark.parametrize("why", ["not root", "no apt", "not wanted"])
def test_where_it_may_not_be_installed_it_is_silent_unless_it_is_required(machine: Machine, why: str) -> None:
    environ = {"PROMETHEUS": "no"} if why == "not wanted" else {}
    if why == "not root":
        machine.program("id", "echo 1000")
    if why == "no apt":
        (machine.root / "bin" / "apt-get").unlink()
    done = machine.run(**environ)
    assert (done.returncode, done.stderr, machine.calls) == (0, "", [])
    required = machine.run("--require", **environ)
    assert required.returncode == 1
    assert "no prometheus with promtool on PATH" in required.stderr
    assert machine.calls == []


def test_an_install_that_fails_is_said_once_and_holds_nobody_up(machine: Machine) -> None:
    machine.program("apt-get", f"echo 'E: no network' >&2; echo asked >>{machine.root}/calls; exit 100")
    done = machine.run()
    assert done.returncode == 0
    assert "E: no network" in done.stderr
    assert "could not be installed" in done.stderr
    assert not machine.policy.exists()
    again = machine.run()
    assert (again.returncode, again.stderr, machine.calls) == (0, "", ["asked"])
    assert machine.run("--require").returncode == 1
    assert machine.calls == ["asked", "asked"]
