"""Operators in MXNet: its own functions and Gluon's LSTM; recurrences without the input product are unrolled loops.

The backward pass runs alone, on the graph of one forward pass.
"""

from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Type

import mxnet as mx
import numpy
from mxnet import autograd, gluon
from mxnet.contrib.amp import amp

from ....core.frameworks import GRAPH
from ....models.operators import movement, normalization, pointwise, products, recurrent, reductions
from ....models.operators.operator import FORWARD, INDEX, SPARSE, Array, Operator, title
from ...errors import Unsupported
from ...workload.problem import Problem
from ..operator_call import OperatorCall, Request
from .devices import NO_PEAK_MEMORY, device_of
from .layers import MASKED

Tensor = Any  # an NDArray, or a Symbol while a graph is built; ops is the module of its functions
Tensors = Dict[str, Tensor]
Function = Callable[..., Tensor]  # of ops and the inputs
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
        function, inputs, sources = _BUILDERS[type(request.operator)](request.operator, tensors)
        run = partial(self._compiled(function), *inputs)
        self._output: Optional[Tensor] = None  # of the last forward pass of dropout in a backward pass
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


class _Built(NamedTuple):
    """A function or block, its inputs, and the arrays that may have gradients, by name."""

    function: Function
    inputs: List[Tensor]
    sources: Tensors


def _built(function: Function, tensors: Tensors, *constants: Tensor) -> _Built:
    return _Built(function, [*tensors.values(), *constants], tensors)


def _of(function: Function) -> Callable[[Any, Tensors], _Built]:
    """Return the builder of a function that needs no sizes."""
    return lambda operator, tensors: _built(function, tensors)


def _gemm(operator: products.Gemm, tensors: Tensors) -> _Built:
    transposed = {"transpose_a": operator.a_trans, "transpose_b": operator.b_trans}
    return _built(lambda ops, a, b: ops.dot(a, b, **transposed), tensors)


def _linear(operator: products.Linear, tensors: Tensors) -> _Built:
    return _built(partial(_product, operator.outputs), tensors)


def _product(width: int, ops: Any, x: Tensor, weight: Tensor, *bias: Tensor) -> Tensor:
    return ops.FullyConnected(x, weight, *bias, num_hidden=width, no_bias=not bias, flatten=False)


def _conv2d(operator: products.Conv2d, tensors: Tensors) -> _Built:
    sizes = {
        "kernel": (operator.filter_h, operator.filter_w),
        "stride": (operator.stride_h, operator.stride_w),
        "pad": (operator.pad_h, operator.pad_w),
    }

    def function(ops: Any, x: Tensor, kernel: Tensor) -> Tensor:
        return ops.Convolution(x, kernel, num_filter=operator.c_out, no_bias=True, **sizes)

    return _built(function, tensors)


def _attention(operator: products.Attention, tensors: Tensors) -> _Built:
    """Return the attention of GluonNLP, without MXNet's fused functions: they take the three arrays as one."""
    query = tensors["query"]
    later = numpy.triu(numpy.full((operator.time, operator.time), MASKED), 1)
    mask = mx.nd.array(later, query.context, query.dtype).reshape((1, 1, *later.shape))

    def function(ops: Any, query: Tensor, key: Tensor, value: Tensor, *masks: Tensor) -> Tensor:
        scores = ops.batch_dot(query * operator.head_size**-0.5, key, transpose_b=True)
        for mask in masks:
            scores = ops.broadcast_add(scores, mask)
        return ops.batch_dot(ops.softmax(scores, axis=-1), value)

    return _built(function, tensors, *[mask] * operator.causal)


def _lstm(operator: recurrent.Lstm, tensors: Tensors) -> _Built:
    """Return Gluon's layer, whose parameters are the kernels. Its biases stay at zero."""
    x = tensors["x"]
    layer = gluon.rnn.LSTM(operator.hidden, layout="NTC", input_size=operator.inputs, dtype=x.dtype)
    layer.collect_params().setattr("grad_req", "null")
    layer.initialize(mx.init.Zero(), ctx=x.context)
    kernels = {"input_kernel": layer.l0_i2h_weight, "hidden_kernel": layer.l0_h2h_weight}
    for name, parameter in kernels.items():
        parameter.set_data(tensors[name])
    return _Built(layer, [x], {"x": x, **{name: each.data() for name, each in kernels.items()}})


_Step = Callable[[Any, Tensor, Tensor, List[Tensor]], List[Tensor]]


def _recurrence(step: _Step, states: int) -> Callable[[Any, Tensors], _Built]:
    """Return the builder of a loop over time; `step` maps x_t, U h and the states to the new states."""

    def build(operator: Any, tensors: Tensors) -> _Built:
        x = tensors["x"]
        start = mx.nd.zeros((operator.batch, operator.hidden), x.context, x.dtype)
        width = operator.gates * operator.hidden

        def function(ops: Any, x: Tensor, kernel: Tensor, start: Tensor) -> Tensor:
            state, outputs = [start] * states, []
            for x_t in _parts(ops, x, operator.timesteps, squeeze_axis=True):
                state = step(ops, x_t, _product(width, ops, state[0], kernel), state)
                outputs.append(state[0])
            return ops.stack(*outputs, axis=1)

        return _built(function, tensors, start)

    return build


def _parts(ops: Any, x: Tensor, count: int, **options: bool) -> List[Tensor]:
    """Return an array in equal parts along its second dimension."""
    parts = ops.SliceChannel(x, num_outputs=count, axis=1, **options)
    return [parts] if count == 1 else list(parts)


def _rnn_step(ops: Any, x: Tensor, product: Tensor, state: List[Tensor]) -> List[Tensor]:
    return [ops.relu(x + product)]


def _lstm_step(ops: Any, x: Tensor, product: Tensor, state: List[Tensor]) -> List[Tensor]:
    entered, forgotten, candidate, shown = _parts(ops, x + product, 4)
    cell = ops.sigmoid(forgotten) * state[1] + ops.sigmoid(entered) * ops.tanh(candidate)
    return [ops.sigmoid(shown) * ops.tanh(cell), cell]


def _gru_step(ops: Any, x: Tensor, product: Tensor, state: List[Tensor]) -> List[Tensor]:
    (x_r, x_z, x_n), (u_r, u_z, u_n) = _parts(ops, x, 3), _parts(ops, product, 3)
    update, new = ops.sigmoid(x_z + u_z), ops.tanh(x_n + ops.sigmoid(x_r + u_r) * u_n)
    return [(1 - update) * new + update * state[0]]


def _batch_norm(operator: normalization.BatchNorm, tensors: Tensors) -> _Built:
    x, dtype = tensors["x"], tensors["scale"].dtype
    if dtype == numpy.float16:  # of the images alone, as in Gluon's layer
        tensors, dtype = (
            {"x": x, **{name: tensors[name].astype("float32") for name in ("scale", "offset")}},
            numpy.float32,
        )
    running = (normalization.RUNNING_MEAN, normalization.RUNNING_VARIANCE)
    statistics = [mx.nd.full((operator.c,), each, x.context, dtype) for each in running]
    options = {"eps": normalization.EPSILON, "fix_gamma": False, "use_global_stats": not operator.training}
    return _built(lambda ops, *inputs: ops.BatchNorm(*inputs, **options), tensors, *statistics)


def _pooling(operator: reductions.Pooling, tensors: Tensors) -> _Built:
    if operator.mode == reductions.GLOBAL_AVERAGE:
        return _built(lambda ops, x: ops.Flatten(ops.Pooling(x, global_pool=True, pool_type="avg")), tensors)
    sizes = {name: (getattr(operator, name),) * 2 for name in ("kernel", "stride", "pad")}
    kind = "max" if operator.mode == reductions.MAX else "avg"
    return _built(lambda ops, x: ops.Pooling(x, pool_type=kind, **sizes), tensors)


def _dropout(operator: pointwise.Dropout, tensors: Tensors) -> _Built:
    return _built(lambda ops, x: ops.Dropout(x, p=operator.rate), tensors)


def _embedding(operator: movement.Embedding, tensors: Tensors) -> _Built:
    sizes = {"input_dim": operator.vocabulary, "output_dim": operator.width}
    return _built(lambda ops, indices, table: ops.Embedding(indices, table, **sizes), tensors)


def _cross_entropy(operator: reductions.CrossEntropy, tensors: Tensors) -> _Built:
    losses = gluon.loss.SoftmaxCrossEntropyLoss()
    return _built(lambda ops, logits, labels: ops.mean(losses(logits, labels)), tensors)


_BUILDERS: Dict[Type[Operator], Callable[[Any, Tensors], _Built]] = {
    products.Gemm: _gemm,
    products.SparseGemm: _of(lambda ops, a, b: ops.dot(a, b)),
    products.Bmm: _of(lambda ops, a, b: ops.batch_dot(a, b)),
    products.Linear: _linear,
    products.Conv2d: _conv2d,
    products.Attention: _attention,
    recurrent.Lstm: _lstm,
    recurrent.RnnCell: _recurrence(_rnn_step, 1),
    recurrent.LstmCell: _recurrence(_lstm_step, 2),
    recurrent.GruCell: _recurrence(_gru_step, 1),
    normalization.Softmax: _of(lambda ops, x: ops.softmax(x, axis=-1)),
    normalization.LayerNorm: _of(
        lambda ops, x, scale, offset: ops.LayerNorm(x, scale, offset, eps=normalization.EPSILON)
    ),
    normalization.BatchNorm: _batch_norm,
    reductions.Pooling: _pooling,
    reductions.Sum: _of(lambda ops, x: ops.sum(x, axis=1)),
    reductions.CrossEntropy: _cross_entropy,
    reductions.Mse: _of(lambda ops, x, target: ops.mean(ops.square(x - target))),
    pointwise.Relu: _of(lambda ops, x: ops.Activation(x, act_type="relu")),
    pointwise.Gelu: _of(lambda ops, x: ops.LeakyReLU(x, act_type="gelu")),
    pointwise.Tanh: _of(lambda ops, x: ops.Activation(x, act_type="tanh")),
    pointwise.Add: _of(lambda ops, a, b: ops.elemwise_add(a, b)),
    pointwise.Dropout: _dropout,
    movement.Embedding: _embedding,
    movement.Transpose: _of(lambda ops, x: ops.transpose(x)),
    movement.Concat: _of(lambda ops, a, b: ops.concat(a, b, dim=1)),
    movement.Flatten: _of(lambda ops, x: ops.Flatten(x)),
}
