"""Operators on JAX: XLA compiles the forward pass, and the backward pass from its residuals, as separate functions.

All arrays are arguments of these functions, so that XLA cannot compute with them at compile time.
"""

from contextlib import nullcontext
from functools import lru_cache
from typing import Any, Callable, ClassVar, ContextManager, Dict, List, Mapping, Optional, Tuple, Type

import jax
import numpy
from jax import experimental
from jax import numpy as jnp
from jax.experimental import sparse

from ....models.operators.operator import FORWARD, INDEX, SPARSE, Array, Operator
from ...errors import Unsupported
from ...workload.problem import Problem
from ..operator_call import ChannelsLast, OperatorCall, Request
from . import devices
from .network import remarks_on, set_arithmetic

Arrays = Dict[str, Any]
Function = Callable[..., jax.Array]  # takes an operator, and its arrays by name
State = Callable[[Any, int, Any], Arrays]  # takes an operator, a seed and a dtype


class JaxOperator(ChannelsLast, OperatorCall):
    """An operator on JAX, of any layer library. States are further arguments of functions."""

    functions: ClassVar[Mapping[Type[Operator], Function]]
    states: ClassVar[Mapping[Type[Operator], State]]
    without_float64: ClassVar[Mapping[Type[Operator], str]]  # why not
    sparse_array: ClassVar[Type[sparse.JAXSparse]] = sparse.BCSR

    def __init__(self, request: Request, problem: Problem) -> None:
        super().__init__(request, problem)
        if request.dtype == "float64" and type(request.operator) in self.without_float64:
            raise Unsupported("float64 is not available: %s" % self.without_float64[type(request.operator)])
        set_arithmetic(problem)
        self.device = devices.own("gpu" if problem.on_gpu else "cpu")
        self._results: Tuple[jax.Array, ...] = ()
        self._output: Optional[jax.Array] = None  # of the forward pass before backward passes, if it is random
        with self._context():
            self._compiled, self._arguments = self._prepared()

    @classmethod
    def free_device_bytes(cls, problem: Problem) -> Optional[int]:
        """Return the free part of the memory that JAX takes on the GPU, in bytes; None on CPUs, or if it is unknown."""
        statistics = (devices.own("gpu").memory_stats() if problem.on_gpu else None) or {}
        known = "bytes_limit" in statistics and "bytes_in_use" in statistics
        return statistics["bytes_limit"] - statistics["bytes_in_use"] if known else None

    def call(self) -> Any:
        if self.request.dtype == "float64":
            with self._context():
                self._results = self._compiled(*self._arguments)
        else:
            self._results = self._compiled(*self._arguments)
        return self._results

    def to_numpy(self, result: jax.Array) -> "numpy.ndarray":
        array = numpy.asarray(result)
        return array if array.dtype == numpy.float64 else array.astype(numpy.float32)

    def synchronize(self) -> None:
        jax.block_until_ready(self._results)  # the last of calls that run in order

    def peak_device_bytes(self) -> Optional[int]:
        statistics = self.device.memory_stats() if self.problem.on_gpu else None
        return statistics and statistics.get("peak_bytes_in_use")

    def remarks(self) -> List[str]:
        return remarks_on(self.request.dtype) if self.request.operator.products else []

    def forward_result(self) -> "Optional[numpy.ndarray]":
        return None if self._output is None else self.to_numpy(self._output)

    def _context(self) -> ContextManager[Any]:
        """Return the context of compilation and calls: without it, JAX replaces float64 by float32."""
        if self.request.dtype != "float64":
            return nullcontext()
        # Older versions have it under `experimental` only.
        return (jax if hasattr(jax, "enable_x64") else experimental).enable_x64(True)

    def _prepared(self) -> Tuple[Callable[..., Any], Tuple[Any, ...]]:
        """Return the compiled function of the phase and its arguments."""
        request, operator = self.request, self.request.operator
        function, arrays = self.functions[type(operator)], self._arrays()
        if request.phase == FORWARD:
            return _forward(function, operator), (arrays,)
        wanted = {name: arrays.pop(name) for name in request.wanted}
        self._output, pullback = _residuals(function, operator)(tuple(wanted.values()), arrays, tuple(wanted))
        leaves, tree = jax.tree.flatten(pullback)
        return _backward(tree), (leaves, self._on_device(operator.output(), request.cotangent))

    def _arrays(self) -> Arrays:
        operator, described = self.request.operator, self.request.operator.arrays()
        arrays = {name: self._on_device(described[name], array) for name, array in self.request.arrays.items()}
        state = self.states.get(type(operator))
        seed = self.problem.parameters["seed"] + self.problem.group.rank
        return {**arrays, **jax.device_put(state(operator, seed, self._dtype()), self.device)} if state else arrays

    def _on_device(self, described: Array, array: "numpy.ndarray") -> Any:
        arranged = self.arranged(described, array)
        moved = jax.device_put(arranged if described.role == INDEX else arranged.astype(self._dtype()), self.device)
        return self.sparse_array.fromdense(moved) if described.layout == SPARSE else moved

    def _dtype(self) -> Any:
        return getattr(jnp, self.request.dtype)


@lru_cache(maxsize=8)
def _forward(function: Function, operator: Operator) -> Callable[..., Any]:
    """Return the compiled forward pass, the same for equal operators: gradient checks call it with other arrays."""
    return jax.jit(lambda arrays: (function(operator, **arrays),))


@lru_cache(maxsize=8)
def _residuals(function: Function, operator: Operator) -> Callable[..., Any]:
    """Return the compiled forward pass for a backward pass, which it returns with its residuals.

    It also returns the output of a random operator, and None in place of others.
    """

    def run(wanted: Tuple[Any, ...], others: Arrays, names: Tuple[str, ...]) -> Any:
        output, pullback = jax.vjp(lambda *values: function(operator, **dict(zip(names, values)), **others), *wanted)
        return output if operator.is_random else None, pullback

    return jax.jit(run, static_argnums=2)


@lru_cache(maxsize=8)
def _backward(tree: Any) -> Callable[..., Any]:
    """Return the compiled backward pass. `tree` makes a function of its residuals."""
    return jax.jit(lambda residuals, cotangent: tree.unflatten(residuals)(cotangent))
