"""NVIDIA's GPUs, read by NVML (package nvidia-ml-py, imported as pynvml)."""

import os
import sys
import uuid
from functools import lru_cache
from typing import Any, Dict, List, Optional, Sequence

from ....core.variables.worker import PCI_BUS_ID
from ...host import gpus as cuda
from .. import power_sensors
from .base import Absent, HostView, Values
from .gpu import Gpu, GpuEnergy, GpuProcesses, GpuState, Power, Process, chosen

_VISIBLE, _ORDER = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
_DRIVER_SIGNS = ("proc/driver/nvidia", "dev/nvidiactl", "dev/dxg")  # the last one exists in WSL

# By CUDA's compute capability: power sensors differ between the chips of a generation.
_ARCHITECTURES = {
    (3,): "kepler",
    (5,): "maxwell",
    (6,): "pascal",
    (7, 0): "volta",
    (7, 2): "volta",
    (7, 5): "turing",
    (8, 0): "ampere-ga100",
    (8, 6): "ampere",
    (8, 7): "ampere",
    (8, 9): "ada",
    (9,): "hopper",
    (10,): "blackwell",
    (12,): "blackwell",
}
# Functions of which a driver has at least one: the current one, and one for drivers before 510.
_REASONS = ("nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetCurrentClocksEventReasons")
_TEMPERATURE = ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV")
_PROCESSES = ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v2")
# NVML_FI_DEV_POWER_INSTANT and NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION of nvml.h: old versions of pynvml lack the first.
_FIELDS = (186, 83)
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # of nvmlValue_t, by nvmlValueType_t
_MIG_REMARK = "of the whole GPU, including other MIG instances"
_SHARED_MODULE_REMARK = "a Grace superchip: the reading may contain its CPU and memory"


class NvidiaGpu(Gpu):
    """A GPU as NVML describes it."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        capability = self._ask("nvmlDeviceGetCudaComputeCapability")
        limit_mw = self._ask("nvmlDeviceGetEnforcedPowerLimit")
        mig = self._ask("nvmlDeviceGetMigMode")
        name = _text(self._ask("nvmlDeviceGetName"))
        architecture = _architecture(capability)
        self.uuid = _text(self._ask("nvmlDeviceGetUUID")) or ""
        self._instant = self._field_values()[0] is not None
        self._reasons = self._first(*_REASONS)
        self._temperature = self._first(*_TEMPERATURE, nvml.NVML_TEMPERATURE_GPU)
        self._processes = self._first(*_PROCESSES)
        self.power_sensor = power_sensors.nvidia_power(architecture, self._instant)
        self.energy_sensor = power_sensors.nvidia_counter(architecture)
        if mig and mig[0]:
            self.remark = _MIG_REMARK
        elif "GH200" in (name or "") or "GB200" in (name or ""):
            self.remark = _SHARED_MODULE_REMARK
        self.description = {
            "name": name,
            "uuid": self.uuid,
            "architecture": architecture,
            "driver": _text(_quiet(nvml, nvml.nvmlSystemGetDriverVersion)),
            "power_limit_w": None if limit_mw is None else limit_mw / 1e3,
            "power_sensor": self.power_sensor,
            "mig": bool(mig and mig[0]),
        }

    def state(self) -> Values:
        utilisation, memory = self._ask("nvmlDeviceGetUtilizationRates"), self._ask("nvmlDeviceGetMemoryInfo")
        return [
            None if utilisation is None else utilisation.gpu,
            None if memory is None else memory.used,
            self._ask("nvmlDeviceGetClockInfo", self._nvml.NVML_CLOCK_SM),
            self._ask("nvmlDeviceGetClockInfo", self._nvml.NVML_CLOCK_MEM),
            self._ask(self._temperature, self._nvml.NVML_TEMPERATURE_GPU),
            self._ask(self._reasons),
        ]

    def power(self) -> Power:
        if self._instant:
            power_mw, energy_mj = self._field_values()  # both in one call
        else:
            power_mw, energy_mj = self._ask("nvmlDeviceGetPowerUsage"), None
        if energy_mj is None:
            energy_mj = self._ask("nvmlDeviceGetTotalEnergyConsumption")
        return Power(None if power_mw is None else power_mw / 1e3, energy_mj)

    def processes(self) -> Optional[List[Process]]:
        running = self._ask(self._processes)
        return None if running is None else [Process(each.pid, each.usedGpuMemory) for each in running]

    def _field_values(self) -> List[Optional[float]]:
        """Return instantaneous power in mW, and total energy in mJ; both since driver 530."""
        nvml = self._nvml
        found = self._ask("nvmlDeviceGetFieldValues", list(_FIELDS))
        if found is None:
            return [None, None]
        return [
            getattr(each.value, _MEMBERS[each.valueType])
            if each.nvmlReturn == nvml.NVML_SUCCESS and each.valueType < len(_MEMBERS)
            else None
            for each in found
        ]

    def _first(self, usual: str, other: str, *arguments: Any) -> str:
        """Return the one of two functions that this driver has."""
        return other if self._ask(usual, *arguments) is None and self._ask(other, *arguments) is not None else usual

    def _ask(self, function: str, *arguments: Any) -> Any:
        call = getattr(self._nvml, function, None)
        return _quiet(self._nvml, call, self._handle, *arguments) if call else None


def _quiet(nvml: Any, call: Any, *arguments: Any) -> Any:
    """Return NVML's result; None if it is not available for this GPU, driver or user, or not at this moment."""
    # The second error, which is not an NVMLError, means that this version of pynvml is too new for the driver.
    try:
        return call(*arguments)
    except (nvml.NVMLError, getattr(nvml, "NVMLLibraryMismatchError", nvml.NVMLError)):
        return None


def find(host: HostView) -> List[Gpu]:
    """Return the GPUs that the job may use. Raise Absent if there are none."""
    nvml = _library(host)
    gpus = _opened(nvml)
    uuids = [gpu.uuid for gpu in gpus]
    visible = os.environ.get(_VISIBLE)
    indices = chosen(_whole_gpus(nvml, visible if _by_pci() else _in_order_of_cuda(uuids)), uuids)
    if not indices:
        named = "" if visible is None else " among %s=%s" % (_VISIBLE, visible)
        raise Absent("the driver shows no NVIDIA GPU%s" % named)
    return [gpus[index] for index in indices]


def _by_pci() -> bool:
    """Return whether CUDA numbers GPUs by PCI bus, as NVML and Slurm do: workers get this order by default."""
    return os.environ.get(_ORDER, PCI_BUS_ID) == PCI_BUS_ID


def _in_order_of_cuda(uuids: Sequence[str]) -> str:
    """Return the UUIDs of the visible GPUs, in the order of CUDA. Raise Absent if CUDA does not report them."""
    ids = [cuda.identity(index) for index in range(cuda.count())]
    if not ids or None in ids:
        reason = "%s=%s, and CUDA does not report the order of the GPUs" % (_ORDER, os.environ[_ORDER])
        raise Absent("%s: set it to %s, the order of NVML" % (reason, PCI_BUS_ID))
    named = [str(uuid.UUID(each)) for each in ids if each]
    return ",".join("GPU-%s" % each if "GPU-%s" % each in uuids else "MIG-%s" % each for each in named)


def _library(host: HostView) -> Any:
    if not any(os.path.exists(host.path(sign)) for sign in _DRIVER_SIGNS):
        raise Absent("no NVIDIA driver on this node")
    try:
        import pynvml  # imported late: it takes a tenth of a second
    except ImportError:
        raise Absent("%s lacks NVML's package: pip install nvidia-ml-py" % sys.executable) from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise Absent("the NVIDIA driver does not respond: %s" % error) from None
    return pynvml


@lru_cache(maxsize=None)
def _opened(nvml: Any) -> List[NvidiaGpu]:
    """Return the GPUs that can be opened, once for all runs of a job: Slurm's cgroup hides those of other jobs."""
    count = _quiet(nvml, nvml.nvmlDeviceGetCount) or 0
    handles = [_quiet(nvml, nvml.nvmlDeviceGetHandleByIndex, index) for index in range(count)]
    return [NvidiaGpu(nvml, handle) for handle in handles if handle is not None]


def _whole_gpus(nvml: Any, text: Optional[str]) -> Optional[str]:
    """Return CUDA_VISIBLE_DEVICES with each MIG instance replaced by its GPU."""
    if text is None or "MIG-" not in text:
        return text
    words = []
    for word in text.split(","):
        part = _quiet(nvml, nvml.nvmlDeviceGetHandleByUUID, word.strip()) if word.strip().startswith("MIG-") else None
        whole = _quiet(nvml, nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle, part) if part is not None else None
        name = _quiet(nvml, nvml.nvmlDeviceGetUUID, whole) if whole is not None else None
        words.append(_text(name) or word)
    return ",".join(words)


def _architecture(capability: Any) -> Optional[str]:
    """Return the architecture, or None if it is newer than this table."""
    if capability is None:
        return None
    known: Dict[Any, str] = _ARCHITECTURES
    return known.get(tuple(capability)) or known.get((capability[0],))


def _text(answer: Any) -> Optional[str]:
    return answer.decode() if isinstance(answer, bytes) else answer  # bytes, in old versions of pynvml


class Nvidia(GpuState):
    """The state of NVIDIA's GPUs."""

    name = "nvidia"
    find = staticmethod(find)


class NvidiaEnergy(GpuEnergy):
    """Power and energy of NVIDIA's GPUs."""

    name = "nvidia_energy"
    find = staticmethod(find)


class NvidiaProcesses(GpuProcesses):
    """Processes on NVIDIA's GPUs."""

    name = "nvidia_processes"
    find = staticmethod(find)
