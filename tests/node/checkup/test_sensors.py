"""Power sensors and who may read them, on machines that are laid out as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcbench.node.checkup import sensors
from hpcbench.node.checkup.finding import NOTE, OK
from hpcbench.node.checkup.system import System

RAPL = "sys/class/powercap/intel-rapl:"
TWO = {
    f"{RAPL}0/energy_uj": "12",
    f"{RAPL}0/name": "package-0",
    f"{RAPL}0:0/energy_uj": "5",
    f"{RAPL}0:0/name": "dram",
}


def as_if_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run as root, who may read everything: ask the mode of a file, as for any other user."""
    monkeypatch.setattr(sensors.os, "access", lambda path, mode: bool(Path(path).stat().st_mode & 0o004))


def closed(system: System, file: str, mode: int = 0o400) -> System:
    Path(system.path(file)).chmod(mode)
    return system


def test_rapl_that_everybody_may_read_is_ok(lay) -> None:
    (finding,) = sensors.look(lay(TWO))
    assert (finding.level, finding.found) == (OK, "RAPL: dram, package-0; readable by everybody")


def test_rapl_that_others_may_not_read_is_a_note_with_a_fake_user(lay, monkeypatch: pytest.MonkeyPatch) -> None:
    as_if_nobody(monkeypatch)
    (finding,) = sensors.look(closed(lay(TWO), f"{RAPL}0/energy_uj"))
    assert finding.level == NOTE
    owner = "root" if os.getuid() == 0 else "its owner"
    assert finding.found == f"RAPL: dram, package-0; readable by {owner} only"
    assert "stays empty" in finding.means
    assert "acct_gather_energy/rapl" in finding.mend


def test_the_owner_of_a_sensor_may_read_it(lay) -> None:
    (finding,) = sensors.look(closed(lay(TWO), f"{RAPL}0/energy_uj", 0o440))
    assert finding.level == OK
    assert sensors._readers(lay(TWO), f"{RAPL}0/energy_uj").endswith("and a group only, and that is you")


@pytest.mark.parametrize(
    ("file", "subject", "words"),
    [
        ("sys/cray/pm_counters/energy", "node power", "Cray's pm_counters: energy"),
        ("sys/class/hwmon/hwmon2/power1_input", "board power", "hwmon: xgene"),
        ("dev/ipmi0", "node power", "IPMI"),
    ],
)
@pytest.mark.parametrize(("mode", "level"), [(0o444, OK), (0o440, NOTE)])
def test_other_sensors_are_told_with_their_readers_with_a_fake_user(
    lay, monkeypatch: pytest.MonkeyPatch, file: str, subject: str, words: str, mode: int, level: str
) -> None:
    as_if_nobody(monkeypatch)
    system = closed(lay({file: "1", "sys/class/hwmon/hwmon2/name": "xgene"}), file, mode)
    (finding,) = sensors.look(system)
    assert (finding.subject, finding.level) == (subject, level)
    assert words in finding.found


def test_a_machine_without_a_sensor_says_so(lay) -> None:
    (finding,) = sensors.look(lay({}))
    assert finding.level == NOTE
    assert "no sensor" in finding.found


def load(there: bool):
    def library(name: str) -> object:
        assert name == "libnvidia-ml.so.1"
        if not there:
            raise OSError(name)
        return object()

    return library


@pytest.mark.parametrize(
    ("there", "files", "levels"),
    [(True, {"dev/nvidia0": ""}, [OK]), (False, {"dev/nvidia0": ""}, [NOTE]), (False, {}, [])],
    ids=["library", "a GPU without the library", "neither"],
)
def test_gpus_are_read_through_nvml_with_a_fake_library(
    lay, monkeypatch: pytest.MonkeyPatch, there: bool, files: dict[str, str], levels: list[str]
) -> None:
    monkeypatch.setattr(sensors.ctypes, "CDLL", load(there))
    found = sensors.look(lay({**TWO, **files}))
    assert [finding.level for finding in found if finding.subject == "GPU power"] == levels
