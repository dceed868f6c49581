"""Whether the arrays of an operator fit into memory: some published problem sizes need more than a node has."""

from ...models.operators.operator import FORWARD, Operator
from ..errors import Unsupported
from ..host.memory import available_bytes
from ..host.sysfs import this_system

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_AS_DRAWN = 4  # bytes of each number before it is converted to the data type of the case


def needed_bytes(operator: Operator, phase: str, dtype: str) -> int:
    """Return the memory that the arrays and results of a phase need, without temporary memory of the framework."""
    arrays = operator.arrays()
    held = sum(array.size for array in arrays.values()) + (operator.output().size if phase != FORWARD else 0)
    results = operator.output().size + sum(arrays[name].size for name in operator.gradients(phase))
    return held * (_AS_DRAWN + BYTES[dtype]) + results * BYTES[dtype]


def check_memory(operator: Operator, phase: str, dtype: str) -> None:
    """Raise Unsupported if the arrays of an operator do not fit into the available memory of the host."""
    needed, available = needed_bytes(operator, phase, dtype), available_bytes(this_system())
    if available is not None and needed > available:
        values = (needed / 1e9, available / 1e9)
        raise Unsupported("the arrays of the operator need %.1f GB of memory, and %.1f GB are available" % values)
