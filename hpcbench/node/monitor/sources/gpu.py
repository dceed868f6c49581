"""What a GPU tells, whoever made it: the columns of each, and the sources that read them.

How a vendor's library is asked is in nvidia.py and amd.py.
"""

import os
from abc import ABC, abstractmethod
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set

from ..counters import Counter
from ..power_sensors import Meter
from .base import COUNTER, GAUGE, Absent, Place, Source, Values

# Which GPUs a process may use: the first that is set. An NVIDIA node has but the last.
VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")

# Why the clock is lower than it could be, in bits: NVML's own (nvmlClocksEventReasons); another vendor's are put in
# these terms. The others tell of nothing amiss: 0x1 of an idle GPU, 0x2 of a clock that somebody has set.
POWER_CAP = 0x4
HARDWARE_SLOWDOWN = 0x8
SOFTWARE_THERMAL = 0x20
HARDWARE_THERMAL = 0x40
POWER_BRAKE = 0x80
HEAT = HARDWARE_SLOWDOWN | SOFTWARE_THERMAL | HARDWARE_THERMAL

_FIRST_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO of Linux' include/linux/proc_ns.h


class Power(NamedTuple):
    power_w: Optional[float]
    energy_mj: Optional[float]  # since the driver was loaded


class Process(NamedTuple):
    pid: int
    memory_bytes: Optional[int]


class Gpu(ABC):
    """One GPU. Each value that cannot be had this time is None; nothing raises."""

    description: Dict[str, Any]  # name, uuid, architecture, driver, power_limit_w, ...
    power_sensor: str  # in power_sensors.py
    energy_sensor: str
    remark: Optional[str] = None  # what to know about its energy

    @abstractmethod
    def state(self) -> Values:
        """One value for each of STATE."""

    @abstractmethod
    def power(self) -> Power:
        """Of now, and energy so far."""

    @abstractmethod
    def processes(self) -> Optional[List[Process]]:
        """Those that compute on it."""


STATE = (
    "utilisation_percent",
    "memory_used_bytes",
    "clock_sm_mhz",
    "clock_memory_mhz",
    "temperature_c",
    "throttle_reasons",
)


class _GpuSource(Source):
    """`gpuK` is the place of the GPU among those that the job may use, as in every framework."""

    find: Callable[[Place], List[Gpu]]  # raises Absent
    each: Dict[str, str] = {}  # columns of one GPU, without its name

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._gpus = type(self).find(place)
        self.columns = {
            "gpu%d.%s" % (index, name): kind for index in range(len(self._gpus)) for name, kind in self.each.items()
        }


class GpuState(_GpuSource):
    each = dict.fromkeys(STATE, GAUGE)

    def read(self) -> Values:
        return [value for gpu in self._gpus for value in gpu.state()]

    def facts(self) -> Dict[str, Any]:
        return {"gpus": [gpu.description for gpu in self._gpus]}


class GpuEnergy(_GpuSource):
    """Power and energy, apart from the rest: they need few calls, and their readings should lie close together."""

    each = {"power_w": GAUGE, "energy_mj": COUNTER, "energy_resets": COUNTER}

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._counters = [Counter() for _ in self._gpus]

    def read(self) -> Values:
        values: Values = []
        for gpu, counter in zip(self._gpus, self._counters):
            power = gpu.power()
            values += [power.power_w, None if power.energy_mj is None else counter.add(power.energy_mj), counter.resets]
        return values

    def facts(self) -> Dict[str, Any]:
        meters = [
            Meter(
                "gpu%d" % index,
                counter="gpu%d.energy_mj" % index,
                joules=1e-3,
                resets="gpu%d.energy_resets" % index,
                counter_sensor=gpu.energy_sensor,
                power="gpu%d.power_w" % index,
                power_sensor=gpu.power_sensor,
                remark=gpu.remark,
            )
            for index, gpu in enumerate(self._gpus)
        ]
        return {"meters": [meter._asdict() for meter in meters]}


class GpuProcesses(_GpuSource):
    """Processes that compute on a GPU and are not the repetition's.

    One that was not there yet at the last look for the repetition's own may be one of them, and does not count. The
    server of NVIDIA's MPS does not either; its clients do.
    """

    each = {"foreign_processes": GAUGE, "foreign_memory_bytes": GAUGE}
    period_s = 1.0

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        if _namespace(place) != _FIRST_NAMESPACE:
            raise Absent("in a container with process numbers of its own: the driver tells the node's")
        self._own: List[int] = []
        self._seen: List[Set[int]] = [set() for _ in self._gpus]  # strangers in the last reading
        self._looked_at: List[Set[int]] = self._seen  # and in the last before own processes were looked for

    def read(self) -> Values:
        values: Values = []
        if self.place.own.pids is not self._own:  # each look for processes makes another list
            self._own, self._looked_at = self.place.own.pids, list(self._seen)
        own = set(self._own)
        for index, gpu in enumerate(self._gpus):
            processes = gpu.processes()
            if processes is None:
                values += [None, None]
                continue
            strangers = [each for each in processes if each.pid not in own and not self._serves(each.pid)]
            stayed = [each for each in strangers if each.pid in self._looked_at[index]]
            self._seen[index] = {each.pid for each in strangers}
            values += [len(stayed), _sum([each.memory_bytes for each in stayed])]
        return values

    def _serves(self, pid: int) -> bool:
        path = self.place.path("proc", str(pid), "comm")
        name = self.place.files.read(path)
        self.place.files.forget(path)
        return name.startswith(b"nvidia-cuda-mps")


def chosen(text: Optional[str], uuids: Sequence[str]) -> List[int]:
    """The places of the GPUs that a variable such as CUDA_VISIBLE_DEVICES names: by number, or by the start of a uuid.

    Unset is all of them. As in CUDA, what follows the first word that names none does not count.
    """
    if text is None:
        return list(range(len(uuids)))
    places: List[int] = []
    for word in text.split(","):
        place = _place(word.strip(), uuids)
        if place is None:
            break
        if place not in places:
            places.append(place)
    return places


def _place(word: str, uuids: Sequence[str]) -> Optional[int]:
    if word.isdigit():
        return int(word) if int(word) < len(uuids) else None
    matching = [place for place, uuid in enumerate(uuids) if word and uuid.lower().startswith(word.lower())]
    return matching[0] if len(matching) == 1 else None


def _namespace(place: Place) -> Optional[str]:
    try:
        return os.readlink(place.path("proc/self/ns/pid"))
    except OSError:
        return None


def _sum(sizes: List[Optional[int]]) -> Optional[int]:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
