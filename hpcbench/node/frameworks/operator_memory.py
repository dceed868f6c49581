"""Whether the arrays of an operator fit into memory: some published problem sizes need more than a node or GPU has."""

from typing import Optional

from ...core.frameworks import DTYPE_BYTES
from ...models.operators.operator import FORWARD, Operator
from ..errors import Unsupported
from ..host.memory import available_bytes
from ..host.sysfs import this_system

_AS_DRAWN = 4  # bytes of each number before it is converted to the data type of the case


def needed_bytes(operator: Operator, phase: str, dtype: str) -> int:
    """Return the memory that the arrays and results of a phase need, without temporary memory of the framework."""
    return needed_device_bytes(operator, phase, dtype) + _AS_DRAWN * _held(operator, phase)


def needed_device_bytes(operator: Operator, phase: str, dtype: str) -> int:
    """Return the memory of a device that the arrays and results of a phase need, without temporary memory."""
    arrays = operator.arrays()
    results = operator.output().size + sum(arrays[name].size for name in operator.gradients(phase))
    return (_held(operator, phase) + results) * DTYPE_BYTES[dtype]


def check_memory(operator: Operator, phase: str, dtype: str, free_on_device: Optional[int]) -> None:
    """Raise Unsupported if the arrays of an operator do not fit into the available memory.

    `free_on_device` is the free memory of the GPU in bytes; None on CPUs, or if it is unknown.
    """
    on_device = needed_device_bytes(operator, phase, dtype)
    _check(on_device, free_on_device, "the arrays of the operator need %.1f GB on the GPU, and %.1f GB are free")
    in_memory = needed_bytes(operator, phase, dtype)
    message = "the arrays of the operator need %.1f GB of memory, and %.1f GB are available"
    _check(in_memory, available_bytes(this_system()), message)


def _held(operator: Operator, phase: str) -> int:
    """Return the number of elements of the arrays that are drawn for a phase."""
    of_cotangent = operator.output().size if phase != FORWARD else 0
    return sum(array.size for array in operator.arrays().values()) + of_cotangent


def _check(needed: int, available: Optional[int], message: str) -> None:
    if available is not None and needed > available:
        raise Unsupported(message % (needed / 1e9, available / 1e9))
