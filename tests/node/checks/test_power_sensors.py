"""Power sensors and who may read them, on machines that are laid out as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.check_result import NOTE, OK
from hpcbench.node.checks import power_sensors
from hpcbench.node.monitor.sources import rapl
from hpcbench.node.monitor.sources.base import Absent

RAPL = "sys/class/powercap/intel-rapl:"
TWO = {
    f"{RAPL}0/energy_uj": "12",
    f"{RAPL}0/name": "package-0",
    f"{RAPL}0/max_energy_range_uj": "1000",
    f"{RAPL}0:0/energy_uj": "5",
    f"{RAPL}0:0/name": "dram",
    f"{RAPL}0:0/max_energy_range_uj": "1000",
}
OWNER = "root" if os.getuid() == 0 else "its owner"


@pytest.mark.parametrize(
    ("mode", "readers"), [(0o444, "everybody"), (0o440, f"{OWNER} and a group only"), (0o400, f"{OWNER} only")]
)
def test_rapl_is_told_with_its_readers(lay, mode: int, readers: str) -> None:
    system = lay(TWO)
    Path(system.path(f"{RAPL}0/energy_uj")).chmod(mode)
    (finding,) = power_sensors.check(system)
    assert (finding.subject, finding.level) == ("CPU energy", OK)
    assert finding.found == f"rapl: cpu0, dram0; readable by {readers}"


def test_rapl_that_we_may_not_read_says_who_may_with_a_fake_refusal(lay, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run as root, whom nothing is refused."""
    monkeypatch.setattr(rapl, "why_unreadable", lambda path: f"Permission denied: {path}")
    (finding,) = power_sensors.check(lay(TWO))
    assert finding.level == NOTE
    assert "Permission denied: " in finding.found
    assert "only root may read it" in finding.found
    assert "do not contain this energy" in finding.means


def test_the_counters_of_a_cray_are_the_nodes(lay) -> None:
    (finding,) = power_sensors.check(lay({"sys/cray/pm_counters/energy": "12345 J 1700000000000000 us"}))
    assert (finding.subject, finding.level) == ("node energy", OK)
    assert finding.found == "cray: node; readable by everybody"


@pytest.mark.parametrize("folder", ["hwmon3", "hwmon3/device"])
def test_the_power_meters_of_grace_are_those_of_its_sockets(lay, folder: str) -> None:
    meter = f"sys/class/hwmon/{folder}/power1_"
    (finding,) = power_sensors.check(lay({f"{meter}oem_info": "Grace Power Socket 0\n", f"{meter}average": "9000000"}))
    assert (finding.subject, finding.level) == ("CPU energy", OK)
    assert finding.found == "grace: cpu0; readable by everybody"


def test_the_power_meter_of_another_server_is_no_sensor(lay) -> None:
    (finding,) = power_sensors.check(
        lay({f"sys/class/hwmon/hwmon0/power1_{name}": text for name, text in (("oem_info", ""), ("average", "9"))})
    )
    assert "power sensor not found" in finding.found


def test_a_machine_without_a_sensor_says_so(lay) -> None:
    (finding,) = power_sensors.check(lay({}))
    assert (finding.subject, finding.level) == ("CPU energy", NOTE)
    assert "power sensor not found" in finding.found


class FakeEnergy:
    """The energy source of one GPU, or the reason why there is none."""

    name = "nvidia_energy"

    def __init__(self, place: Any) -> None:
        if not (Path(place.root) / "library").exists():
            raise Absent("python lacks NVML's package")

    def facts(self) -> dict[str, Any]:
        return {"meters": [{"domain": "gpu0"}]}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"dev/nvidia0": "", "library": ""}, [(OK, "nvidia_energy: gpu0; readable by everybody")]),
        ({"dev/nvidia0": ""}, [(NOTE, "python lacks NVML's package")]),
        ({}, []),
    ],
    ids=["there", "without its package", "no GPU"],
)
def test_the_energy_of_gpus_is_told_where_there_are_any_with_a_fake_source(
    lay, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(power_sensors, "NvidiaEnergy", FakeEnergy)
    found = power_sensors.check(lay({**TWO, **files}))
    assert [finding[1:3] for finding in found if finding.subject == "GPU energy"] == expected
