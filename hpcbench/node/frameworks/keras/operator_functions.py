"""The functions of operators in Keras 3, for all of its backends: of keras.ops, and its layers LSTM and Dropout.

Each takes an operator, its arrays and its state by name. Images have the layout of the backend, kernels are (height,
width, channels, filters), and matrices of layers (inputs, outputs).
"""

from functools import lru_cache
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Type

import keras
from keras import ops

from ....models.losses import MSE
from ....models.operators import movement, normalization, pointwise, products, recurrent, reductions
from ....models.operators.operator import Operator
from .layers import CHANNELS, CHANNELS_FIRST
from .losses import LOSSES, cross_entropy

Tensor = Any
Function = Callable[..., Tensor]
State = Callable[[Any, int, Any], Dict[str, Tensor]]  # takes an operator, a seed and a dtype
_SIDES = (2, 3) if CHANNELS_FIRST else (1, 2)


def _of(function: Function) -> Function:
    """Return a function that needs no sizes as one that takes the operator."""
    return lambda operator, **arrays: function(**arrays)


def _gemm(operator: products.Gemm, a: Tensor, b: Tensor) -> Tensor:
    return ops.matmul(ops.transpose(a) if operator.a_trans else a, ops.transpose(b) if operator.b_trans else b)


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return ops.add(ops.matmul(x, weight), bias)


def _conv2d(operator: products.Conv2d, x: Tensor, kernel: Tensor) -> Tensor:
    sides = ((operator.pad_h, operator.filter_h), (operator.pad_w, operator.filter_w))
    strides = (operator.stride_h, operator.stride_w)
    if strides == (1, 1) and all(2 * pad + 1 == size for pad, size in sides):
        return ops.conv(x, kernel, strides, "same")
    return ops.conv(_padded(x, operator.pad_h, operator.pad_w), kernel, strides, "valid")


def _padded(x: Tensor, height: int, width: int, value: float = 0.0) -> Tensor:
    sides = [(0, 0)] * 4
    sides[_SIDES[0]], sides[_SIDES[1]] = (height, height), (width, width)
    return ops.pad(x, sides, constant_values=value) if height or width else x


def _attention(operator: products.Attention, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attend with Keras' function, which takes (batch, time, heads, head_size)."""
    parts = (ops.swapaxes(part, 1, 2) for part in (query, key, value))
    return ops.swapaxes(ops.dot_product_attention(*parts, is_causal=operator.causal), 1, 2)


def _lstm(operator: recurrent.Lstm, x: Tensor, layer: Optional[keras.Layer] = None, **arrays: Tensor) -> Tensor:
    """Run Keras' layer, with a bias of zeros: without a bias, it does not use cuDNN."""
    layer = layer or lstm_layer(operator, keras.backend.standardize_dtype(x.dtype))
    weights = [arrays[name] for name in ("input_kernel", "hidden_kernel", "bias")]
    return layer.stateless_call(weights, [arrays["seed"]], x)[0]


@lru_cache(maxsize=8)
def lstm_layer(operator: recurrent.Lstm, dtype: str) -> keras.Layer:
    """Return the layer of an operator; a state creates it, so that its variables are not of a trace."""
    layer = keras.layers.LSTM(operator.hidden, return_sequences=True, recurrent_initializer="zeros", dtype=dtype)
    layer.build((operator.batch, operator.timesteps, operator.inputs))
    return layer


def _lstm_state(operator: recurrent.Lstm, seed: int, dtype: Any) -> Dict[str, Tensor]:
    layer = lstm_layer(operator, keras.backend.standardize_dtype(dtype))
    return {"bias": ops.zeros(4 * operator.hidden, dtype), "seed": layer.non_trainable_variables[0].value}


Step = Callable[[Tensor, Tensor, Sequence[Tensor]], List[Tensor]]


def _recurrence(step: Step, states: int) -> Function:
    """Return a scan over time; `step` maps x_t, U h and the states to the new states."""

    def function(operator: Any, x: Tensor, kernel: Tensor) -> Tensor:
        def advance(state: List[Tensor], x_t: Tensor) -> Tuple[List[Tensor], List[Tensor]]:
            state = step(x_t, ops.matmul(state[0], kernel), state)
            return state, state  # TensorFlow needs results like the states

        start = [ops.zeros((operator.batch, operator.hidden), x.dtype) for _ in range(states)]
        results = ops.scan(advance, start, ops.swapaxes(x, 0, 1), operator.timesteps)[1]
        return ops.swapaxes(results[0], 0, 1)

    return function


def rnn_step(x: Tensor, product: Tensor, state: Sequence[Tensor]) -> List[Tensor]:
    """Return the hidden state of a vanilla RNN."""
    return [ops.relu(x + product)]


def lstm_step(x: Tensor, product: Tensor, state: Sequence[Tensor]) -> List[Tensor]:
    """Return hidden and cell of an LSTM."""
    entered, forgotten, candidate, shown = ops.split(x + product, 4, 1)
    cell = ops.sigmoid(forgotten) * state[1] + ops.sigmoid(entered) * ops.tanh(candidate)
    return [ops.sigmoid(shown) * ops.tanh(cell), cell]


def gru_step(x: Tensor, product: Tensor, state: Sequence[Tensor]) -> List[Tensor]:
    """Return the hidden state of a GRU."""
    (x_r, x_z, x_n), (u_r, u_z, u_n) = ops.split(x, 3, 1), ops.split(product, 3, 1)
    update, new = ops.sigmoid(x_z + u_z), ops.tanh(x_n + ops.sigmoid(x_r + u_r) * u_n)
    return [(1 - update) * new + update * state[0]]


def _layer_norm(x: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
    return ops.layer_normalization(x, scale, offset, epsilon=normalization.EPSILON)


def _batch_norm(
    operator: normalization.BatchNorm, x: Tensor, scale: Tensor, offset: Tensor, **running: Tensor
) -> Tensor:
    """Normalize as Keras' layer does, in at least float32. Do not update running statistics."""
    dtype = keras.backend.result_type(x.dtype, "float32")
    values, scale, offset = (ops.cast(each, dtype) for each in (x, scale, offset))
    if operator.training:
        mean, variance = ops.moments(values, [axis for axis in range(4) if axis != CHANNELS % 4])
    else:
        mean, variance = (ops.cast(running[name], dtype) for name in ("mean", "variance"))
    normalized = ops.batch_normalization(values, mean, variance, CHANNELS, offset, scale, normalization.EPSILON)
    return ops.cast(normalized, x.dtype)


def _running(operator: normalization.BatchNorm, seed: int, dtype: Any) -> Dict[str, Tensor]:
    if operator.training:
        return {}
    running = {"mean": normalization.RUNNING_MEAN, "variance": normalization.RUNNING_VARIANCE}
    return {name: ops.full((operator.c,), value, dtype) for name, value in running.items()}


def _pooling(operator: reductions.Pooling, x: Tensor) -> Tensor:
    if operator.mode == reductions.GLOBAL_AVERAGE:
        return ops.mean(x, _SIDES)
    is_max = operator.mode == reductions.MAX
    padded = _padded(x, operator.pad, operator.pad, float("-inf") if is_max else 0.0)
    return (ops.max_pool if is_max else ops.average_pool)(padded, operator.kernel, operator.stride, "valid")


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the loss of networks; on JAX, that of numbers of 16 bits is in float32."""
    return ops.cast(cross_entropy(logits, labels), logits.dtype)


def _dropout(operator: pointwise.Dropout, x: Tensor, seed: Tensor, layer: Optional[keras.Layer] = None) -> Tensor:
    """Run Keras' layer. On JAX and TensorFlow, it draws the same random numbers in each call."""
    layer = layer or _dropout_layer(operator, keras.backend.standardize_dtype(x.dtype))
    return layer.stateless_call([], [seed], x, training=True)[0]


@lru_cache(maxsize=8)
def _dropout_layer(operator: pointwise.Dropout, dtype: str) -> keras.Layer:
    """Return the layer of an operator, as `lstm_layer` does."""
    layer = keras.layers.Dropout(operator.rate, dtype=dtype)
    layer.build((operator.size,))
    return layer


def _dropout_state(operator: pointwise.Dropout, seed: int, dtype: Any) -> Dict[str, Tensor]:
    keras.utils.set_random_seed(seed)
    layer = _dropout_layer(operator, keras.backend.standardize_dtype(dtype))
    return {"seed": layer.non_trainable_variables[0].value}


def _transpose(operator: movement.Transpose, x: Tensor) -> Tensor:
    """Exchange the dimensions, and copy: on PyTorch, the transpose alone is a view."""
    return ops.reshape(ops.ravel(ops.transpose(x)), (operator.columns, operator.rows))


def _flatten(operator: movement.Flatten, x: Tensor) -> Tensor:
    return ops.reshape(x if CHANNELS_FIRST else ops.transpose(x, (0, 3, 1, 2)), (operator.n, -1))


FUNCTIONS: Dict[Type[Operator], Function] = {
    products.Gemm: _gemm,
    products.SparseGemm: _of(lambda a, b: ops.matmul(a, b)),
    products.Bmm: _of(lambda a, b: ops.matmul(a, b)),
    products.Linear: _of(_linear),
    products.Conv2d: _conv2d,
    products.Attention: _attention,
    recurrent.Lstm: _lstm,
    recurrent.RnnCell: _recurrence(rnn_step, 1),
    recurrent.LstmCell: _recurrence(lstm_step, 2),
    recurrent.GruCell: _recurrence(gru_step, 1),
    normalization.Softmax: _of(lambda x: ops.softmax(x)),
    normalization.LayerNorm: _of(_layer_norm),
    normalization.BatchNorm: _batch_norm,
    reductions.Pooling: _pooling,
    reductions.Sum: _of(lambda x: ops.sum(x, 1)),
    reductions.CrossEntropy: _of(_cross_entropy),
    reductions.Mse: _of(lambda x, target: LOSSES[MSE](x, target)),
    pointwise.Relu: _of(lambda x: ops.relu(x)),
    pointwise.Gelu: _of(lambda x: ops.gelu(x, approximate=False)),
    pointwise.Tanh: _of(lambda x: ops.tanh(x)),
    pointwise.Add: _of(lambda a, b: ops.add(a, b)),
    pointwise.Dropout: _dropout,
    movement.Embedding: _of(lambda indices, table: ops.take(table, indices, 0)),
    movement.Transpose: _transpose,
    movement.Concat: _of(lambda a, b: ops.concatenate([a, b], CHANNELS)),
    movement.Flatten: _flatten,
}
STATES: Dict[Type[Operator], State] = {
    recurrent.Lstm: _lstm_state,
    normalization.BatchNorm: _running,
    pointwise.Dropout: _dropout_state,
}
# The layers of functions, which find them, or take them as `layer`: torch.compile would trace the construction.
LAYERS: Dict[Type[Operator], Callable[[Any, str], keras.Layer]] = {
    recurrent.Lstm: lstm_layer,
    pointwise.Dropout: _dropout_layer,
}
# Functions that compute in float32 for arrays of float64: on PyTorch and JAX, Keras' promotion of dtypes returns it.
_IN_FLOAT32: Tuple[Type[Operator], ...] = (
    products.Attention,
    recurrent.LstmCell,
    recurrent.GruCell,
    normalization.LayerNorm,
    normalization.BatchNorm,
    reductions.Pooling,  # in the mode global_average
    reductions.CrossEntropy,
    reductions.Mse,
)


def without_float64(*further: Type[Operator]) -> Dict[Type[Operator], str]:
    """Return why these and further operators of PyTorch or JAX have no float64."""
    return dict.fromkeys((*_IN_FLOAT32, *further), "Keras promotes it to float32 on this backend")
