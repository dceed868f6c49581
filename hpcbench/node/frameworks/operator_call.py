"""The interface of an operator in a framework: its arrays are on the device, and each call runs one phase."""

from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import Any, ClassVar, ContextManager, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy

from ...models.operators.operator import FORWARD, IMAGE, KERNEL, MATRIX, Array, Operator
from ..workload.problem import Problem

OUTPUT = "output"  # the name of the result of the forward pass
Arrays = Dict[str, "numpy.ndarray"]
Orders = Dict[str, Tuple[int, ...]]


class Request(NamedTuple):
    """What an operator computes: the phase, from arrays and a cotangent of the output, in a data type.

    Arrays are float32 or float64, and indices int32, in the layout of models/operators.
    """

    operator: Operator
    phase: str
    dtype: str
    arrays: Arrays
    cotangent: "numpy.ndarray"

    @property
    def wanted(self) -> Sequence[str]:
        """Return the names of the results: of the gradients, or the output."""
        return (OUTPUT,) if self.phase == FORWARD else self.operator.gradients(self.phase)

    def described(self, name: str) -> Array:
        """Return shape and layout of an array, of its gradient, or of the output."""
        return self.operator.output() if name == OUTPUT else self.operator.arrays()[name]


class OperatorCall(ABC):
    """A request on the device of a case."""

    def __init__(self, request: Request, problem: Problem) -> None:
        """Move the arrays to the device. Raise Unsupported if the framework does not have the operator."""
        self.request = request
        self.problem = problem

    @classmethod
    def free_device_bytes(cls, problem: Problem) -> Optional[int]:
        """Return the free memory of the GPU of a case, in bytes; None on CPUs, or if the framework does not know it."""
        return None

    def context(self) -> ContextManager[Any]:
        """Return the context manager of all calls, which each call would otherwise have to enter."""
        return nullcontext()

    @abstractmethod
    def call(self) -> Any:
        """Run the phase once, in `context`. Return the results on the device, in the order of `wanted`."""

    @abstractmethod
    def to_numpy(self, result: Any) -> "numpy.ndarray":
        """Return one result as a float32 or float64 array, in the layout of the framework."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until the device has finished all work."""

    @property
    def execution(self) -> Optional[str]:
        """Return the execution of this call, which may differ from that of the case in float64."""
        found: Optional[str] = self.problem.parameters["execution"]
        return found

    def peak_device_bytes(self) -> Optional[int]:
        """Return the maximum memory in use on the device, in bytes; None on CPUs."""
        return None

    def remarks(self) -> List[str]:
        """Return remarks on how the phase was computed, for the record."""
        return []

    def forward_result(self) -> "Optional[numpy.ndarray]":
        """Return the result of the forward pass that the gradients belong to; None if the framework did not keep it."""
        return None

    def restore(self) -> None:
        """Set the arrays to those of the request, for an operator that replaces them."""
        return

    def close(self) -> None:
        """Leave the group of ranks. All ranks must call this."""
        return

    def results(self) -> Arrays:
        """Run the phase once, on the arrays of the request. Return its results by name, in the layout of models."""
        self.restore()
        with self.context():
            found = [self.to_numpy(result) for result in self.call()]
        self.synchronize()
        described = self.request.described
        return {name: self.restored(described(name), array) for name, array in zip(self.request.wanted, found)}

    def arranged(self, described: Array, array: "numpy.ndarray") -> "numpy.ndarray":
        """Return an array in the layout of the framework, by default that of models/operators."""
        return array

    def restored(self, described: Array, array: "numpy.ndarray") -> "numpy.ndarray":
        """Return the inverse of `arranged`."""
        return array


class ChannelsLast:
    """The layouts of frameworks that order channels last: images (n, height, width, channels).

    Kernels are (height, width, channels, filters), and matrices of layers (inputs, outputs).
    """

    _ORDERS: ClassVar[Orders] = {IMAGE: (0, 2, 3, 1), KERNEL: (2, 3, 1, 0), MATRIX: (1, 0)}
    _BACK: ClassVar[Orders] = {IMAGE: (0, 3, 1, 2), KERNEL: (3, 2, 0, 1), MATRIX: (1, 0)}

    def arranged(self, described: Array, array: "numpy.ndarray") -> "numpy.ndarray":
        """Return an array with channels last."""
        return self._transposed(self._ORDERS, described, array)

    def restored(self, described: Array, array: "numpy.ndarray") -> "numpy.ndarray":
        """Return an array with channels first."""
        return self._transposed(self._BACK, described, array)

    def _transposed(self, orders: Orders, described: Array, array: "numpy.ndarray") -> "numpy.ndarray":
        order = orders.get(described.layout)
        return array if order is None else numpy.ascontiguousarray(array.transpose(order))
