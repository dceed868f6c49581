"""Measured peaks replace the rates of data sheets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.errors import UserError
from hpcbench.predict.devices.device import BFLOAT16, CPU, FLOAT8, FLOAT16, FLOAT32, TF32, Device
from hpcbench.predict.devices.measured import measured_cpus, with_measured_gpu

GPU_SHEET = Device(
    name="some-gpu",
    vendor="NVIDIA",
    architecture="Ada",
    year=2023,
    units=100,
    boost_mhz=2000,
    vector_flops_per_s=50e12,
    memory_bytes=48e9,
    memory_bytes_per_s=800e9,
    l2_bytes=2**26,
    board_power_w=300,
    matrix_flops_per_s={TF32: 100e12, FLOAT16: 200e12, BFLOAT16: 200e12, FLOAT8: 400e12},
    source="a data sheet",
)
CPU_SHEET = Device(
    name="some-cpu",
    vendor="Intel",
    architecture="Lake",
    year=2020,
    units=16,
    boost_mhz=3500,
    vector_flops_per_s=2e12,
    memory_bytes=1e12,
    memory_bytes_per_s=100e9,
    l2_bytes=2**24,
    board_power_w=150,
    kind=CPU,
    matrix_flops_per_s={BFLOAT16: 4e12},
    source="a data sheet",
)


def peak(device: str, cpus: int | None, dtype: str, rate: float, moved: float | None = None) -> Peak:
    return Peak(device, cpus, dtype, rate, moved, "numpy 2", "n7", "2026-11-01")


def machine(*peaks: Peak, **facts: float | None) -> MachinePeaks:
    known = {"memory_bytes": 256e9, "cache_bytes": 2**25, "clock_mhz": 3000.0, **facts}
    return MachinePeaks("Some CPU 9000", 64, "NVIDIA Some GPU", peaks, **known)  # type: ignore[arg-type]


def test_measured_rates_of_a_gpu_replace_those_of_its_data_sheet() -> None:
    rates = {FLOAT32: 40e12, FLOAT16: 100e12, BFLOAT16: 160e12}
    found = with_measured_gpu(
        GPU_SHEET, machine(*(peak("gpu", None, name, rate, 700e9) for name, rate in rates.items()))
    )
    assert (found.vector_flops_per_s, found.memory_bytes_per_s) == (40e12, 700e9)
    assert (found.flops_per_s(FLOAT16), found.flops_per_s(BFLOAT16)) == (100e12, 160e12)
    assert found.source == "a data sheet; peaks measured on n7 with numpy 2, 2026-11-01"
    assert (found.name, found.units, found.board_power_w) == ("some-gpu", 100, 300)


def test_a_matrix_rate_that_was_not_measured_keeps_its_ratio_to_the_measured_ones() -> None:
    rates = {FLOAT16: 100e12, BFLOAT16: 50e12}  # 0.5 and 0.25 of the data sheet: 0.354 in the geometric mean
    found = with_measured_gpu(GPU_SHEET, machine(*(peak("gpu", None, name, rate) for name, rate in rates.items())))
    assert found.flops_per_s(FLOAT8) == pytest.approx(400e12 * 0.125**0.5)
    assert found.flops_per_s(TF32) == pytest.approx(100e12 * 0.125**0.5)
    assert found.memory_bytes_per_s == 800e9


def test_float32_of_matrix_units_is_measured_where_the_device_has_it() -> None:
    sheet = replace(GPU_SHEET, matrix_flops_per_s={FLOAT32: 90e12})
    found = with_measured_gpu(sheet, machine(peak("gpu", None, FLOAT32, 70e12)))
    assert (found.flops_per_s(FLOAT32), found.vector_flops_per_s) == (70e12, 50e12)


def test_a_gpu_without_measured_peaks_stays_as_it_is() -> None:
    assert with_measured_gpu(GPU_SHEET, machine(peak("cpu", 4, FLOAT32, 1e11))) is GPU_SHEET


def test_the_cpus_of_a_node_with_two_processors_are_one_device() -> None:
    measured = machine(peak("cpu", 1, FLOAT32, 1e11, 1e10), peak("cpu", 32, FLOAT32, 3e12, 180e9))
    found = measured_cpus("n7", measured, CPU_SHEET, [])
    assert (found.name, found.aliases, found.units) == ("n7", ("Some CPU 9000",), 32)
    assert (found.vector_flops_per_s, found.memory_bytes_per_s) == (3e12, 180e9)
    assert found.flops_per_s(BFLOAT16) == pytest.approx(8e12 * 3 / 4), "as far below the data sheet as float32"
    assert (found.memory_bytes, found.l2_bytes, found.board_power_w) == (256e9, 2**25, 300)
    assert found.source.startswith("a data sheet; peaks measured on n7")


def test_cpus_with_a_peak_under_load_are_marked() -> None:
    loaded, idle = peak("cpu", 32, FLOAT32, 3e12, 180e9)._replace(under_load=True), peak("cpu", 1, FLOAT32, 1e11, 1e10)
    found = measured_cpus("n7", machine(idle, loaded), CPU_SHEET, [])
    assert found.peaks_under_load
    assert found.source == "a data sheet; peaks measured under load on n7 with numpy 2, 2026-11-01"
    assert not measured_cpus("n7", machine(idle), CPU_SHEET, []).peaks_under_load


def test_the_peaks_of_fewer_cores_are_kept_and_never_above_those_of_more() -> None:
    rates = {1: 1e11, 2: 3e11, 4: 2.5e11, 16: 1e12}  # the peak on 4 was measured during interference
    found = measured_cpus(
        "n7", machine(*(peak("cpu", n, FLOAT32, rate, 1e10) for n, rate in rates.items())), CPU_SHEET, []
    )
    assert [(each.cores, each.flops_per_s) for each in found.scaling] == [(1, 1e11), (2, 3e11), (4, 3e11), (16, 1e12)]


def test_what_was_not_measured_on_a_node_is_that_of_its_processors() -> None:
    measured = machine(peak("cpu", 32, FLOAT32, 3e12), memory_bytes=None, cache_bytes=None)
    found = measured_cpus("n7", measured, CPU_SHEET, [])
    assert (found.memory_bytes, found.memory_bytes_per_s, found.l2_bytes) == (2e12, 200e9, 2 * 2**24)


def test_cpus_without_a_description_have_the_power_of_the_closest_known_ones() -> None:
    slow = replace(CPU_SHEET, name="slow", vector_flops_per_s=1e11, board_power_w=16, year=2010)
    found = measured_cpus("n7", machine(peak("cpu", 4, FLOAT32, 5e11, 25e9)), None, [slow, CPU_SHEET, GPU_SHEET])
    assert (found.units, found.vector_flops_per_s, found.memory_bytes_per_s) == (4, 5e11, 25e9)
    assert (found.boost_mhz, found.year, found.board_power_w) == (3000, 2020, pytest.approx(4 * 150 / 16))
    assert (found.architecture, found.matrix_flops_per_s, found.kind) == ("unknown", {}, CPU)
    assert "no data sheet; year, process and power per core of some-cpu" in found.source


def test_cpus_of_the_same_vendor_are_closer() -> None:
    other = replace(CPU_SHEET, name="other", vendor="AMD", vector_flops_per_s=9e12)
    named = machine(peak("cpu", 4, FLOAT32, 5e11, 25e9))._replace(cpu_model="AMD EPYC family 25 model 17")
    found = measured_cpus("n7", named, None, [CPU_SHEET, other])
    assert (found.vendor, "per core of other" in found.source) == ("AMD", True)


@pytest.mark.parametrize(
    ("facts", "moved", "words"),
    [
        ({"memory_bytes": None}, 25e9, "have no description; unknown: memory_gb"),
        ({"clock_mhz": None, "cache_bytes": None}, 25e9, "have no description; unknown: l2_mb, boost_mhz"),
        ({}, None, "have no description; unknown: memory_gb_per_s"),
    ],
)
def test_a_value_that_is_neither_measured_nor_described_is_named(
    facts: dict[str, float | None], moved: float | None, words: str
) -> None:
    with pytest.raises(UserError, match=words) as caught:
        measured_cpus("n7", machine(peak("cpu", 4, FLOAT32, 5e11, moved), **facts), None, [CPU_SHEET])
    assert "names: [Some CPU 9000]" in caught.value.hint


def test_cpus_whose_peaks_are_not_measured_are_refused() -> None:
    with pytest.raises(UserError, match="'n7': peaks of the CPUs not measured"):
        measured_cpus("n7", machine(peak("gpu", None, FLOAT32, 5e13)), CPU_SHEET, [])
