"""The most that a machine was seen to do in a second: what checkups measure, the workspace keeps and rooflines need."""

from typing import Any, Dict, NamedTuple, Optional, Tuple


class Peak(NamedTuple):
    """Of so many CPUs of one node together, each on a core of its own, or of one GPU, where `cpus` is None.

    `flops_per_s` is of products of matrices in `dtype`, `bytes_per_s` of STREAM's Add, None where that was not
    measured; see checkup/peak_kernel.py for what is counted.
    """

    device: str  # cpu or gpu, as of cases
    cpus: Optional[int]
    dtype: str
    flops_per_s: float
    bytes_per_s: Optional[float]
    measured_by: str  # the library, its version, and its BLAS where it tells
    host: str
    measured_at: str


class MachinePeaks(NamedTuple):
    """All of one type of node: CPUs of this model, so many of them, and GPUs of this model, where it has any."""

    cpu_model: str
    cpu_count: int
    gpu_model: Optional[str]
    measurements: Tuple[Peak, ...]

    def as_data(self) -> Dict[str, Any]:
        """As JSON has it, with names."""
        return {**self._asdict(), "measurements": [peak._asdict() for peak in self.measurements]}
