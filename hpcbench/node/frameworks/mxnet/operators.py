"""Operators in MXNet: their arrays on the device, and their calls.

The backward pass runs alone, on the graph of one forward pass.
"""

from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Type

import mxnet as mx
import numpy
from mxnet import autograd, gluon
from mxnet.contrib.amp import amp

from ....core.frameworks import GRAPH
from ....models.operators import normalization, pointwise, products, recurrent
from ....models.operators.operator import FORWARD, INDEX, SPARSE, Array, Operator, title
from ...errors import Unsupported
from ...workload.problem import Problem
from ..operator_call import OperatorCall, Request
from .devices import NO_PEAK_MEMORY, device_of
from .operator_functions import BUILDERS, Function, Tensor, Tensors

_IN_BFLOAT16 = (products.Conv2d, products.Linear)  # which MXNet's automatic mixed precision converts
_REMARKS: Dict[Type[Operator], str] = {  # on the backward pass
    pointwise.Dropout: "MXNet's dropout loses its mask in a backward pass, so each call includes a forward pass",
    recurrent.Lstm: "MXNet's LSTM computes the gradients of inputs and weights together if it uses oneDNN",
}


class MXNetOperator(OperatorCall):
    """An operator of MXNet, hybridized to a graph or eager."""

    def __init__(self, request: Request, problem: Problem) -> None:
        super().__init__(request, problem)
        _check_dtype(request)
        self.device = device_of(problem)
        mx.random.seed(problem.parameters["seed"] + problem.group.rank)  # of dropout
        arrays = request.operator.arrays()
        tensors = {name: self._on_device(arrays[name], array) for name, array in request.arrays.items()}
        function, inputs, sources = BUILDERS[type(request.operator)](request.operator, tensors)
        run = partial(self._compiled(function), *inputs)
        self._output: Optional[Tensor] = None  # of the last forward pass before a backward pass
        self._call = self._forward(run) if request.phase == FORWARD else self._backward(run, sources)

    @classmethod
    def free_device_bytes(cls, problem: Problem) -> Optional[int]:
        return int(mx.context.gpu_memory_info(device_of(problem).device_id)[0]) if problem.on_gpu else None

    def call(self) -> Any:
        return self._call()

    def to_numpy(self, result: Tensor) -> "numpy.ndarray":
        array: numpy.ndarray = (result if result.dtype == numpy.float64 else result.astype("float32")).asnumpy()
        return array

    def synchronize(self) -> None:
        mx.nd.waitall()

    def forward_result(self) -> "Optional[numpy.ndarray]":
        return None if self._output is None else self.to_numpy(self._output)

    def remarks(self) -> List[str]:
        of_backward = None if self.request.phase == FORWARD else _REMARKS.get(type(self.request.operator))
        of_memory = NO_PEAK_MEMORY if self.problem.on_gpu else None
        return [remark for remark in (of_backward, of_memory) if remark]

    def arranged(self, described: Array, array: "numpy.ndarray") -> "numpy.ndarray":
        """Return an array with at least one dimension, as all of MXNet's have."""
        return array if described.shape else array.reshape(1)

    def restored(self, described: Array, array: "numpy.ndarray") -> "numpy.ndarray":
        """Return a single number without dimensions, and other arrays unchanged."""
        return array if described.shape else array.reshape(())

    def _on_device(self, described: Array, array: "numpy.ndarray") -> Tensor:
        tensor = mx.nd.array(self.arranged(described, array), self.device, array.dtype)
        if described.role == INDEX:
            return tensor
        if self.request.dtype == "bfloat16":
            return mx.nd.amp_cast(tensor, dtype=amp.bfloat16)
        tensor = tensor.astype(self.request.dtype, copy=False)
        return tensor.tostype("csr") if described.layout == SPARSE else tensor

    def _compiled(self, function: Function) -> Function:
        """Return a function of the inputs alone."""
        in_graph = self.problem.parameters["execution"] == GRAPH
        if not in_graph and not isinstance(function, gluon.HybridBlock):
            return partial(function, mx.nd)
        block = function if isinstance(function, gluon.HybridBlock) else _Block(function)
        if in_graph:
            block.hybridize(static_alloc=True, static_shape=True)
        return block

    def _forward(self, run: Function) -> Callable[[], Sequence[Tensor]]:
        mode = autograd.train_mode if _trains(self.request.operator) else autograd.predict_mode

        def call() -> Sequence[Tensor]:
            with mode():
                return (run(),)

        return call

    def _backward(self, run: Function, sources: Tensors) -> Callable[[], Sequence[Tensor]]:
        wanted = [sources[name] for name in self.request.wanted]
        for tensor in wanted:
            tensor.attach_grad()
        cotangent = self._on_device(self.request.operator.output(), self.request.cotangent)
        forward_once = not isinstance(self.request.operator, pointwise.Dropout)
        recorded: Tensor = _recorded(run) if forward_once else None
        self._output = recorded

        def call() -> Sequence[Tensor]:
            output = recorded
            if not forward_once:
                output = self._output = _recorded(run)
            output.backward(cotangent, retain_graph=forward_once)
            return [tensor.grad for tensor in wanted]

        return call


class _Block(gluon.HybridBlock):
    """A function as a block."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def hybrid_forward(self, ops: Any, *inputs: Tensor) -> Tensor:
        return self.function(ops, *inputs)


def _recorded(run: Function) -> Tensor:
    """Return the output of a forward pass with the graph for its backward pass."""
    with autograd.record():
        return run()


def _check_dtype(request: Request) -> None:
    """Raise Unsupported if MXNet does not compute the operator in the data type."""
    if request.dtype == "bfloat16" and not isinstance(request.operator, _IN_BFLOAT16):
        names = " and ".join(map(title, _IN_BFLOAT16))
        raise Unsupported("of MXNet's operators, hpcbench runs only %s in bfloat16" % names)
    if request.dtype == "float64" and isinstance(request.operator, pointwise.Gelu):
        raise Unsupported("MXNet's GELU computes in float32, also for arrays in float64")


def _trains(operator: Operator) -> bool:
    """Return whether the forward pass of an operator differs in training."""
    return operator.is_random or (isinstance(operator, normalization.BatchNorm) and operator.training)
