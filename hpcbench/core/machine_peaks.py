"""The peak performance of machines: `hpcbench doctor` measures it, the workspace stores it and rooflines use it."""

from typing import Any, Dict, FrozenSet, NamedTuple, Optional, Tuple


class Peak(NamedTuple):
    """The peak performance of `cpus` CPUs of one node together, each on its own core, or of one GPU if `cpus` is None.

    `flops_per_s` is for matrix products in `dtype`, `bytes_per_s` for Add of STREAM, None if not measured.
    node/checks/peak_kernel.py defines what is counted.
    """

    device: str  # cpu or gpu, as in cases
    cpus: Optional[int]
    dtype: str
    flops_per_s: float
    bytes_per_s: Optional[float]
    measured_by: str  # the library, its version, and its BLAS if known
    host: str
    measured_at: str
    under_load: bool = False  # of CPUs: other processes used them, too, which makes the rates too low


class MachinePeaks(NamedTuple):
    """The peak performance of one type of node: CPU model, number of CPUs, and GPU model, if any.

    The sizes and the maximum clock are for devices without a data sheet; None if unknown.
    """

    cpu_model: str
    cpu_count: int
    gpu_model: Optional[str]
    measurements: Tuple[Peak, ...]
    memory_bytes: Optional[int] = None
    cache_bytes: Optional[int] = None  # of all last-level caches of the CPUs together
    clock_mhz: Optional[float] = None
    other_hosts: Tuple[str, ...] = ()  # other nodes of this type that were measured; their peaks were lower

    @property
    def hosts(self) -> FrozenSet[str]:
        """Return the nodes of this type that were measured."""
        return frozenset(self.other_hosts) | {peak.host for peak in self.measurements}

    def as_data(self) -> Dict[str, Any]:
        """Return the measurements as a dict for JSON."""
        return {**self._asdict(), "measurements": [peak._asdict() for peak in self.measurements]}
