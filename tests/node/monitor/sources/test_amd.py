"""AMD's GPUs, with a fake amdsmi: there is none on the machines that test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from types import ModuleType
from typing import Any

import pytest

from hpcbench.node.monitor.power_sensors import SENSORS
from hpcbench.node.monitor.sources.amd import Amd, AmdEnergy
from hpcbench.node.monitor.sources.base import Absent
from hpcbench.node.monitor.throttle_reasons import HARDWARE_THERMAL, POWER_CAP

# Answers as amdsmi 7 gives them for an MI300X; the functions of 6.0 and what MI200 lacks are in the tests.
MI300X: dict[str, Any] = {
    "amdsmi_get_gpu_asic_info": {"market_name": "AMD Instinct MI300X", "target_graphics_version": "gfx942"},
    "amdsmi_get_gpu_driver_info": {"driver_name": "amdgpu", "driver_version": "6.12.12"},
    "amdsmi_get_power_cap_info": {"power_cap": 750000000},
    "amdsmi_get_gpu_device_uuid": "c4ff74a1-0000-1000-80aa-000000000001",
    "amdsmi_get_power_info": {"current_socket_power": 512, "average_socket_power": "N/A"},
    "amdsmi_get_energy_count": {"energy_accumulator": 1000, "counter_resolution": 15.3, "timestamp": 1},
    "amdsmi_get_gpu_activity": {"gfx_activity": 93, "umc_activity": 12, "mm_activity": "N/A"},
    "amdsmi_get_gpu_memory_usage": 5 << 30,
    "amdsmi_get_clock_info": {"clk": 2100, "min_clk": 132, "max_clk": 2100},
    "amdsmi_get_temp_metric": 71,
    "amdsmi_get_gpu_metrics_info": {"ppt_residency_acc": 10, "hbm_thm_residency_acc": 0},
    "amdsmi_get_gpu_process_list": [{"pid": 5, "mem": 1, "memory_usage": {"vram_mem": 100}}],
}


@pytest.fixture
def driver(machine: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """Put a fake amdsmi in place that gives these answers, one set for each GPU; an Exception is raised."""
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    machine.write("sys/module/amdgpu/version", "6.12.12")

    def install(*gpus: dict[str, Any], starts: bool = True) -> ModuleType:
        module = ModuleType("amdsmi")

        class AmdSmiException(Exception):  # noqa: N818 - its real name
            pass

        def start() -> None:
            if not starts:
                raise AmdSmiException("AMDSMI_STATUS_DRIVER_NOT_LOADED")

        def answer(function: str) -> Callable[..., Any]:
            def call(gpu: dict[str, Any], *_: Any) -> Any:
                if function not in gpu:
                    raise AmdSmiException("AMDSMI_STATUS_NOT_SUPPORTED")
                return gpu[function]

            return call

        for function in MI300X:
            setattr(module, function, answer(function))
        kinds = {
            "AmdSmiMemoryType": "VRAM",
            "AmdSmiClkType": "GFX MEM",
            "AmdSmiTemperatureType": "HOTSPOT",
            "AmdSmiTemperatureMetric": "CURRENT",
        }
        module.__dict__.update({name: Enum(name, members) for name, members in kinds.items()})  # type: ignore[misc]
        module.__dict__.update(AmdSmiException=AmdSmiException, amdsmi_init=start)
        module.__dict__.update(amdsmi_get_processor_handles=lambda: list(gpus))
        monkeypatch.setitem(sys.modules, "amdsmi", module)
        return module

    return install


def test_the_columns_are_those_of_nvidia_with_a_fake_library(machine: Any, driver: Any) -> None:
    gpu = dict(MI300X)
    driver(gpu)
    source = Amd(machine.host)
    assert machine.values(source) == {
        "gpu0.utilisation_percent": 93,
        "gpu0.memory_used_bytes": 5 << 30,
        "gpu0.clock_sm_mhz": 2100,
        "gpu0.clock_memory_mhz": 2100,
        "gpu0.temperature_c": 71,
        "gpu0.throttle_reasons": 0,
    }
    assert source.facts()["gpus"][0]["name"] == "AMD Instinct MI300X"
    assert source.facts()["gpus"][0]["power_limit_w"] == 750
    gpu["amdsmi_get_gpu_metrics_info"] = {"ppt_residency_acc": 11, "hbm_thm_residency_acc": 5}
    assert machine.values(source)["gpu0.throttle_reasons"] == POWER_CAP | HARDWARE_THERMAL
    assert machine.values(source)["gpu0.throttle_reasons"] == 0  # nothing more since then
    told = gpu.pop("amdsmi_get_gpu_metrics_info")
    assert machine.values(source)["gpu0.throttle_reasons"] is None
    gpu["amdsmi_get_gpu_metrics_info"] = told
    assert machine.values(source)["gpu0.throttle_reasons"] == 0, "what was counted before is no news"


def test_gpus_stay_open_from_run_to_run_and_what_was_counted_before_a_run_is_no_news(machine: Any, driver: Any) -> None:
    gpu = dict(MI300X)
    library = driver(gpu)
    opened: list[object] = []
    handles = library.amdsmi_get_processor_handles
    library.amdsmi_get_processor_handles = lambda: opened.append(None) or handles()
    machine.values(Amd(machine.host))
    gpu["amdsmi_get_gpu_metrics_info"] = {"ppt_residency_acc": 11, "hbm_thm_residency_acc": 5}
    later = Amd(machine.host), AmdEnergy(machine.host)
    assert machine.values(later[0])["gpu0.throttle_reasons"] == 0
    assert len(opened) == 1


def test_energy_is_the_count_times_its_resolution_with_a_fake_library(machine: Any, driver: Any) -> None:
    gpu = dict(MI300X)
    driver(gpu)
    source = AmdEnergy(machine.host)
    assert machine.values(source) == {"gpu0.power_w": 512, "gpu0.energy_mj": 0, "gpu0.energy_resets": 0}
    gpu["amdsmi_get_energy_count"] = {"energy_accumulator": 1001000, "counter_resolution": 15.3, "timestamp": 2}
    assert machine.values(source)["gpu0.energy_mj"] == pytest.approx(15300)
    meter = source.facts()["meters"][0]
    assert meter["power_sensor"] == "amd current power"
    assert {meter["power_sensor"], meter["counter_sensor"]} <= SENSORS.keys()


def test_older_libraries_and_gpus_use_other_names_with_a_fake_library(machine: Any, driver: Any) -> None:
    gpu = {
        **MI300X,
        "amdsmi_get_energy_count": {"power": 1000, "counter_resolution": 15.3, "timestamp": 1},
        "amdsmi_get_power_info": {"current_socket_power": "N/A", "average_socket_power": 94},
        "amdsmi_get_clock_info": {"cur_clk": 1700},
        "amdsmi_get_gpu_metrics_info": {"ppt_residency_acc": "N/A", "indep_throttle_status": True},
    }
    driver(gpu)
    energy = AmdEnergy(machine.host)
    assert machine.values(energy)["gpu0.power_w"] == 94
    assert machine.values(energy)["gpu0.energy_mj"] == 0
    assert energy.facts()["meters"][0]["power_sensor"] == "amd average power"
    values = machine.values(Amd(machine.host))
    assert values["gpu0.clock_sm_mhz"] == 1700
    assert values["gpu0.throttle_reasons"] is None, "heat or the power limit, and the limit holds back every busy GPU"


def test_what_a_gpu_does_not_have_is_null_with_a_fake_library(machine: Any, driver: Any) -> None:
    driver({"amdsmi_get_gpu_device_uuid": "a", "amdsmi_get_power_info": {"average_socket_power": "N/A"}})
    values = [*Amd(machine.host).read(), *AmdEnergy(machine.host).read()]
    assert values == [None] * 8 + [0]


def test_the_gpus_of_the_job_are_chosen_with_a_fake_library(
    machine: Any, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver(*({**MI300X, "amdsmi_get_gpu_device_uuid": name} for name in "abc"))
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "2,0")
    assert [gpu["uuid"] for gpu in Amd(machine.host).facts()["gpus"]] == ["c", "a"]
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "3")
    with pytest.raises(Absent, match="no AMD GPU among ROCR_VISIBLE_DEVICES=3"):
        Amd(machine.host)


def test_a_missing_driver_or_library_is_told_with_a_fake_library(
    machine: Any, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver(starts=False)
    with pytest.raises(Absent, match="does not start: AMDSMI_STATUS_DRIVER_NOT_LOADED"):
        Amd(machine.host)
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    with pytest.raises(Absent, match="pip install /opt/rocm/share/amd_smi"):
        Amd(machine.host)
    machine.remove("sys/module/amdgpu/version")
    (machine.root / "sys/module/amdgpu").rmdir()
    with pytest.raises(Absent, match="no AMD GPU driver"):
        Amd(machine.host)
