"""The functions of operators in TensorFlow. Each takes an operator, and its arrays by name.

Images are (n, height, width, channels), kernels (height, width, channels, filters), and matrices of layers (inputs,
outputs).
"""

from typing import Any, Callable, Dict, List, Mapping, Sequence, Type

import tensorflow as tf

from ....core.frameworks import COMPILED, EAGER
from ....models.operators import movement, normalization, pointwise, products, recurrent, reductions
from ....models.operators.operator import Operator
from .recurrence import LSTM, Recurrence, over_time, with_own_gradient

Tensor = Any
Function = Callable[..., Tensor]
State = Callable[[Any, int, str], Dict[str, Tensor]]  # takes an operator, a seed and a dtype


def _of(function: Function) -> Function:
    """Return a function that needs no sizes as one that takes the operator."""
    return lambda operator, **arrays: function(**arrays)


def _gemm(operator: products.Gemm, a: Tensor, b: Tensor) -> Tensor:
    return tf.matmul(a, b, transpose_a=operator.a_trans, transpose_b=operator.b_trans)


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return tf.nn.bias_add(tf.matmul(x, weight), bias)


def _linear_apart(operator: Operator, wanted: Sequence[str], x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Add the bias by an operation whose gradient is that of the wanted arrays alone."""
    return _linear(x, weight, bias) if "bias" in wanted else tf.add(tf.matmul(x, weight), bias)


def _conv2d(operator: products.Conv2d, x: Tensor, kernel: Tensor) -> Tensor:
    padded, padding = _padded_for(operator, x)
    return tf.nn.conv2d(padded, kernel, (operator.stride_h, operator.stride_w), padding)


def _conv2d_apart(operator: products.Conv2d, wanted: Sequence[str], x: Tensor, kernel: Tensor) -> Tensor:
    """Convolve with the gradients of the wanted arrays alone: TensorFlow's gradient in eager execution has both."""
    padded, padding = _padded_for(operator, x)
    sizes = {"strides": (1, operator.stride_h, operator.stride_w, 1), "padding": padding}

    @tf.custom_gradient
    def convolve(padded: Tensor, kernel: Tensor) -> Any:
        def gradient(cotangent: Tensor) -> Any:
            of_input = of_kernel = None
            if "x" in wanted:
                of_input = tf.raw_ops.Conv2DBackpropInput(
                    input_sizes=padded.shape, filter=kernel, out_backprop=cotangent, **sizes
                )
            if "kernel" in wanted:
                of_kernel = tf.raw_ops.Conv2DBackpropFilter(
                    input=padded, filter_sizes=kernel.shape, out_backprop=cotangent, **sizes
                )
            return of_input, of_kernel

        return tf.raw_ops.Conv2D(input=padded, filter=kernel, **sizes), gradient

    return convolve(padded, kernel)


def _padded_for(operator: products.Conv2d, x: Tensor) -> Any:
    """Return the images, padded unless the operation's own padding is equivalent, and the name of its padding."""
    sides = ((operator.pad_h, operator.filter_h), (operator.pad_w, operator.filter_w))
    is_same = operator.stride_h == operator.stride_w == 1 and all(2 * pad + 1 == size for pad, size in sides)
    return (x, "SAME") if is_same else (_padded(x, operator.pad_h, operator.pad_w), "VALID")


def _padded(x: Tensor, height: int, width: int, value: float = 0.0) -> Tensor:
    """Return images with a border; on CPUs this is faster than the operations' own EXPLICIT padding."""
    sides = [(0, 0), (height, height), (width, width), (0, 0)]
    return tf.pad(x, sides, constant_values=value) if height or width else x


def _attention(operator: products.Attention, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = tf.matmul(query * operator.head_size**-0.5, key, transpose_b=True)
    if operator.causal:
        earlier = tf.linalg.band_part(tf.ones((operator.time,) * 2, tf.bool), -1, 0)
        scores = tf.where(earlier, scores, scores.dtype.min)
    return tf.matmul(tf.nn.softmax(scores), value)


_Loop = Callable[[Recurrence, Tensor, Tensor], Tensor]


def _lstm(operator: recurrent.Lstm, x: Tensor, input_kernel: Tensor, hidden_kernel: Tensor) -> Tensor:
    return _lstm_layer(over_time, x, input_kernel, hidden_kernel)


def _lstm_layer(loop: _Loop, x: Tensor, input_kernel: Tensor, hidden_kernel: Tensor) -> Tensor:
    """Run the layer of networks (lstm.py): one product covers the inputs of all time steps."""
    time, batch, features = (x.shape[place] for place in (1, 0, 2))
    rows = tf.reshape(tf.transpose(x, (1, 0, 2)), (-1, features))
    sequence = tf.reshape(tf.matmul(rows, input_kernel), (time, batch, -1))
    return tf.transpose(loop(LSTM, sequence, hidden_kernel), (1, 0, 2))


def _cell(loop: _Loop, recurrence: Recurrence, x: Tensor, kernel: Tensor) -> Tensor:
    return tf.transpose(loop(recurrence, tf.transpose(x, (1, 0, 2)), kernel), (1, 0, 2))


def _rnn_step(x: Tensor, product: Tensor, state: Sequence[Tensor]) -> List[Tensor]:
    return [tf.nn.relu(x + product)]


def _gru_step(x: Tensor, product: Tensor, state: Sequence[Tensor]) -> List[Tensor]:
    (x_r, x_z, x_n), (u_r, u_z, u_n) = tf.split(x, 3, 1), tf.split(product, 3, 1)
    update, new = tf.sigmoid(x_z + u_z), tf.tanh(x_n + tf.sigmoid(x_r + u_r) * u_n)
    return [(1 - update) * new + update * state[0]]


_RECURRENCES: Dict[Type[Operator], Recurrence] = {
    recurrent.RnnCell: Recurrence(_rnn_step, 1),
    recurrent.LstmCell: LSTM,
    recurrent.GruCell: Recurrence(_gru_step, 1),
}


def _any_cell(operator: Operator, x: Tensor, kernel: Tensor) -> Tensor:
    return _cell(over_time, _RECURRENCES[type(operator)], x, kernel)


def _any_cell_apart(operator: Operator, wanted: Sequence[str], x: Tensor, kernel: Tensor) -> Tensor:
    return _cell(with_own_gradient, _RECURRENCES[type(operator)], x, kernel)


def _lstm_apart(operator: Operator, wanted: Sequence[str], **arrays: Tensor) -> Tensor:
    return _lstm_layer(with_own_gradient, **arrays)


def _layer_norm(operator: normalization.LayerNorm, x: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
    """Normalize as the layer of networks does, in at least float32."""
    values, scale, offset = (_not_16_bits(each) for each in (x, scale, offset))
    centered = values - tf.reduce_mean(values, -1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centered), -1, keepdims=True)
    return tf.cast(centered * tf.math.rsqrt(variance + normalization.EPSILON) * scale + offset, x.dtype)


def _batch_norm(
    operator: normalization.BatchNorm, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor
) -> Tensor:
    """Normalize with the operation of networks, which takes float32 or 16 bits, with parameters in float32."""
    return tf.raw_ops.FusedBatchNormV3(
        x=x,
        scale=_not_16_bits(scale),
        offset=_not_16_bits(offset),
        mean=mean,
        variance=variance,
        epsilon=normalization.EPSILON,
        is_training=operator.training,
    ).y


def _running(operator: normalization.BatchNorm, seed: int, dtype: str) -> Dict[str, Tensor]:
    """Return the running statistics, in float32. The operation ignores them in training."""
    running = {"mean": normalization.RUNNING_MEAN, "variance": normalization.RUNNING_VARIANCE}
    return {name: tf.fill((operator.c,), value) for name, value in running.items()}


def _not_16_bits(x: Tensor) -> Tensor:
    return tf.cast(x, tf.float32) if x.dtype.size == 2 else x


def _pooling(operator: reductions.Pooling, x: Tensor) -> Tensor:
    if operator.mode == reductions.GLOBAL_AVERAGE:
        return tf.reduce_mean(x, (1, 2))
    if operator.mode == reductions.MAX:
        padded = _padded(x, operator.pad, operator.pad, x.dtype.min)
        return tf.nn.max_pool2d(padded, operator.kernel, operator.stride, "VALID")
    return tf.nn.avg_pool2d(_padded(x, operator.pad, operator.pad), operator.kernel, operator.stride, "VALID")


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def _mse(x: Tensor, target: Tensor) -> Tensor:
    return tf.reduce_mean(tf.math.squared_difference(x, target))


def _flatten(x: Tensor) -> Tensor:
    return tf.reshape(tf.transpose(x, (0, 3, 1, 2)), (x.shape[0], -1))


FUNCTIONS: Dict[Type[Operator], Function] = {
    products.Gemm: _gemm,
    products.SparseGemm: _of(lambda a, b: tf.sparse.sparse_dense_matmul(a, b)),
    products.Bmm: _of(lambda a, b: tf.matmul(a, b)),
    products.Linear: _of(_linear),
    products.Conv2d: _conv2d,
    products.Attention: _attention,
    recurrent.Lstm: _lstm,
    recurrent.RnnCell: _any_cell,
    recurrent.LstmCell: _any_cell,
    recurrent.GruCell: _any_cell,
    normalization.Softmax: _of(lambda x: tf.nn.softmax(x)),
    normalization.LayerNorm: _layer_norm,
    normalization.BatchNorm: _batch_norm,
    reductions.Pooling: _pooling,
    reductions.Sum: _of(lambda x: tf.reduce_sum(x, 1)),
    reductions.CrossEntropy: _of(_cross_entropy),
    reductions.Mse: _of(_mse),
    pointwise.Relu: _of(lambda x: tf.nn.relu(x)),
    pointwise.Gelu: _of(lambda x: tf.nn.gelu(x)),
    pointwise.Tanh: _of(lambda x: tf.tanh(x)),
    pointwise.Add: _of(lambda a, b: tf.add(a, b)),
    pointwise.Dropout: lambda operator, x: tf.nn.dropout(x, operator.rate),
    movement.Embedding: _of(lambda indices, table: tf.gather(table, indices)),
    movement.Transpose: _of(lambda x: tf.transpose(x)),
    movement.Concat: _of(lambda a, b: tf.concat([a, b], -1)),
    movement.Flatten: _of(_flatten),
}
# Functions for backward passes, by execution: the gradients of those above would compute more than the wanted arrays,
# or cannot be compiled apart from the forward pass. They also take the names of the wanted arrays.
APART: Mapping[str, Mapping[Type[Operator], Function]] = {
    EAGER: {products.Linear: _linear_apart, products.Conv2d: _conv2d_apart},
    COMPILED: {recurrent.Lstm: _lstm_apart, **dict.fromkeys(_RECURRENCES, _any_cell_apart)},
}
RECURRENT = tuple(APART[COMPILED])
STATES: Dict[Type[Operator], State] = {normalization.BatchNorm: _running}
WITHOUT_FLOAT64: Dict[Type[Operator], str] = {
    normalization.BatchNorm: "TensorFlow's operation FusedBatchNormV3 takes float32, bfloat16 and float16",
    pointwise.Gelu: "tf.nn.gelu has the square root of 2 in float32",
}
WITHOUT_XLA: Dict[Type[Operator], str] = {
    products.SparseGemm: "it does not have TensorFlow's operation SparseTensorDenseMatMul",
}
