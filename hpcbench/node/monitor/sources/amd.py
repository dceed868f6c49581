"""AMD's GPUs, read by AMD SMI (package amdsmi, which comes with ROCm)."""

import contextlib
import io
import os
import sys
from functools import lru_cache
from typing import Any, Dict, List, Optional

from ..throttle_reasons import HARDWARE_SLOWDOWN, HARDWARE_THERMAL, POWER_CAP
from .base import Absent, HostView, Values
from .gpu import (
    VISIBLE,
    Gpu,
    GpuEnergy,
    GpuProcesses,
    GpuState,
    Power,
    Process,
    chosen,
)

# Throttling times of MI300 and later, as NVML's bits. amdsmi_get_violation_status has them, too, but sleeps 0.1 s.
_RESIDENCIES = {
    "ppt_residency_acc": POWER_CAP,
    "prochot_residency_acc": HARDWARE_SLOWDOWN,
    "socket_thm_residency_acc": HARDWARE_THERMAL,
    "vr_thm_residency_acc": HARDWARE_THERMAL,
    "hbm_thm_residency_acc": HARDWARE_THERMAL,
}
_PACKAGE_REMARK = "of the whole package: both dies of an MI250X, the CPU cores of an MI300A, too"


class AmdGpu(Gpu):
    """A GPU as AMD SMI describes it."""

    remark = _PACKAGE_REMARK

    def __init__(self, smi: Any, handle: Any) -> None:
        self._smi, self._handle = smi, handle
        self._times: Dict[str, float] = {}
        asic = self._ask("amdsmi_get_gpu_asic_info") or {}
        driver = self._ask("amdsmi_get_gpu_driver_info") or {}
        cap_uw = _number((self._ask("amdsmi_get_power_cap_info") or {}).get("power_cap"))
        self.uuid = self._ask("amdsmi_get_gpu_device_uuid") or ""
        self._power_key = _power_key(self._ask("amdsmi_get_power_info") or {})
        self.power_sensor = "amd current power" if self._power_key == "current_socket_power" else "amd average power"
        self.energy_sensor = "amd energy counter"
        self.description: Dict[str, Any] = {
            "name": asic.get("market_name"),
            "uuid": self.uuid,
            "architecture": asic.get("target_graphics_version"),
            "driver": driver.get("driver_version"),
            "power_limit_w": None if cap_uw is None else cap_uw / 1e6,
            "power_sensor": self.power_sensor,
        }

    def forget(self) -> None:
        self._times.clear()

    def state(self) -> Values:
        smi = self._smi
        return [
            _number((self._ask("amdsmi_get_gpu_activity") or {}).get("gfx_activity")),
            _number(self._ask("amdsmi_get_gpu_memory_usage", smi.AmdSmiMemoryType.VRAM)),
            self._clock(smi.AmdSmiClkType.GFX),
            self._clock(smi.AmdSmiClkType.MEM),
            self._temperature(),
            self._reasons(),
        ]

    def power(self) -> Power:
        power_w = _number((self._ask("amdsmi_get_power_info") or {}).get(self._power_key))
        count = self._ask("amdsmi_get_energy_count") or {}
        energy = _number(count.get("energy_accumulator", count.get("power")))  # renamed in 6.2
        resolution_uj = _number(count.get("counter_resolution"))
        energy_mj = None if energy is None or resolution_uj is None else energy * resolution_uj / 1e3
        return Power(power_w, energy_mj)

    def processes(self) -> Optional[List[Process]]:
        running = self._ask("amdsmi_get_gpu_process_list")
        if running is None:
            return None
        return [
            Process(int(each["pid"]), _whole(each.get("memory_usage", {}).get("vram_mem", each.get("mem"))))
            for each in running
        ]

    def _clock(self, kind: Any) -> Optional[float]:
        found = self._ask("amdsmi_get_clock_info", kind) or {}
        return _number(found.get("clk", found.get("cur_clk")))  # renamed in 6.2

    def _temperature(self) -> Optional[float]:
        """Return the hottest temperature of the chip in degrees Celsius; Instinct has no edge sensor."""
        kinds, current = self._smi.AmdSmiTemperatureType, self._smi.AmdSmiTemperatureMetric.CURRENT
        return _number(self._ask("amdsmi_get_temp_metric", kinds.HOTSPOT, current))

    def _reasons(self) -> Optional[int]:
        metrics = self._ask("amdsmi_get_gpu_metrics_info") or {}
        found = {name: _number(metrics.get(name)) for name in _RESIDENCIES}
        known = {name: time for name, time in found.items() if time is not None}
        if not known:  # MI200 and older report only whether the clock is limited; under load it always is
            return None
        bits = 0
        for name, time in known.items():
            bits |= _RESIDENCIES[name] if time > self._times.get(name, time) else 0
        self._times.update(known)
        return bits

    def _ask(self, function: str, *arguments: Any) -> Any:
        """Return the library's result, or None if it has none. Its own bindings fail if versions differ."""
        try:
            return getattr(self._smi, function)(self._handle, *arguments)
        except (self._smi.AmdSmiException, AttributeError, KeyError, TypeError, ValueError, OSError):
            return None


def _power_key(answer: Dict[str, Any]) -> str:
    """Return the key of the current power (Instinct MI300), or of an average (MI200 and older)."""
    current = "current_socket_power"
    return current if _number(answer.get(current)) else "average_socket_power"


def find(host: HostView) -> List[Gpu]:
    """Return the GPUs that the job may use. Raise Absent if there are none."""
    smi = _library(host)
    try:
        gpus = _opened(smi)
    except (smi.AmdSmiException, AttributeError) as error:
        raise Absent("AMD SMI does not list the GPUs: %s" % error) from None
    name = next((name for name in VISIBLE if name in os.environ), VISIBLE[0])
    indices = chosen(os.environ.get(name), [gpu.uuid for gpu in gpus])
    if not indices:
        raise Absent("the driver shows no AMD GPU" + (" among %s=%s" % (name, os.environ[name]) if gpus else ""))
    return [gpus[index] for index in indices]


@lru_cache(maxsize=None)
def _opened(smi: Any) -> List[AmdGpu]:
    """Return the GPUs, opened once for all runs of a job."""
    return [AmdGpu(smi, handle) for handle in smi.amdsmi_get_processor_handles()]


def _library(host: HostView) -> Any:
    if not os.path.exists(host.path("sys/module/amdgpu")):
        raise Absent("no AMD GPU driver on this node")
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints a message if its library is missing
            import amdsmi
    except ImportError:
        raise Absent("%s lacks AMD SMI: pip install /opt/rocm/share/amd_smi" % sys.executable) from None
    except (OSError, KeyError, AttributeError) as error:
        raise Absent("the package amdsmi does not match the ROCm version of this node: %s" % error) from None
    try:
        amdsmi.amdsmi_init()
    except amdsmi.AmdSmiException as error:
        raise Absent("AMD SMI does not start: %s" % error) from None
    return amdsmi


def _number(answer: Any) -> Optional[float]:
    """Return a number, or None for `N/A`."""
    return answer if isinstance(answer, (int, float)) and not isinstance(answer, bool) else None


def _whole(answer: Any) -> Optional[int]:
    return answer if isinstance(answer, int) else None


class Amd(GpuState):
    """The state of AMD's GPUs."""

    name = "amd"
    find = staticmethod(find)


class AmdEnergy(GpuEnergy):
    """Power and energy of AMD's GPUs."""

    name = "amd_energy"
    find = staticmethod(find)


class AmdProcesses(GpuProcesses):
    """Processes on AMD's GPUs."""

    name = "amd_processes"
    find = staticmethod(find)
