"""The functions of MXNet that compute operators: its own ones and Gluon's LSTM.

Recurrences without the input product are unrolled loops.
"""

from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Type

import mxnet as mx
import numpy
from mxnet import gluon

from ....models.operators import movement, normalization, pointwise, products, recurrent, reductions
from ....models.operators.operator import Operator
from .layers import MASKED

Tensor = Any  # an NDArray, or a Symbol while a graph is built; ops is the module of its functions
Tensors = Dict[str, Tensor]
Function = Callable[..., Tensor]  # of ops and the inputs


class Built(NamedTuple):
    """A function or block, its inputs, and the arrays that may have gradients, by name."""

    function: Function
    inputs: List[Tensor]
    sources: Tensors


def _built(function: Function, tensors: Tensors, *constants: Tensor) -> Built:
    return Built(function, [*tensors.values(), *constants], tensors)


def _of(function: Function) -> Callable[[Any, Tensors], Built]:
    """Return the builder of a function that needs no sizes."""
    return lambda operator, tensors: _built(function, tensors)


def _gemm(operator: products.Gemm, tensors: Tensors) -> Built:
    transposed = {"transpose_a": operator.a_trans, "transpose_b": operator.b_trans}
    return _built(lambda ops, a, b: ops.dot(a, b, **transposed), tensors)


def _linear(operator: products.Linear, tensors: Tensors) -> Built:
    return _built(partial(_product, operator.outputs), tensors)


def _product(width: int, ops: Any, x: Tensor, weight: Tensor, *bias: Tensor) -> Tensor:
    return ops.FullyConnected(x, weight, *bias, num_hidden=width, no_bias=not bias, flatten=False)


def _conv2d(operator: products.Conv2d, tensors: Tensors) -> Built:
    sizes = {
        "kernel": (operator.filter_h, operator.filter_w),
        "stride": (operator.stride_h, operator.stride_w),
        "pad": (operator.pad_h, operator.pad_w),
    }

    def function(ops: Any, x: Tensor, kernel: Tensor) -> Tensor:
        return ops.Convolution(x, kernel, num_filter=operator.c_out, no_bias=True, **sizes)

    return _built(function, tensors)


def _attention(operator: products.Attention, tensors: Tensors) -> Built:
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


def _lstm(operator: recurrent.Lstm, tensors: Tensors) -> Built:
    """Return Gluon's layer, whose parameters are the kernels. Its biases stay at zero."""
    x = tensors["x"]
    layer = gluon.rnn.LSTM(operator.hidden, layout="NTC", input_size=operator.inputs, dtype=x.dtype)
    layer.collect_params().setattr("grad_req", "null")
    layer.initialize(mx.init.Zero(), ctx=x.context)
    kernels = {"input_kernel": layer.l0_i2h_weight, "hidden_kernel": layer.l0_h2h_weight}
    for name, parameter in kernels.items():
        parameter.set_data(tensors[name])
    return Built(layer, [x], {"x": x, **{name: each.data() for name, each in kernels.items()}})


_Step = Callable[[Any, Tensor, Tensor, List[Tensor]], List[Tensor]]


def _recurrence(step: _Step, states: int) -> Callable[[Any, Tensors], Built]:
    """Return the builder of a loop over time; `step` maps x_t, U h and the states to the new states."""

    def build(operator: Any, tensors: Tensors) -> Built:
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


def _batch_norm(operator: normalization.BatchNorm, tensors: Tensors) -> Built:
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


def _pooling(operator: reductions.Pooling, tensors: Tensors) -> Built:
    if operator.mode == reductions.GLOBAL_AVERAGE:
        return _built(lambda ops, x: ops.Flatten(ops.Pooling(x, global_pool=True, pool_type="avg")), tensors)
    sizes = {name: (getattr(operator, name),) * 2 for name in ("kernel", "stride", "pad")}
    kind = "max" if operator.mode == reductions.MAX else "avg"
    return _built(lambda ops, x: ops.Pooling(x, pool_type=kind, **sizes), tensors)


def _dropout(operator: pointwise.Dropout, tensors: Tensors) -> Built:
    return _built(lambda ops, x: ops.Dropout(x, p=operator.rate), tensors)


def _embedding(operator: movement.Embedding, tensors: Tensors) -> Built:
    sizes = {"input_dim": operator.vocabulary, "output_dim": operator.width}
    return _built(lambda ops, indices, table: ops.Embedding(indices, table, **sizes), tensors)


def _cross_entropy(operator: reductions.CrossEntropy, tensors: Tensors) -> Built:
    losses = gluon.loss.SoftmaxCrossEntropyLoss()
    return _built(lambda ops, logits, labels: ops.mean(losses(logits, labels)), tensors)


BUILDERS: Dict[Type[Operator], Callable[[Any, Tensors], Built]] = {
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
