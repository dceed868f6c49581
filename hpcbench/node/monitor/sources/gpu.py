"""The columns of a GPU of any vendor, and the sources that read them.

nvidia.py and amd.py call the vendors' libraries.
"""

import os
from abc import ABC, abstractmethod
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set

from ..counters import Counter
from ..power_sensors import Meter
from .base import COUNTER, GAUGE, HostView, Source, Values

# The GPUs that a process may use: the first of these that is set. On NVIDIA nodes, only the last one applies.
VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")

ENERGY_SHARE = 0.01  # fraction of one core for each GPU: ten calls of 1 ms per second
_FIRST_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO of Linux' include/linux/proc_ns.h


class Power(NamedTuple):
    """The power of a GPU now, and its energy so far."""

    power_w: Optional[float]
    energy_mj: Optional[float]  # since the driver was loaded


class Process(NamedTuple):
    """A process that computes on a GPU."""

    pid: int
    memory_bytes: Optional[int]


class Gpu(ABC):
    """One GPU. A value that cannot be read is None; no method raises."""

    description: Dict[str, Any]  # name, uuid, architecture, driver, power_limit_w, ...
    power_sensor: str  # in power_sensors.py
    energy_sensor: str
    remark: Optional[str] = None  # on its energy, for the record

    def forget(self) -> None:  # noqa: B027 - most keep nothing
        """Forget the readings of an earlier run."""

    @abstractmethod
    def state(self) -> Values:
        """Return one value for each of STATE."""

    @abstractmethod
    def power(self) -> Power:
        """Return the current power in W, and the energy so far in mJ."""

    @abstractmethod
    def processes(self) -> Optional[List[Process]]:
        """Return the processes that compute on the GPU; None if they cannot be read."""


STATE = (
    "utilisation_percent",
    "memory_used_bytes",
    "clock_sm_mhz",
    "clock_memory_mhz",
    "temperature_c",
    "throttle_reasons",
)


class _GpuSource(Source):
    """A source with the columns of each GPU. `gpuK` is the index among the GPUs that the job may use."""

    find: Callable[[HostView], List[Gpu]]  # raises Absent
    each: Dict[str, str] = {}  # columns of one GPU, without its name

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._gpus = type(self).find(host)
        self.columns = {
            "gpu%d.%s" % (index, name): kind for index in range(len(self._gpus)) for name, kind in self.each.items()
        }


class GpuState(_GpuSource):
    """Utilization, memory, clocks, temperature and throttle reasons of each GPU."""

    each = dict.fromkeys(STATE, GAUGE)

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        for gpu in self._gpus:
            gpu.forget()

    def read(self) -> Values:
        return [value for gpu in self._gpus for value in gpu.state()]

    def facts(self) -> Dict[str, Any]:
        return {"gpus": [gpu.description for gpu in self._gpus]}


class GpuEnergy(_GpuSource):
    """Power and energy of each GPU, in a source of its own, so that their readings are close together.

    This source may use more CPU time than others: a call may take 1 ms, and with readings more than 1 s apart, runs of
    10 s would have no energy (energy.NEEDED).
    """

    each = {"power_w": GAUGE, "energy_mj": COUNTER, "energy_resets": COUNTER}

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self.share = ENERGY_SHARE * len(self._gpus)
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
    """Processes that compute on a GPU and do not belong to the run.

    A process that has started since the last search for the run's processes may be one of them, and does not count yet.
    The server of NVIDIA's MPS does not count either, but its clients do.

    In a container with its own PID namespace, some drivers report process IDs of the node, others those of the
    container, and only its processes (`_gpuConvertPid` in NVIDIA's open kernel modules). Other processes are therefore
    unknown there until a process of the run is among the reported ones.
    """

    each = {"foreign_processes": GAUGE, "foreign_memory_bytes": GAUGE}
    period_s = 1.0

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._contained = _namespace(host) != _FIRST_NAMESPACE
        self._knows_ids = not self._contained
        self._own: List[int] = []
        self._seen: List[Set[int]] = [set() for _ in self._gpus]  # strangers in the last reading
        self._looked_at: List[Set[int]] = self._seen  # and in the last one before the own processes were searched

    def read(self) -> Values:
        values: Values = []
        if self.host.own.pids is not self._own:  # each search makes another list
            self._own, self._looked_at = self.host.own.pids, list(self._seen)
        own = set(self._own)
        running = [gpu.processes() for gpu in self._gpus]
        self._knows_ids = self._knows_ids or self._shows_own(running, own)
        for index, processes in enumerate(running):
            if processes is None or not self._knows_ids:
                values += [None, None]
                continue
            strangers = [each for each in processes if each.pid not in own and not self._serves(each.pid)]
            stayed = [each for each in strangers if each.pid in self._looked_at[index]]
            self._seen[index] = {each.pid for each in strangers}
            values += [len(stayed), _sum([each.memory_bytes for each in stayed])]
        return values

    def facts(self) -> Dict[str, Any]:
        return {"own_container_only": self._contained}

    def _shows_own(self, running: List[Optional[List[Process]]], own: Set[int]) -> bool:
        """Return whether the driver reports process IDs of this container: all exist here, and one is of the run."""
        reported = {each.pid for processes in running for each in processes or ()}
        return not reported.isdisjoint(own) and all(
            os.path.exists(self.host.path("proc", str(pid))) for pid in reported
        )

    def _serves(self, pid: int) -> bool:
        path = self.host.path("proc", str(pid), "comm")
        name = self.host.files.read(path)
        self.host.files.forget(path)
        return name.startswith(b"nvidia-cuda-mps")


def chosen(text: Optional[str], uuids: Sequence[str]) -> List[int]:
    """Return the indices of the GPUs that a variable such as CUDA_VISIBLE_DEVICES names, by number or start of a UUID.

    Unset means all of them. As in CUDA, the first word that names no GPU ends the list.
    """
    if text is None:
        return list(range(len(uuids)))
    indices: List[int] = []
    for word in text.split(","):
        index = _index(word.strip(), uuids)
        if index is None:
            break
        if index not in indices:
            indices.append(index)
    return indices


def _index(word: str, uuids: Sequence[str]) -> Optional[int]:
    if word.isdigit():
        return int(word) if int(word) < len(uuids) else None
    matching = [index for index, uuid in enumerate(uuids) if word and uuid.lower().startswith(word.lower())]
    return matching[0] if len(matching) == 1 else None


def _namespace(host: HostView) -> Optional[str]:
    try:
        return os.readlink(host.path("proc/self/ns/pid"))
    except OSError:
        return None


def _sum(sizes: List[Optional[int]]) -> Optional[int]:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
