"""Devices by the names of descriptions, nodes and types of nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbench.config.devices.load import load_devices
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.errors import UserError
from hpcbench.predict.devices.device import BFLOAT16, CPU, FLOAT16, FLOAT32, GPU
from hpcbench.predict.devices.known import KnownDevices

A100 = "a100-pcie-40"


def node(host: str, cpu: str, gpu: str | None, *, cores: int = 8) -> MachinePeaks:
    by = ("a library", host, "2026-11-01")
    on_cpu = Peak("cpu", cores, FLOAT32, cores * 5e10, cores * 5e9, *by)
    on_gpu = Peak("gpu", None, FLOAT16, 2e14, 1.2e12, *by)
    return MachinePeaks(cpu, cores, gpu, (on_cpu, on_gpu) if gpu else (on_cpu,), int(64e9), 2**25, 3000.0)


MACHINES = {
    "with-gpu": node("n7", "AMD EPYC 7763 64-Core Processor", "NVIDIA A100-PCIE-40GB", cores=128),
    "without": node("n8", "Some CPU", None),
    "odd": node("n9", "Some CPU of Tomorrow", "NVIDIA Tomorrow"),
}
KNOWN = KnownDevices(load_devices(), MACHINES)


@pytest.mark.parametrize("name", [A100, "NVIDIA A100-PCIE-40GB", "A100-PCIE-40GB", "n7", "with-gpu"])
def test_the_peaks_of_a_gpu_that_doctor_measured_replace_its_data_sheet(name: str) -> None:
    device = KNOWN.find(name)
    assert (device.name, device.kind, device.units) == (A100, GPU, 108)
    assert (device.flops_per_s(FLOAT16), device.memory_bytes_per_s) == (2e14, 1.2e12)
    assert "peaks measured on n7" in device.source


def test_a_device_of_fitted_models_is_found_if_nothing_else_has_its_name() -> None:
    own = replace(KNOWN.find("t4"), name="csv-gpu", aliases=("NVIDIA CSV", A100))
    known = replace(KNOWN, fitted=dict.fromkeys(own.names, own))
    assert (known.find("csv-gpu"), known.find("nvidia csv")) == (own, own)
    assert known.find(A100).name == A100
    with pytest.raises(UserError, match="device 'csv-gup' not found") as error:
        known.find("csv-gup")
    assert "did you mean 'csv-gpu'?" in error.value.hint


def test_bfloat16_without_a_rate_of_its_own_has_that_of_float32_and_not_of_float16() -> None:
    t4 = KNOWN.find("t4")
    assert (t4.flops_per_s(BFLOAT16), t4.flops_per_s(FLOAT16)) == (8.1e12, 65e12)


def test_a_device_that_was_not_measured_has_its_data_sheet() -> None:
    assert KNOWN.find("h200").memory_bytes_per_s == 4.8e12


@pytest.mark.parametrize(("name", "kind"), [("n7", CPU), ("with-gpu", CPU)])
def test_the_cpus_of_a_node_are_a_device_with_the_sizes_of_its_processors(name: str, kind: str) -> None:
    device = KNOWN.find(name, kind)
    assert (device.name, device.kind, device.units, device.vector_flops_per_s) == (name, CPU, 128, 6.4e12)
    assert device.board_power_w == 2 * 280


def test_a_reported_model_of_cpus_is_the_measured_node_and_a_short_name_one_processor() -> None:
    assert KNOWN.find("AMD EPYC 7763 64-Core Processor").units == 128
    assert KNOWN.find("epyc-7763").units == 64
    assert KNOWN.find("AMD EPYC 7742 64-Core Processor").units == 64, "no node with this model was measured"


@pytest.mark.parametrize("name", ["n8", "without", "Some CPU"])
def test_a_node_without_a_data_sheet_is_described_by_its_peaks(name: str) -> None:
    device = KNOWN.find(name)
    assert (device.name, device.kind, device.units) == (name, CPU, 8)
    assert "no data sheet" in device.source


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("n9", None, "the GPU 'NVIDIA Tomorrow' of 'n9' has no description"),
        ("n8", GPU, "node 'n8' has no GPU"),
        ("withgpu", None, "device 'withgpu' not found\n  did you mean 'with-gpu'?"),
        ("a100-pcie-41", None, "did you mean 'a100-pcie-40'"),
        ("abacus", None, "write a file in configs/devices"),
    ],
)
def test_an_unknown_name_is_refused_with_what_to_do(name: str, kind: str | None, words: str) -> None:
    with pytest.raises(UserError) as caught:
        KNOWN.find(name, kind)
    assert words in str(caught.value)


def test_rows_of_data_find_their_device_by_the_name_that_tools_report() -> None:
    assert KNOWN.find("NVIDIA A100-PCIE-40GB") == KNOWN.find(A100) == KNOWN.find("n7")
    assert KNOWN.find("AMD EPYC 7763 64-Core Processor").units == 128, "the measured node, not one processor"
    assert KNOWN.find("epyc-7763").units == 64
    assert KNOWN.find("Some CPU").units == 8


def test_all_devices_are_listed_once() -> None:
    names = [device.name for device in KNOWN.all()]
    assert names == [*sorted(KNOWN.table), "odd", "with-gpu", "without"]
    incomplete = {"bare": MACHINES["without"]._replace(memory_bytes=None)}
    assert "bare" not in [device.name for device in KnownDevices(KNOWN.table, incomplete).all()]
