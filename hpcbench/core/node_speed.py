"""The speed of a node: `hpcbench doctor --each-node` measures it on every node, and compares nodes of one type."""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .check_result import CheckResult


class Rate(NamedTuple):
    """The rate of one kernel, in FLOP/s or bytes/s, on all cores of the job or on one GPU.

    node/checks/peak_kernel.py defines the kernels and what is counted.
    """

    model: str  # of the CPU or the GPU
    cpus: Optional[int]  # cores that ran the kernel; None for a GPU
    gpu: Optional[int]  # index among the GPUs of the job; None for CPUs
    kernel: str  # e.g. `float32 products`, in FLOP/s, or `memory`, in bytes/s
    value: float
    measured_by: str  # the library, its version, and its BLAS if known


class NodeSpeed(NamedTuple):
    """The rates of a node, what is missing and why, and the load of other processes during the measurement.

    `load` has CheckResult that are not ok.
    """

    host: str
    rates: Tuple[Rate, ...]
    missing: Tuple[str, ...]
    load: Tuple[CheckResult, ...]

    def as_data(self) -> Dict[str, Any]:
        """Return the speed as a dict for JSON."""
        lists: Dict[str, List[Any]] = {name: [each._asdict() for each in getattr(self, name)] for name in _NESTED}
        return {"host": self.host, "missing": list(self.missing), **lists}


_NESTED = {"rates": Rate, "load": CheckResult}
FLOPS, BYTES = "FLOP/s", "bytes/s"
MEMORY = "memory"


def unit_of(kernel: str) -> str:
    """Return the unit of the rate of a kernel."""
    return BYTES if kernel == MEMORY else FLOPS


def node_speed(data: Any) -> NodeSpeed:
    """Return the speed that `as_data` described. Raise KeyError, TypeError or ValueError for anything else."""
    nested = {name: tuple(kind(**each) for each in data[name]) for name, kind in _NESTED.items()}
    rates: Tuple[Rate, ...] = nested["rates"]
    if not all(isinstance(rate.value, (int, float)) and 0 < rate.value < float("inf") for rate in rates):
        raise ValueError("a rate is not a positive number")
    return NodeSpeed(str(data["host"]), missing=tuple(map(str, data["missing"])), **nested)
