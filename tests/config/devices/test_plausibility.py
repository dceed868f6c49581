"""Implausible numbers of a device are refused, with the unit that the user probably wrote."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.config.devices.plausibility import bandwidth_gb_per_s, fp32_tflops
from hpcbench.config.devices.table import DeviceTable
from hpcbench.errors import UserError

Parse = Callable[..., DeviceTable]


def test_plausible_numbers_pass(parse: Parse) -> None:
    device = parse(memory_bus_bits="5120", memory_mhz="1215").find("mine")
    assert fp32_tflops(device) == pytest.approx(108 * 64 * 2 * 1.41e-3)
    assert bandwidth_gb_per_s(device) == pytest.approx(5120 / 8 * 2 * 1.215)
    assert bandwidth_gb_per_s(parse().find("mine")) is None


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("fp32_tflops", "19500", "is it in GFLOP/s? Then write 19.5"),
        ("fp32_tflops", "0.0195", "is it in PFLOP/s? Then write 19.5"),
        ("fp32_tflops", "1.95e13", "is it in FLOP/s? Then write 19.5"),
        ("fp32_tflops", "39", "not units x lanes_per_unit x 2 x 1410 MHz = 19.49 TFLOP/s"),
        ("matrix_tflops", "{tf32: 156000}", "matrix_tflops.tf32: 156000 TFLOP/s is 8e+03 times fp32_tflops"),
        ("matrix_tflops", "{tf32: 156000}", "is it in GFLOP/s? Then write 156"),
        ("matrix_tflops", "{float16: 0.312}", "is it in PFLOP/s? Then write 312"),
        ("memory_gb_per_s", "1.555", "is it in TB/s? Then write 1555"),
        ("memory_gb_per_s", "7.7", "is it in TB/s? Then write 7700"),
        ("memory_gb_per_s", "1.555e12", "is it in bytes/s? Then write 1555"),
        ("memory_gb_per_s", "1555000", "is it in MB/s? Then write 1555"),
        ("memory_gb", "40960", "is it in MB? Then write 40.96"),
        ("memory_gb", "4.2e10", "is it in bytes? Then write 42"),
        ("l2_mb", "41943040", "is it in bytes? Then write 40"),
        ("l2_mb", "40960", "is it in KiB? Then write 40"),
        ("boost_mhz", "1.41", "is it in GHz? Then write 1410"),
        ("boost_mhz", "1.41e9", "is it in Hz? Then write 1410"),
        ("board_power_w", "250000", "is it in mW? Then write 250"),
        ("board_power_w", "0.25", "is it in kW? Then write 250"),
        ("year", "20", "use a value from 2000 to 2050"),
        ("base_mhz", "1500", "1500 is larger than boost_mhz, 1410"),
        ("lowest_power_limit_w", "300", "300 is larger than board_power_w, 250"),
        ("idle_power_w", "300", "300 is larger than board_power_w, 250"),
        ("cpu_power_w", "250", "250 leaves no power for the GPU: the lowest limit of the module is 250 W"),
        ("cpu_power_w", "0.1", "is it in kW? Then write 100"),
    ],
)
def test_an_implausible_number_is_refused_with_the_probable_unit(
    parse: Parse, key: str, value: str, words: str
) -> None:
    with pytest.raises(UserError) as caught:
        parse(**{key: value})
    assert f"devices.mine.{key}" in str(caught.value)
    assert words in str(caught.value)


def test_a_wrong_clock_is_one_error_not_also_one_of_the_rate(parse: Parse) -> None:
    with pytest.raises(UserError) as caught:
        parse(boost_mhz="1.41")
    assert len(caught.value.findings) == 1


def test_the_bandwidth_must_be_that_of_the_memory_interface(parse: Parse) -> None:
    with pytest.raises(
        UserError, match=r"memory_bus_bits / 8 x 2 x memory_mhz = 777.6 GB/s\n  write memory_mhz with two"
    ):
        parse(memory_bus_bits="5120", memory_mhz="607.5")


def test_the_rate_of_cpus_is_at_the_base_clock(parse: Parse) -> None:
    changed = {"units": "20", "lanes_per_unit": "32", "boost_mhz": "3900", "matrix_tflops": None}
    cpus = {"kind": "cpu", "base_mhz": "2500", "fp32_tflops": "3.2", "memory_gb_per_s": "140.8", **changed}
    assert fp32_tflops(parse(**cpus).find("mine")) == pytest.approx(3.2)
    with pytest.raises(UserError, match=r"4\.99 TFLOP/s is not units x lanes_per_unit x 2 x 2500 MHz"):
        parse(**{**cpus, "fp32_tflops": "4.99"})
