"""Operators in which all tasks take part."""

from dataclasses import dataclass
from typing import ClassVar, Dict, Sequence

from .operator import FORWARD, Array, Operator


@dataclass(frozen=True)
class AllReduce(Operator):
    """The sum of `floats` numbers over all tasks: each task has numbers of its own, which the sums replace."""

    phases: ClassVar[Sequence[str]] = (FORWARD,)
    is_collective: ClassVar[bool] = True
    floats: int = 1_000_000

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (floats,), the array of this task."""
        return {"x": Array((self.floats,))}

    def output(self) -> Array:
        """Return the sums (floats,)."""
        return Array((self.floats,))

    def bus_bytes(self, tasks: int, dtype_bytes: int) -> int:
        """Return the bytes that each task sends in a ring of n tasks, 2 (n - 1) / n times those of the array.

        No algorithm needs fewer (Patarasuk and Yuan, 2009, "Bandwidth optimal all-reduce algorithms for clusters of
        workstations"). NCCL's tests call the rate of these bytes bus bandwidth.
        """
        return 2 * (tasks - 1) * self.floats * dtype_bytes // tasks
