"""Operators in PyTorch: the functions of torch.nn.functional; recurrences without the input product are loops.

The backward pass runs alone, on the graph of one forward pass.
"""

from contextlib import nullcontext
from typing import Any, Callable, ContextManager, Dict, List, Optional, Tuple, Type

import numpy
import torch
from torch import nn
from torch._functorch import config as autograd_config
from torch.nn import functional

from ....core.frameworks import COMPILED, EAGER
from ....models.operators import collective, movement, normalization, pointwise, products, recurrent, reductions
from ....models.operators.operator import FORWARD, INDEX, SPARSE, Array, Operator
from ...errors import Unsupported
from ...workload.own_operator import OwnOperator
from ...workload.problem import Problem
from ..operator_call import OperatorCall, Request
from . import own_operator, strategies
from .network import device_of, remarks_on_graphs, set_arithmetic

Function = Callable[..., torch.Tensor]
Tensors = Dict[str, torch.Tensor]
_DTYPES = {name: getattr(torch, name) for name in ("float32", "float64", "bfloat16", "float16")}


class PyTorchOperator(OperatorCall):
    """An operator of PyTorch, eager or compiled."""

    def __init__(self, request: Request, problem: Problem) -> None:
        super().__init__(request, problem)
        self.device = device_of(problem)
        set_arithmetic()
        if request.operator.is_random:
            torch.manual_seed(problem.parameters["seed"] + problem.group.rank)
        if request.operator.is_collective:
            _join(problem, self.device)
        arrays = request.operator.arrays()
        tensors = {name: self._on_device(arrays[name], array) for name, array in request.arrays.items()}
        wanted = request.wanted if request.phase != FORWARD else ()
        if request.operator.is_collective:  # sums of sums would grow to infinity: calls that are timed add up zeros
            for tensor in tensors.values():
                tensor.zero_()
        function, tensors = self.built(tensors)
        self._tensors = tensors
        self._output: Optional[torch.Tensor] = None  # of the forward pass before backward passes
        for name in tensors:
            tensors[name].requires_grad_(name in wanted and not own_operator.has_backward(request.operator))
        if self.execution == COMPILED:
            autograd_config.donated_buffer = False  # the graph of one forward pass serves many backward passes
            function = torch.compile(function, mode=problem.parameters["compile_mode"])
        call = self._backward if wanted else self._forward
        with self.context():
            self._call = own_operator.checked(request, tensors, lambda: call(function, tensors))
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)

    @classmethod
    def free_device_bytes(cls, problem: Problem) -> Optional[int]:
        return int(torch.cuda.mem_get_info(device_of(problem))[0]) if problem.on_gpu else None

    @property
    def execution(self) -> Optional[str]:
        """Return eager in float64: the compiler would compile each of the calls of a gradient check."""
        return EAGER if self.request.dtype == "float64" else super().execution

    def built(self, tensors: Tensors) -> "_Built":
        """Return the function of the operator, and the tensors that it takes by name."""
        return _BUILDERS[type(self.request.operator)](self.request.operator, tensors)

    def context(self) -> ContextManager[Any]:
        """Return the inference mode for forward passes. Entering it takes as long as a small operator."""
        return torch.inference_mode() if self.request.phase == FORWARD else nullcontext()

    def call(self) -> Any:
        return self._call()

    def to_numpy(self, result: torch.Tensor) -> "numpy.ndarray":
        array = result.detach()
        return (array if array.dtype == torch.float64 else array.float()).cpu().numpy()

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def peak_device_bytes(self) -> Optional[int]:
        return int(torch.cuda.max_memory_allocated(self.device)) if self.device.type == "cuda" else None

    def forward_result(self) -> "Optional[numpy.ndarray]":
        return None if self._output is None else self.to_numpy(self._output)

    def restore(self) -> None:
        if self.request.operator.is_collective:
            for name, array in self.request.arrays.items():
                self._tensors[name].copy_(torch.from_numpy(array))

    def close(self) -> None:
        strategies.leave()

    def remarks(self) -> List[str]:
        return remarks_on_graphs("operator") if self.problem.parameters["execution"] == COMPILED else []

    def _on_device(self, described: Array, array: "numpy.ndarray") -> torch.Tensor:
        tensor = torch.from_numpy(numpy.array(self.arranged(described, array), order="C")).to(self.device)
        if described.role == INDEX:
            return tensor.long()
        tensor = tensor.to(_DTYPES[self.request.dtype])
        return tensor.to_sparse_csr() if described.layout == SPARSE else tensor

    def _forward(self, function: Function, tensors: Tensors) -> Callable[[], Tuple[torch.Tensor]]:
        return lambda: (function(**tensors),)

    def _backward(self, function: Function, tensors: Tensors) -> Callable[[], Tuple[torch.Tensor, ...]]:
        operator = self.request.operator
        output = self._output = function(**tensors)
        sources = [tensors[name] for name in self.request.wanted]
        cotangent = self._on_device(operator.output(), self.request.cotangent)
        if isinstance(operator, OwnOperator):
            own_operator.check_output(operator, output)
        if isinstance(operator, OwnOperator) and own_operator.has_backward(operator):
            return own_operator.backward(operator, self.request, output, tensors, cotangent)
        return lambda: torch.autograd.grad(output, sources, cotangent, retain_graph=True)


_Built = Tuple[Function, Tensors]


def _join(problem: Problem, device: torch.device) -> None:
    """Join the group of ranks of a collective operator. Raise Unsupported for a compiled one."""
    if problem.parameters["execution"] == COMPILED:
        raise Unsupported("collective operators cannot be used with execution: compiled; use execution: eager")
    strategies.join_group(problem, device)


def _all_reduce(x: torch.Tensor) -> torch.Tensor:
    torch.distributed.all_reduce(x)
    return x


def _of(function: Callable[..., torch.Tensor]) -> Callable[[Any, Tensors], _Built]:
    """Return the builder of a function that needs no sizes."""
    return lambda operator, tensors: (function, tensors)


def _gemm(operator: products.Gemm, tensors: Tensors) -> _Built:
    def function(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.mm(a.t() if operator.a_trans else a, b.t() if operator.b_trans else b)

    return function, tensors


def _sparse_gemm(operator: products.SparseGemm, tensors: Tensors) -> _Built:
    """Raise Unsupported if PyTorch does not have the product in this data type, for example in 16 bits on CPUs."""
    try:
        torch.mm(tensors["a"], tensors["b"])
    except RuntimeError as error:  # of which NotImplementedError is one
        if "not implemented for" not in str(error):
            raise
        dtype = str(tensors["b"].dtype).rpartition(".")[2]
        raise Unsupported("PyTorch has no sparse product in %s on this device" % dtype) from None
    return lambda a, b: torch.mm(a, b), tensors


def _conv2d(operator: products.Conv2d, tensors: Tensors) -> _Built:
    stride, pad = (operator.stride_h, operator.stride_w), (operator.pad_h, operator.pad_w)
    return lambda x, kernel: functional.conv2d(x, kernel, stride=stride, padding=pad), tensors


def _attention(operator: products.Attention, tensors: Tensors) -> _Built:
    def function(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(query, key, value, is_causal=operator.causal)

    return function, tensors


def _lstm(operator: recurrent.Lstm, tensors: Tensors) -> _Built:
    """Return PyTorch's layer, whose parameters are the kernels: cuDNN needs them in one piece of memory."""
    x = tensors["x"]
    layer = nn.LSTM(operator.inputs, operator.hidden, bias=False, batch_first=True, device=x.device, dtype=x.dtype)
    parameters: Tensors = dict(layer.named_parameters())
    own = {"input_kernel": parameters["weight_ih_l0"], "hidden_kernel": parameters["weight_hh_l0"]}
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(tensors[name])

    def function(x: torch.Tensor, input_kernel: torch.Tensor, hidden_kernel: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = layer(x)[0]
        return output

    return function, {"x": x, **own}


_Step = Callable[[torch.Tensor, torch.Tensor, List[torch.Tensor]], List[torch.Tensor]]


def _recurrence(step: _Step, states: int) -> Callable[[Any, Tensors], _Built]:
    """Return the builder of a loop over time; `step` maps x_t, U h and the states to the new states."""

    def build(operator: Any, tensors: Tensors) -> _Built:
        def function(x: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
            state = [x.new_zeros(operator.batch, operator.hidden)] * states
            outputs = []
            for x_t in x.unbind(1):
                state = step(x_t, functional.linear(state[0], kernel), state)
                outputs.append(state[0])
            return torch.stack(outputs, 1)

        return function, tensors

    return build


def _rnn_step(x: torch.Tensor, product: torch.Tensor, state: List[torch.Tensor]) -> List[torch.Tensor]:
    return [torch.relu(x + product)]


def _lstm_step(x: torch.Tensor, product: torch.Tensor, state: List[torch.Tensor]) -> List[torch.Tensor]:
    entered, forgotten, candidate, shown = (x + product).chunk(4, 1)
    cell = torch.sigmoid(forgotten) * state[1] + torch.sigmoid(entered) * torch.tanh(candidate)
    return [torch.sigmoid(shown) * torch.tanh(cell), cell]


def _gru_step(x: torch.Tensor, product: torch.Tensor, state: List[torch.Tensor]) -> List[torch.Tensor]:
    (x_r, x_z, x_n), (u_r, u_z, u_n) = x.chunk(3, 1), product.chunk(3, 1)
    update, new = torch.sigmoid(x_z + u_z), torch.tanh(x_n + torch.sigmoid(x_r + u_r) * u_n)
    return [(1 - update) * new + update * state[0]]


def _layer_norm(operator: normalization.LayerNorm, tensors: Tensors) -> _Built:
    def function(x: torch.Tensor, scale: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, (operator.features,), scale, offset, normalization.EPSILON)

    return function, tensors


def _batch_norm(operator: normalization.BatchNorm, tensors: Tensors) -> _Built:
    x = tensors["x"]
    mean = x.new_full((operator.c,), normalization.RUNNING_MEAN)
    variance = x.new_full((operator.c,), normalization.RUNNING_VARIANCE)

    def function(x: torch.Tensor, scale: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        if operator.training:
            return functional.batch_norm(x, None, None, scale, offset, training=True, eps=normalization.EPSILON)
        return functional.batch_norm(x, mean, variance, scale, offset, eps=normalization.EPSILON)

    return function, tensors


def _pooling(operator: reductions.Pooling, tensors: Tensors) -> _Built:
    if operator.mode == reductions.GLOBAL_AVERAGE:
        return lambda x: functional.adaptive_avg_pool2d(x, 1).flatten(1), tensors
    pool = functional.max_pool2d if operator.mode == reductions.MAX else functional.avg_pool2d
    return lambda x: pool(x, operator.kernel, operator.stride, operator.pad), tensors


def _dropout(operator: pointwise.Dropout, tensors: Tensors) -> _Built:
    return lambda x: functional.dropout(x, operator.rate), tensors


_BUILDERS: Dict[Type[Operator], Callable[[Any, Tensors], _Built]] = {
    products.Gemm: _gemm,
    products.SparseGemm: _sparse_gemm,
    products.Bmm: _of(lambda a, b: torch.bmm(a, b)),
    products.Linear: _of(lambda x, weight, bias: functional.linear(x, weight, bias)),
    products.Conv2d: _conv2d,
    products.Attention: _attention,
    recurrent.Lstm: _lstm,
    recurrent.RnnCell: _recurrence(_rnn_step, 1),
    recurrent.LstmCell: _recurrence(_lstm_step, 2),
    recurrent.GruCell: _recurrence(_gru_step, 1),
    normalization.Softmax: _of(lambda x: functional.softmax(x, -1)),
    normalization.LayerNorm: _layer_norm,
    normalization.BatchNorm: _batch_norm,
    reductions.Pooling: _pooling,
    reductions.Sum: _of(lambda x: x.sum(1)),
    reductions.CrossEntropy: _of(lambda logits, labels: functional.cross_entropy(logits, labels)),
    reductions.Mse: _of(lambda x, target: functional.mse_loss(x, target)),
    pointwise.Relu: _of(lambda x: functional.relu(x)),
    pointwise.Gelu: _of(lambda x: functional.gelu(x)),
    pointwise.Tanh: _of(lambda x: torch.tanh(x)),
    pointwise.Add: _of(lambda a, b: torch.add(a, b)),
    pointwise.Dropout: _dropout,
    movement.Embedding: _of(lambda indices, table: functional.embedding(indices, table)),
    movement.Transpose: _of(lambda x: x.t().contiguous()),
    movement.Concat: _of(lambda a, b: torch.cat([a, b], 1)),
    movement.Flatten: _of(lambda x: x.flatten(1)),
    collective.AllReduce: _of(_all_reduce),
    OwnOperator: own_operator.built,
}
