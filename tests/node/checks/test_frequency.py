"""Governor and turbo, on machines that are laid out as files."""

from __future__ import annotations

import pytest

from hpcbench.core.check_result import NOTE, OK, WARNING
from hpcbench.node.checks import governor, turbo

CPU = "sys/devices/system/cpu/"


def cpufreq(cpu: int, chosen: str, driver: str = "acpi-cpufreq", **more: str) -> dict[str, str]:
    files = {"scaling_governor": chosen, "scaling_driver": driver, **more}
    return {f"{CPU}cpu{cpu}/cpufreq/{name}": f"{text}\n" for name, text in files.items()}


@pytest.mark.parametrize(
    ("files", "level", "words"),
    [
        (cpufreq(0, "performance"), OK, "performance (driver acpi-cpufreq)"),
        (cpufreq(0, "powersave"), WARNING, "powersave"),
        (cpufreq(0, "schedutil"), NOTE, "schedutil"),
        (cpufreq(0, "powersave", "intel_pstate"), OK, "preference unknown"),
        (cpufreq(0, "powersave", "intel_pstate", energy_performance_preference="power"), WARNING, "preference power"),
        (cpufreq(0, "powersave", "amd-pstate-epp", energy_performance_preference="performance"), OK, "performance"),
        ({}, NOTE, "governor and turbo unknown"),
    ],
)
def test_a_governor_is_judged_with_its_driver(lay, files: dict[str, str], level: str, words: str) -> None:
    (finding,) = governor.check(lay(files, [0]))
    assert finding.level == level
    assert words in finding.found
    assert bool(finding.action) == (level != OK)


def test_cpus_with_governors_of_their_own_are_told(lay) -> None:
    (finding,) = governor.check(lay({**cpufreq(0, "performance"), **cpufreq(1, "powersave")}))
    assert (finding.level, finding.found) == (WARNING, "performance on CPU 0, powersave on CPU 1")


def test_only_the_cpus_that_we_may_use_count(lay) -> None:
    (finding,) = governor.check(lay({**cpufreq(0, "performance"), **cpufreq(1, "powersave")}, [0]))
    assert finding.level == OK


def test_a_lower_limit_than_the_processors_is_told(lay) -> None:
    limited = cpufreq(0, "performance", scaling_max_freq="2000000", cpuinfo_max_freq="3500000")
    free = cpufreq(1, "performance", scaling_max_freq="3500000", cpuinfo_max_freq="3500000")
    _, finding = governor.check(lay({**limited, **free}))
    assert (finding.level, finding.found) == (NOTE, "limited to 2.00 of 3.50 GHz on CPU 0")


@pytest.mark.parametrize(
    ("file", "text", "level"),
    [
        ("intel_pstate/no_turbo", "0", NOTE),
        ("intel_pstate/no_turbo", "1", OK),
        ("cpufreq/boost", "1", NOTE),
        ("cpufreq/boost", "0", OK),
        ("cpufreq/policy0/boost", "0", OK),
        ("intel_pstate/status", "active", NOTE),
    ],
)
def test_turbo_is_found_where_each_driver_tells_it(lay, file: str, text: str, level: str) -> None:
    (finding,) = turbo.check(lay({**cpufreq(0, "performance"), CPU + file: text}))
    assert finding.level == level


def test_nothing_is_said_of_turbo_where_no_frequency_can_be_seen(lay) -> None:
    assert turbo.check(lay({})) == []


@pytest.mark.parametrize(
    ("files", "on"),
    [
        ({}, None),
        ({CPU + "cpufreq/boost": "1"}, True),
        ({CPU + "cpufreq/boost": "0"}, False),
        ({CPU + "intel_pstate/no_turbo": "0"}, True),
        ({CPU + "intel_pstate/no_turbo": "1", CPU + "cpufreq/boost": "1"}, False),
    ],
)
def test_turbo_is_on_off_or_not_told(lay, files: dict[str, str], on: bool | None) -> None:
    assert turbo.is_on(lay(files)) is on


def test_governors_are_those_of_the_usable_cpus(lay) -> None:
    files = {**cpufreq(0, "performance"), **cpufreq(1, "powersave"), **cpufreq(2, "powersave")}
    assert governor.chosen(lay(files, [1, 2])) == ["powersave"]
    assert governor.chosen(lay(files, [0, 1, 2, 3])) == ["performance", "powersave"]
    assert governor.chosen(lay(files, [5])) == []
