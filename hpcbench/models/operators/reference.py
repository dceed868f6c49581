"""The reference result of each operator: its definition in terms of the functions of models/reference."""

import math
from functools import singledispatch
from typing import Callable, Dict, List, Tuple

import numpy

from ..reference.functions import (
    add,
    concatenate,
    constant,
    divide,
    erf,
    exp,
    log,
    masked,
    maximum,
    mean,
    multiply,
    reciprocal_root,
    relu,
    reshape,
    scale,
    sigmoid,
    subtract,
    sum_over,
    swap,
    take,
    tanh,
    total,
    transpose,
)
from ..reference.products import matmul
from ..reference.variable import Variable
from ..reference.windows import windows
from . import collective, movement, normalization, pointwise, products, recurrent, reductions
from .operator import Operator

Arrays = Dict[str, Variable]
Indices = Dict[str, numpy.ndarray]


@singledispatch
def result_of(operator: Operator, arrays: Arrays, indices: Indices) -> Variable:
    """Return the result of an operator for its arrays, and its arrays of indices, by name.

    Raise NotImplementedError for an operator whose result is random.
    """
    raise NotImplementedError("the operator %r has no reference" % operator)


@result_of.register
def _of_gemm(operator: products.Gemm, arrays: Arrays, indices: Indices) -> Variable:
    a, b = arrays["a"], arrays["b"]
    return matmul(swap(a) if operator.a_trans else a, swap(b) if operator.b_trans else b)


@result_of.register
def _of_sparse_gemm(operator: products.SparseGemm, arrays: Arrays, indices: Indices) -> Variable:
    return matmul(arrays["a"], arrays["b"])


@result_of.register
def _of_bmm(operator: products.Bmm, arrays: Arrays, indices: Indices) -> Variable:
    return matmul(arrays["a"], arrays["b"])


@result_of.register
def _of_linear(operator: products.Linear, arrays: Arrays, indices: Indices) -> Variable:
    return add(matmul(arrays["x"], swap(arrays["weight"])), arrays["bias"])


@result_of.register
def _of_conv2d(operator: products.Conv2d, arrays: Arrays, indices: Indices) -> Variable:
    n, filters, height, width = operator.output().shape
    kernel, stride = (operator.filter_h, operator.filter_w), (operator.stride_h, operator.stride_w)
    patches = transpose(windows(arrays["x"], kernel, stride, (operator.pad_h, operator.pad_w)), (1, 2, 3, 0, 4, 5))
    columns = reshape(patches, (operator.terms, n * height * width))
    kernels = reshape(arrays["kernel"], (filters, operator.terms))
    product = matmul(kernels, columns, parts_of_gradient=n)  # of which some frameworks store a sum for each image
    return transpose(reshape(product, (filters, n, height, width)), (1, 0, 2, 3))


@result_of.register
def _of_attention(operator: products.Attention, arrays: Arrays, indices: Indices) -> Variable:
    scores = scale(matmul(arrays["query"], swap(arrays["key"])), operator.head_size**-0.5)
    seen = numpy.tri(operator.time) if operator.causal else numpy.ones((1, 1))
    return matmul(_softmax(scores, seen), arrays["value"])


@result_of.register
def _of_rnn_cell(operator: recurrent.RnnCell, arrays: Arrays, indices: Indices) -> Variable:
    def step(x: Variable, product: Variable, state: List[Variable]) -> List[Variable]:
        return [relu(add(x, product))]

    return _over_time(operator, arrays["x"], arrays["kernel"], step, 1)


@result_of.register
def _of_lstm_cell(operator: recurrent.LstmCell, arrays: Arrays, indices: Indices) -> Variable:
    return _over_time(operator, arrays["x"], arrays["kernel"], _lstm_step, 2)


@result_of.register
def _of_gru_cell(operator: recurrent.GruCell, arrays: Arrays, indices: Indices) -> Variable:
    def step(x: Variable, product: Variable, state: List[Variable]) -> List[Variable]:
        (x_r, x_z, x_n), (u_r, u_z, u_n) = _parts(x, 3), _parts(product, 3)
        reset, update = sigmoid(add(x_r, u_r)), sigmoid(add(x_z, u_z))
        new = tanh(add(x_n, multiply(reset, u_n)))
        return [add(multiply(subtract(constant(new, 1.0), update), new), multiply(update, state[0]))]

    return _over_time(operator, arrays["x"], arrays["kernel"], step, 1)


@result_of.register
def _of_lstm(operator: recurrent.Lstm, arrays: Arrays, indices: Indices) -> Variable:
    batch, timesteps, inputs = operator.batch, operator.timesteps, operator.inputs
    product = matmul(reshape(arrays["x"], (batch * timesteps, inputs)), swap(arrays["input_kernel"]))
    x = reshape(product, (batch, timesteps, 4 * operator.hidden))
    return _over_time(operator, x, arrays["hidden_kernel"], _lstm_step, 2)


_Step = Callable[[Variable, Variable, List[Variable]], List[Variable]]


def _over_time(
    operator: "recurrent._Cell | recurrent.Lstm", x: Variable, kernel: Variable, step: _Step, states: int
) -> Variable:
    """Return h (batch, timesteps, hidden) of a recurrence. `step` maps x_t, U h and the states to the new states."""
    state = [constant(x, numpy.zeros((operator.batch, operator.hidden)))] * states
    columns = swap(kernel)
    outputs = []
    for place in range(operator.timesteps):
        state = step(take(x, (slice(None), place)), matmul(state[0], columns), state)
        outputs.append(reshape(state[0], (operator.batch, 1, operator.hidden)))
    return concatenate(outputs, 1)


def _lstm_step(x: Variable, product: Variable, state: List[Variable]) -> List[Variable]:
    entered, forgotten, candidate, shown = _parts(add(x, product), 4)
    cell = add(multiply(sigmoid(forgotten), state[1]), multiply(sigmoid(entered), tanh(candidate)))
    return [multiply(sigmoid(shown), tanh(cell)), cell]


def _parts(x: Variable, count: int) -> List[Variable]:
    width = x.shape[-1] // count
    return [take(x, (slice(None), slice(part * width, (part + 1) * width))) for part in range(count)]


@result_of.register
def _of_softmax(operator: normalization.Softmax, arrays: Arrays, indices: Indices) -> Variable:
    return _softmax(arrays["x"], numpy.ones((1, 1)))


@result_of.register
def _of_layer_norm(operator: normalization.LayerNorm, arrays: Arrays, indices: Indices) -> Variable:
    x = arrays["x"]
    centered = subtract(x, reshape(mean(x, (-1,)), (operator.rows, 1)))
    variance = reshape(mean(multiply(centered, centered), (-1,)), (operator.rows, 1))
    return _affine(_divided(centered, variance), arrays, (operator.features,))


@result_of.register
def _of_batch_norm(operator: normalization.BatchNorm, arrays: Arrays, indices: Indices) -> Variable:
    x, shape = arrays["x"], (operator.c, 1, 1)
    if operator.training:
        centered = subtract(x, reshape(mean(x, (0, 2, 3)), shape))
        variance = reshape(mean(multiply(centered, centered), (0, 2, 3)), shape)
    else:
        centered = subtract(x, constant(x, numpy.full(shape, normalization.RUNNING_MEAN)))
        variance = constant(x, numpy.full(shape, normalization.RUNNING_VARIANCE))
    return _affine(_divided(centered, variance), arrays, shape)


@result_of.register
def _of_pooling(operator: reductions.Pooling, arrays: Arrays, indices: Indices) -> Variable:
    x = arrays["x"]
    if operator.mode == reductions.GLOBAL_AVERAGE:
        return mean(x, (2, 3))
    fill = -math.inf if operator.mode == reductions.MAX else 0.0
    kernel, stride, pad = ((size, size) for size in (operator.kernel, operator.stride, operator.pad))
    parts = windows(x, kernel, stride, pad, fill)
    return maximum(parts, (2, 3)) if operator.mode == reductions.MAX else mean(parts, (2, 3))


@result_of.register
def _of_sum(operator: reductions.Sum, arrays: Arrays, indices: Indices) -> Variable:
    return total(arrays["x"], (1,))


@result_of.register
def _of_cross_entropy(operator: reductions.CrossEntropy, arrays: Arrays, indices: Indices) -> Variable:
    logits, rows = arrays["logits"], operator.rows
    shifted = _shifted(logits)
    sums = log(total(exp(shifted), (1,)))
    flat = indices["labels"] + operator.classes * numpy.arange(rows)
    return mean(subtract(sums, take(reshape(shifted, (rows * operator.classes,)), flat)), (0,))


@result_of.register
def _of_mse(operator: reductions.Mse, arrays: Arrays, indices: Indices) -> Variable:
    difference = subtract(arrays["x"], arrays["target"])
    return mean(multiply(difference, difference), (0,))


@result_of.register
def _of_relu(operator: pointwise.Relu, arrays: Arrays, indices: Indices) -> Variable:
    return relu(arrays["x"])


@result_of.register
def _of_gelu(operator: pointwise.Gelu, arrays: Arrays, indices: Indices) -> Variable:
    x = arrays["x"]
    return multiply(scale(x, 0.5), add(erf(scale(x, math.sqrt(0.5))), constant(x, 1.0)))


@result_of.register
def _of_tanh(operator: pointwise.Tanh, arrays: Arrays, indices: Indices) -> Variable:
    return tanh(arrays["x"])


@result_of.register
def _of_add(operator: pointwise.Add, arrays: Arrays, indices: Indices) -> Variable:
    return add(arrays["a"], arrays["b"])


@result_of.register
def _of_embedding(operator: movement.Embedding, arrays: Arrays, indices: Indices) -> Variable:
    return take(arrays["table"], indices["indices"])


@result_of.register
def _of_transpose(operator: movement.Transpose, arrays: Arrays, indices: Indices) -> Variable:
    return transpose(arrays["x"], (1, 0))


@result_of.register
def _of_concat(operator: movement.Concat, arrays: Arrays, indices: Indices) -> Variable:
    return concatenate([arrays["a"], arrays["b"]], 1)


@result_of.register
def _of_all_reduce(operator: collective.AllReduce, arrays: Arrays, indices: Indices) -> Variable:
    return sum_over(list(arrays.values()))


@result_of.register
def _of_flatten(operator: movement.Flatten, arrays: Arrays, indices: Indices) -> Variable:
    return reshape(arrays["x"], operator.output().shape)


def _softmax(x: Variable, mask: numpy.ndarray) -> Variable:
    """Return the softmax over the last dimension, where the mask is 1."""
    powers = masked(exp(_shifted(x)), mask)
    return divide(powers, reshape(total(powers, (-1,)), (*x.shape[:-1], 1)))


def _shifted(x: Variable) -> Variable:
    """Return x minus the maximum of each row, on which the gradient does not depend."""
    return subtract(x, constant(x, x.value.max(-1, keepdims=True)))


def _divided(centered: Variable, variance: Variable) -> Variable:
    epsilon = constant(variance, normalization.EPSILON)
    return multiply(centered, reciprocal_root(add(variance, epsilon)))


def _affine(x: Variable, arrays: Arrays, shape: Tuple[int, ...]) -> Variable:
    return add(multiply(x, reshape(arrays["scale"], shape)), reshape(arrays["offset"], shape))
