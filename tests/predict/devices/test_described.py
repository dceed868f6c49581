"""A device has the values of its description, in SI units."""

from __future__ import annotations

import pytest

from hpcbench.config.devices.load import load_devices
from hpcbench.predict.devices.described import described
from hpcbench.predict.devices.device import BFLOAT16, CPU, FLOAT8, FLOAT32, TF32


def test_a_gpu_in_si_units() -> None:
    device = described("a100-pcie-40", load_devices().find("a100-pcie-40"))
    assert device.vector_flops_per_s == pytest.approx(19.5e12)
    assert (device.flops_per_s(TF32), device.flops_per_s(BFLOAT16)) == (156e12, 312e12)
    assert device.flops_per_s(FLOAT8) == 312e12, "without a rate, that of the next wider precision"
    assert (device.memory_bytes, device.memory_bytes_per_s, device.l2_bytes) == (40e9, 1555e9, 40 * 2**20)
    assert (device.boost_mhz, device.base_mhz, device.lowest_mhz, device.memory_mhz) == (1410, 765, 210, 1215)
    assert (device.board_power_w, device.lowest_power_limit_w, device.idle_power_w) == (250, 150, None)
    assert device.names == ("a100-pcie-40", "NVIDIA A100-PCIE-40GB")
    assert "https://" in device.source


def test_the_power_of_a_gpu_is_that_without_the_cpu_of_its_module() -> None:
    description = load_devices().find("gh200-96")
    assert (description.board_power_w, description.lowest_power_limit_w, description.cpu_power_w) == (1000, 450, 250)
    device = described("gh200-96", description)
    assert (device.board_power_w, device.lowest_power_limit_w) == (750, 200)
    alone = described("gh200-96", description.model_copy(update={"cpu_power_w": None, "lowest_power_limit_w": None}))
    assert (alone.board_power_w, alone.lowest_power_limit_w) == (1000, None)


def test_a_cpu_without_matrix_units_computes_float32_at_its_vector_rate() -> None:
    device = described("xeon-gold-6248", load_devices().find("xeon-gold-6248"))
    assert device.kind == CPU
    assert device.flops_per_s(FLOAT32) == device.flops_per_s(BFLOAT16) == pytest.approx(3.2e12)
