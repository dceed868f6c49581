"""A clock or a power limit that a device does not have is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbench.config.devices.load import load_devices
from hpcbench.errors import UserError
from hpcbench.predict.devices.described import described
from hpcbench.predict.devices.device import Device
from hpcbench.predict.devices.states import LEAST_CLOCK, check_clock_mhz, check_power_limit_w

A100 = replace(
    Device("a100", "NVIDIA", "Ampere", 2020, 108, 1410, 19.5e12, 40e9, 1555e9, 40 * 2**20, 250),
    lowest_mhz=210,
    lowest_power_limit_w=150,
)


def test_a_state_that_the_device_has_is_returned() -> None:
    assert [check_clock_mhz(A100, clock) for clock in (210, 960, 1410)] == [210, 960, 1410]
    assert [check_power_limit_w(A100, limit) for limit in (150, 250)] == [150, 250]


@pytest.mark.parametrize("clock", [0, -5, 100, 1500, 2e9])
def test_a_clock_that_the_device_does_not_have_is_refused(clock: float) -> None:
    with pytest.raises(UserError, match="'a100' does not have a clock of") as caught:
        check_clock_mhz(A100, clock)
    assert caught.value.hint == "use one from 210 to 1410 MHz"


@pytest.mark.parametrize(("clock", "why"), [(10, " (the lowest clock of this device is unknown)"), (1500, "")])
def test_without_a_known_lowest_clock_it_is_a_fifth_of_the_boost_clock(clock: float, why: str) -> None:
    unknown = replace(A100, lowest_mhz=None)
    assert check_clock_mhz(unknown, 282) == 282
    with pytest.raises(UserError, match=r"clock of") as caught:
        check_clock_mhz(unknown, clock)
    assert caught.value.hint == f"use one from 282 to 1410 MHz{why}"


@pytest.mark.parametrize("limit", [0, 149, 251])
def test_a_power_limit_that_cannot_be_set_is_refused(limit: float) -> None:
    with pytest.raises(UserError, match="does not have a power limit of") as caught:
        check_power_limit_w(A100, limit)
    assert caught.value.hint == "use one from 150 to 250 W"


@pytest.mark.parametrize("limit", [0, 49, 251])
def test_without_a_known_lowest_limit_it_is_a_fifth_of_the_board_power(limit: float) -> None:
    unknown = replace(A100, lowest_power_limit_w=None)
    assert check_power_limit_w(unknown, 50) == 50
    with pytest.raises(UserError, match=r"power limit of") as caught:
        check_power_limit_w(unknown, limit)
    why = "" if limit > 250 else " (the lowest power limit of this device is unknown)"
    assert caught.value.hint == f"use one from 50 to 250 W{why}"


def test_no_described_device_has_a_lowest_limit_below_that_of_devices_without_one() -> None:
    table = load_devices()
    all_devices = [described(name, table.descriptions[name]) for name in table]
    known = [each for each in all_devices if each.lowest_power_limit_w]
    assert known
    for device in known:
        limit = max(device.lowest_power_limit_w or 0.0, device.board_power_w / 5)
        assert check_power_limit_w(replace(device, lowest_power_limit_w=None), limit) == device.lowest_power_limit_w


def test_all_described_devices_support_the_lowest_clock_of_devices_without_one() -> None:
    table = load_devices()
    known = [each for name in table if (each := described(name, table.descriptions[name])).lowest_mhz]
    assert known
    assert all((device.lowest_mhz or 0.0) <= LEAST_CLOCK * device.boost_mhz for device in known)
