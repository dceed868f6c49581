"""The clocks and power limits of NVIDIA's GPUs, by NVML (package nvidia-ml-py, imported as pynvml)."""

import sys
from typing import Any, Callable, ClassVar, Dict, List, Optional, Tuple

from ...core.profiling.device_state import DeviceState
from .control import LOWEST_FRACTION, Control, NotPermitted, spread

_UNSUPPORTED = "not supported by this GPU or driver, or it requires root"


class _NvidiaGpu:
    """A GPU, by its UUID in NVML's notation, such as `GPU-...`."""

    def __init__(self, uuid: str) -> None:
        """Open the GPU. Raise NotPermitted if NVML or the GPU is not available."""
        try:
            import pynvml
        except ImportError:
            raise NotPermitted("%s lacks NVML's package: pip install nvidia-ml-py" % sys.executable) from None
        self.uuid, self.nvml = uuid, pynvml
        self.call(pynvml.nvmlInit)
        self.handle = self.call(pynvml.nvmlDeviceGetHandleByUUID, uuid)

    def ask(self, function: str, *arguments: Any) -> Any:
        """Return the result of a function of NVML for this GPU. Raise NotPermitted if it fails."""
        call = getattr(self.nvml, function, None)
        if call is None:
            raise NotPermitted("this version of nvidia-ml-py has no %s" % function)
        return self.call(call, self.handle, *arguments)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return NVML's result. Raise NotPermitted with its reason if there is none."""
        try:
            return function(*arguments)
        except self.nvml.NVMLError as error:
            raise NotPermitted("%s: %s" % (function.__name__, error)) from None

    def clock_mhz(self) -> Optional[float]:
        """Return the SM clock, or None if it is unknown."""
        try:
            return float(self.ask("nvmlDeviceGetClockInfo", self.nvml.NVML_CLOCK_SM))
        except NotPermitted:
            return None

    def accept(self, change: Callable[[], Any]) -> None:
        """Make a change that has no effect, to find out whether changes are permitted. Raise NotPermitted if not."""
        try:
            change()
        except NotPermitted as error:
            raise NotPermitted("%s (%s)" % (error, _UNSUPPORTED)) from None


class LockedClocks(Control):
    """The SM clock, locked to one frequency. The driver does not report an earlier lock: restoring removes any lock."""

    method: ClassVar[str] = "locked clocks"
    remark: ClassVar[str] = "NVML does not report locks of the GPU's clocks: if there was one before, it is removed"

    def __init__(self, uuid: str) -> None:
        """Open the GPU. Raise NotPermitted if its clocks cannot be locked."""
        self._gpu = _NvidiaGpu(uuid)
        fastest_memory = max(self._gpu.ask("nvmlDeviceGetSupportedMemoryClocks"))
        self._clocks_mhz: List[int] = list(self._gpu.ask("nvmlDeviceGetSupportedGraphicsClocks", fastest_memory))
        self._gpu.accept(lambda: self._gpu.ask("nvmlDeviceResetGpuLockedClocks"))

    def states(self, number: int) -> List[DeviceState]:
        lowest = LOWEST_FRACTION * max(self._clocks_mhz)
        return [DeviceState(mhz, clock_method=self.method) for mhz in spread(self._clocks_mhz, number, lowest)]

    def apply(self, state: DeviceState) -> None:
        self._gpu.ask("nvmlDeviceSetGpuLockedClocks", state.requested_clock_mhz, state.requested_clock_mhz)

    def saved(self) -> Dict[str, Any]:
        return {"method": self.method, "uuid": self._gpu.uuid}

    @staticmethod
    def restore(saved: Dict[str, Any]) -> None:
        _NvidiaGpu(str(saved["uuid"])).ask("nvmlDeviceResetGpuLockedClocks")

    def clock_mhz(self) -> Optional[float]:
        return self._gpu.clock_mhz()


class PowerLimits(Control):
    """The power limit of the board, by which the driver lowers the clock."""

    method: ClassVar[str] = "power limit"

    def __init__(self, uuid: str) -> None:
        """Open the GPU. Raise NotPermitted if its power limit cannot be changed."""
        self._gpu = _NvidiaGpu(uuid)
        self._before_mw: int = self._gpu.ask("nvmlDeviceGetPowerManagementLimit")
        limits: Tuple[int, int] = self._gpu.ask("nvmlDeviceGetPowerManagementLimitConstraints")
        self._lowest_mw, self._highest_mw = limits[0], min(limits[1], self._before_mw)
        self._gpu.accept(lambda: self._gpu.ask("nvmlDeviceSetPowerManagementLimit", self._before_mw))

    def states(self, number: int) -> List[DeviceState]:
        steps = max(number - 1, 1)
        width = (self._highest_mw - self._lowest_mw) / steps
        limits_mw = sorted({self._highest_mw - round(width * step) for step in range(number)})
        return [DeviceState(requested_power_limit_w=limit / 1e3, clock_method=self.method) for limit in limits_mw]

    def apply(self, state: DeviceState) -> None:
        self._gpu.ask("nvmlDeviceSetPowerManagementLimit", round(1e3 * (state.requested_power_limit_w or 0.0)))

    def saved(self) -> Dict[str, Any]:
        return {"method": self.method, "uuid": self._gpu.uuid, "limit_mw": self._before_mw}

    @staticmethod
    def restore(saved: Dict[str, Any]) -> None:
        _NvidiaGpu(str(saved["uuid"])).ask("nvmlDeviceSetPowerManagementLimit", int(saved["limit_mw"]))

    def clock_mhz(self) -> Optional[float]:
        return self._gpu.clock_mhz()
