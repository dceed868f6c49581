"""The shipped devices: their numbers fit each other, and each names its sources."""

from __future__ import annotations

import re

import pytest

from hpcbench.config.devices.description import CPU, Description
from hpcbench.config.devices.load import load_devices
from hpcbench.config.devices.plausibility import bandwidth_gb_per_s, flaws, fp32_tflops

TABLE = load_devices()
DEVICES = sorted(TABLE.descriptions.items())
WITHIN_3_PERCENT = 0.03
# FLOPs of a unit and clock in matrix units, from white papers. Hopper has its rates at a lower clock than the boost.
FLOAT16_PER_CLOCK = {"Volta": 1024, "CDNA": 1024, "CDNA 2": 1024, "CDNA 3": 2048, "CDNA 4": 4096}


def each(devices: list[tuple[str, Description]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("device", [one for _, one in devices], ids=[name for name, _ in devices])


def test_the_devices_that_users_have_are_described() -> None:
    assert len(DEVICES) >= 45
    wanted = {"a100-pcie-40", "a100-sxm-80", "h100-sxm", "h100-pcie", "h200", "b200", "gb200", "l4", "l40s", "a10"}
    wanted |= {"a30", "a40", "t4", "v100-pcie-16", "v100-pcie-32", "v100-sxm-16", "p100-pcie-16", "p4", "p40"}
    wanted |= {"rtx-3090", "rtx-4090", "rtx-5090", "rtx-a6000", "rtx-6000-ada", "titan-rtx", "titan-xp", "gtx-1080-ti"}
    wanted |= {"quadro-rtx-6000", "mi100", "mi210", "mi250", "mi300x", "max-1550", "xeon-gold-6248", "epyc-7742"}
    wanted |= {"xeon-platinum-8480-plus", "epyc-7763", "epyc-9654", "core-i9-10940x", "ryzen-9-7950x"}
    assert wanted <= set(TABLE)


@each(DEVICES)
def test_a_device_has_plausible_numbers_and_a_source(device: Description) -> None:
    assert list(flaws(device)) == []
    assert re.search(r", https://\S+$", device.source)


@each(DEVICES)
def test_the_rate_is_that_of_units_lanes_and_clock(device: Description) -> None:
    assert device.fp32_tflops == pytest.approx(fp32_tflops(device), rel=WITHIN_3_PERCENT)


@each([(name, device) for name, device in DEVICES if device.memory_mhz])
def test_the_bandwidth_is_that_of_bus_and_memory_clock(device: Description) -> None:
    assert device.memory_gb_per_s == pytest.approx(bandwidth_gb_per_s(device), rel=WITHIN_3_PERCENT)


def test_the_memory_clock_of_nearly_all_devices_is_known() -> None:
    assert {name for name, device in DEVICES if not device.memory_mhz} == {"b200"}


@each([(name, device) for name, device in DEVICES if device.architecture in FLOAT16_PER_CLOCK])
def test_the_float16_rate_is_that_of_the_matrix_units(device: Description) -> None:
    expected = device.units * FLOAT16_PER_CLOCK[device.architecture] * device.boost_mhz * 1e-6
    assert device.matrix_tflops.float16 == pytest.approx(expected, rel=WITHIN_3_PERCENT)


@each([(name, device) for name, device in DEVICES if device.vendor == "NVIDIA" and device.matrix_tflops.tf32])
def test_half_of_the_bits_is_twice_the_rate_on_matrix_units_of_nvidia(device: Description) -> None:
    rates = device.matrix_tflops
    assert rates.bfloat16 == rates.float16
    assert rates.float16 == pytest.approx(2 * (rates.tf32 or 0), rel=WITHIN_3_PERCENT)
    if rates.float8:
        assert rates.float8 == pytest.approx(2 * (rates.float16 or 0), rel=WITHIN_3_PERCENT)


@each([(name, device) for name, device in DEVICES if device.kind == CPU])
def test_a_cpu_has_a_base_clock(device: Description) -> None:
    assert device.base_mhz is not None
    assert device.base_mhz < device.boost_mhz
