"""An operator as the computation of a case."""

from typing import TYPE_CHECKING, Any, ContextManager, Dict, List, Optional, Type

from ...core.frameworks import DTYPE_BYTES
from ...core.record import Work
from ...models.operators import values
from ...models.operators.operator import Operator
from ..workload.problem import Problem
from .computation import Computation
from .operator_call import OperatorCall, Request
from .operator_memory import check_memory

if TYPE_CHECKING:
    import numpy


class OperatorComputation(Computation):
    """An operator with its arrays on the device. One step is one call of a phase."""

    def __init__(self, problem: Problem, operator: Operator, of: Type[OperatorCall]) -> None:
        super().__init__(problem)
        self.operator = operator
        self._of = of
        parameters, rank = problem.parameters, problem.group.rank
        seed, dtype = parameters["seed"], parameters["dtype"]
        check_memory(operator, parameters["phase"], dtype, of.free_device_bytes(problem))
        arrays = values.arrays_of(operator, seed, rank, dtype)
        cotangent = values.cotangent_of(operator, seed, rank, dtype)
        self.request = Request(operator, parameters["phase"], dtype, arrays, cotangent)
        self.call = self.called_with(self.request)

    def called_with(self, request: Request) -> OperatorCall:
        """Return the operator with other arrays, in another data type, or of another phase.

        Raise Unsupported if the framework does not have it.
        """
        return self._of(request, self.problem)

    def arrays_of(self, rank: int) -> "Dict[str, numpy.ndarray]":
        """Return the arrays of another rank."""
        return values.arrays_of(self.operator, self.problem.parameters["seed"], rank, self.request.dtype)

    def step(self) -> Any:
        """Run the phase once."""
        return self.call.call()

    def context(self) -> ContextManager[Any]:
        return self.call.context()

    def synchronize(self) -> None:
        self.call.synchronize()

    def peak_device_bytes(self) -> Optional[int]:
        return self.call.peak_device_bytes()

    def remarks(self) -> List[str]:
        return self.call.remarks()

    def close(self) -> None:
        self.call.close()

    @property
    def work(self) -> Work:
        """Return the work of one call."""
        operator, phase, dtype = self.operator, self.request.phase, self.request.dtype
        return Work(
            flops_per_item=operator.flops(phase) or None,
            items_per_step=1 if operator.is_collective else self.problem.group.size,
            bytes_per_item=operator.bytes_moved(phase, DTYPE_BYTES[dtype]),
            bus_bytes_per_item=operator.bus_bytes(self.problem.group.size, DTYPE_BYTES[dtype]),
            input_shapes={name: array.shape for name, array in operator.arrays().items()},
            dtype=dtype,
            math_mode="float32" if dtype == "float32" else "pure",
            graph_fingerprint=operator.fingerprint(),
        )
