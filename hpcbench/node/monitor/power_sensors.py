"""The update period, averaging window and error of each kind of power sensor.

- NVIDIA: Yang, Adamek, Armour, "Accurate and convenient energy measurements for GPUs" (SC24; arXiv 2312.02741), 70
  GPUs compared with an external meter: a new value every 20 or 100 ms, averaged over a window that may be shorter (A100
  and H100: 25 of every 100 ms), with an error of up to 5 % of the power, by a factor specific to each board. Ada is
  treated as Turing, Blackwell as Hopper: they were not measured. From Ampere on, except GA100, nvmlDeviceGetPowerUsage
  is the average of one second (NVML's reference). The energy counter is assumed to use the same sensor.
- RAPL: a new value about every millisecond, in steps of 2^-14 J or finer (Intel SDM, volume 3B, RAPL interfaces;
  Haehnel et al., "Measuring energy consumption for short code paths using RAPL", 2012). The error is not published.
- AMD's accelerators and Cray's counters: McDaniel et al., "Fine-grained power and energy attribution on AMD
  GPU/APU-based exascale nodes" (ISC 2026; arXiv 2604.06056): counters every 1 ms and every 100 ms; the power of MI200
  is an average that takes seconds to follow. Cray's power was within 5 % on one system, 1 % on another.
- Grace: the firmware averages over 50 ms or 1 s, as the meter reports it. The error is not published.
"""

from typing import Dict, NamedTuple, Optional


class Sensor(NamedTuple):
    period_s: float  # between two values
    window_s: float = 0.0  # averaging time of a value; 0 for a counter, which adds up
    seen: float = 1.0  # fraction of the time that the sensor covers
    resolution_j: float = 0.0  # the step of a counter
    error: Optional[float] = None  # maximum relative error; None: unknown


class Meter(NamedTuple):
    """The columns of a timeline with the energy of one component of a node: a counter, its power, or both."""

    domain: str  # cpu0, dram0, gpu0, accelerator0, node, ...
    counter: Optional[str] = None  # its column
    joules: float = 1.0  # per count
    resets: Optional[str] = None  # the column with the number of resets of the counter
    counter_sensor: str = ""
    power: Optional[str] = None  # the column with its power in watts
    power_sensor: str = ""
    remark: Optional[str] = None


# Period and window in seconds, by architecture.
_NVIDIA = {
    "kepler": (0.02, 0.2),
    "maxwell": (0.02, 0.2),
    "pascal": (0.02, 0.01),
    "volta": (0.02, 0.01),
    "turing": (0.1, 0.1),
    "ampere-ga100": (0.1, 0.025),
    "ampere": (0.1, 0.1),
    "ada": (0.1, 0.1),
    "hopper": (0.1, 0.025),
    "blackwell": (0.1, 0.025),
}
_AVERAGING = ("ampere", "ada", "hopper", "blackwell")  # nvmlDeviceGetPowerUsage is an average
_AVERAGED_S = 1.0
_NVIDIA_ERROR = 0.05
_UNKNOWN = "blackwell"  # newer architectures are treated as the newest known one

GRACE_FAST, GRACE_SLOW = "grace 50 ms average power", "grace 1 s average power"
SENSORS: Dict[str, Sensor] = {
    "rapl": Sensor(0.001, resolution_j=2**-14),
    "cray": Sensor(0.1, resolution_j=1.0, error=0.05),
    GRACE_FAST: Sensor(0.05, window_s=0.05),
    GRACE_SLOW: Sensor(1.0, window_s=1.0),
    "amd energy counter": Sensor(0.001, resolution_j=15.3e-6),
    "amd current power": Sensor(0.001),
    "amd average power": Sensor(0.001, window_s=5.0),
}
for _name, (_period_s, _window_s) in _NVIDIA.items():
    _seen = min(1.0, _window_s / _period_s)
    SENSORS["nvidia %s energy counter" % _name] = Sensor(_period_s, 0.0, _seen, 1e-3, _NVIDIA_ERROR)
    SENSORS["nvidia %s instant power" % _name] = Sensor(_period_s, _window_s, _seen, error=_NVIDIA_ERROR)
    SENSORS["nvidia %s average power" % _name] = Sensor(_period_s, _AVERAGED_S, _seen, error=_NVIDIA_ERROR)


def nvidia_counter(architecture: Optional[str]) -> str:
    """Return the key in SENSORS of the energy counter of NVIDIA GPUs with this architecture; None is a newer one."""
    return "nvidia %s energy counter" % (architecture or _UNKNOWN)


def nvidia_power(architecture: Optional[str], instant: bool) -> str:
    """Return the key in SENSORS of the power of NVIDIA GPUs with this architecture; None is a newer one.

    `instant` is whether it is read as NVML_FI_DEV_POWER_INSTANT, not by nvmlDeviceGetPowerUsage.
    """
    known = architecture or _UNKNOWN
    return "nvidia %s %s power" % (known, "instant" if instant or known not in _AVERAGING else "average")
