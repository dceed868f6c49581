"""Operators in TensorFlow: eager, as graphs, or compiled by XLA.

The backward pass runs alone, on the residuals of one forward pass that an eager tape recorded. As a graph, it is
another function than the forward pass, and takes the residuals as arguments (TensorFlow makes constants of those with
up to 128 elements).
"""

from functools import lru_cache, partial
from typing import Any, Callable, ClassVar, Dict, List, Mapping, Optional, Sequence, Type

import numpy
import tensorflow as tf

from ....core.frameworks import COMPILED, EAGER
from ....models.operators import normalization, recurrent
from ....models.operators.operator import FORWARD, INDEX, SPARSE, Array, Operator
from ...errors import Unsupported
from ...workload.problem import Problem
from ..operator_call import ChannelsLast, OperatorCall, Request
from . import operator_functions
from .operator_functions import Function, State
from .settings import check_places, choose_gpu, function, set_arithmetic

Tensor = Any


class TensorFlowOperator(ChannelsLast, OperatorCall):
    """An operator of TensorFlow. A subclass may have other functions, and other states: further arguments of functions.

    Functions in `apart` are for backward passes in an execution, and also take the names of the wanted arrays.
    """

    functions: ClassVar[Mapping[Type[Operator], Function]] = operator_functions.FUNCTIONS
    apart: ClassVar[Mapping[str, Mapping[Type[Operator], Function]]] = operator_functions.APART
    states: ClassVar[Mapping[Type[Operator], State]] = operator_functions.STATES
    without_float64: ClassVar[Mapping[Type[Operator], str]] = operator_functions.WITHOUT_FLOAT64  # why not
    without_xla: ClassVar[Mapping[Type[Operator], str]] = operator_functions.WITHOUT_XLA  # why not

    def __init__(self, request: Request, problem: Problem) -> None:
        super().__init__(request, problem)
        self._execution = problem.parameters["execution"]
        self._output: Optional[Tensor] = None  # of the forward pass before backward passes
        self._check()
        choose_gpu(problem)
        set_arithmetic()
        tf.random.set_seed(problem.parameters["seed"] + problem.group.rank)  # of dropout
        tensors = self._tensors()
        if problem.on_gpu:
            check_places([tensor for tensor in tensors.values() if isinstance(tensor, tf.Tensor)])
        self._call = self._forward(tensors) if request.phase == FORWARD else self._backward(tensors)
        if problem.on_gpu:
            tf.config.experimental.reset_memory_stats("GPU:0")

    def call(self) -> Any:
        return self._call()

    def to_numpy(self, result: Tensor) -> "numpy.ndarray":
        return (result if result.dtype == tf.float64 else tf.cast(result, tf.float32)).numpy()

    def synchronize(self) -> None:
        if self.problem.on_gpu:
            tf.test.experimental.sync_devices()

    def peak_device_bytes(self) -> Optional[int]:
        return int(tf.config.experimental.get_memory_info("GPU:0")["peak"]) if self.problem.on_gpu else None

    def forward_result(self) -> "Optional[numpy.ndarray]":
        return None if self._output is None else self.to_numpy(self._output)

    def remarks(self) -> List[str]:
        kind, backward = type(self.request.operator), self.request.phase != FORWARD
        remarks = []
        if kind is recurrent.Lstm and self.problem.on_gpu:
            remarks.append("the LSTM runs step by step, not in cuDNN")
        if kind is normalization.BatchNorm and backward and self._execution != COMPILED:
            remarks.append("TensorFlow's operation FusedBatchNormGradV3 computes all gradients in every phase")
        if kind in operator_functions.RECURRENT and backward and self._execution == COMPILED:
            remarks.append("XLA computes the activations of each time step again, which cannot leave its forward pass")
        return remarks

    def _check(self) -> None:
        kind, dtype = type(self.request.operator), self.request.dtype
        if dtype == "float64" and kind in self.without_float64:
            raise Unsupported("float64 is not available: %s" % self.without_float64[kind])
        if self._execution == COMPILED and kind in self.without_xla:
            raise Unsupported("XLA cannot compile this operator: %s" % self.without_xla[kind])

    def _tensors(self) -> Dict[str, Tensor]:
        operator, described = self.request.operator, self.request.operator.arrays()
        tensors = {name: self._on_device(described[name], array) for name, array in self.request.arrays.items()}
        state = self.states.get(type(operator))
        seed = self.problem.parameters["seed"] + self.problem.group.rank
        return {**tensors, **state(operator, seed, self.request.dtype)} if state else tensors

    def _on_device(self, described: Array, array: "numpy.ndarray") -> Tensor:
        tensor = tf.constant(self.arranged(described, array))
        if described.role == INDEX:
            return tf.cast(tensor, tf.int64)  # TensorFlow places 32-bit ones in host memory
        tensor = tf.cast(tensor, self.request.dtype)
        return tf.sparse.from_dense(tensor) if described.layout == SPARSE else tensor

    def _forward(self, tensors: Dict[str, Tensor]) -> Callable[[], Any]:
        operator, given = self.request.operator, tuple(tensors.values())
        run = _forward(self.functions[type(operator)], operator, tuple(tensors), self._execution)
        return lambda: (run(*given),)

    def _backward(self, tensors: Dict[str, Tensor]) -> Callable[[], List[Tensor]]:
        sources = [tensors[name] for name in self.request.wanted]
        # Of a graph, a persistent tape would also keep what second derivatives need; a trace reads the tape only once.
        with tf.GradientTape(persistent=self._execution == EAGER, watch_accessed_variables=False) as tape:
            tape.watch(sources)
            output = self._output = self._executed(self._recorded(tuple(tensors)))(*tensors.values())
        cotangent = self._on_device(self.request.operator.output(), self.request.cotangent)

        def gradients(cotangent: Tensor) -> List[Tensor]:
            return [tf.convert_to_tensor(each) for each in tape.gradient(output, sources, cotangent)]

        return partial(self._executed(gradients), cotangent)

    def _recorded(self, names: Sequence[str]) -> Callable[..., Tensor]:
        """Return the forward pass for a backward pass to the wanted arrays alone."""
        operator, wanted = self.request.operator, self.request.wanted
        apart = self.apart.get(self._execution, {}).get(type(operator))

        def record(*tensors: Tensor) -> Tensor:
            given = zip(names, tensors)
            arrays = {name: each if name in wanted else tf.stop_gradient(each) for name, each in given}
            if apart is None:
                return self.functions[type(operator)](operator, **arrays)
            return apart(operator, wanted, **arrays)

        return record

    def _executed(self, run: Callable[..., Any]) -> Callable[..., Any]:
        return run if self._execution == EAGER else function(run, self._execution == COMPILED)


@lru_cache(maxsize=8)
def _forward(run: Function, operator: Operator, names: Sequence[str], execution: str) -> Callable[..., Tensor]:
    """Return the forward pass, the same for equal operators: gradient checks call it with other arrays."""

    def forward(*tensors: Tensor) -> Tensor:
        return run(operator, **dict(zip(names, tensors)))

    return forward if execution == EAGER else function(forward, execution == COMPILED)
