"""The functions of operators in JAX: of jax.numpy, jax.lax, jax.nn and Optax, and the layers of Flax.

Each takes an operator, its arrays and its state by name. Images are (n, height, width, channels), kernels (height,
width, channels, filters), and matrices of layers (inputs, outputs).
"""

from typing import Any, Callable, Dict, List, Tuple, Type

import jax
import optax
from flax import nnx
from jax import lax
from jax import numpy as jnp
from jax.experimental import sparse

from ....models.operators import movement, normalization, pointwise, products, recurrent, reductions
from ....models.operators.operator import Operator
from .operators import Arrays, Function, State


def _of(function: Function) -> Function:
    """Return a function that needs no sizes as one that takes the operator."""
    return lambda operator, **arrays: function(**arrays)


def _gemm(operator: products.Gemm, a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.matmul(a.T if operator.a_trans else a, b.T if operator.b_trans else b)


def _sparse_gemm(a: sparse.BCSR, b: jax.Array) -> jax.Array:
    """Multiply with sums in float32 or float64: `a @ b` would add numbers of 16 bits in 16 bits."""
    contracted, sums = (((1,), (0,)), ((), ())), jnp.promote_types(b.dtype, jnp.float32)
    return sparse.bcsr_dot_general(a, b, dimension_numbers=contracted, preferred_element_type=sums).astype(b.dtype)


def _conv2d(operator: products.Conv2d, x: jax.Array, kernel: jax.Array) -> jax.Array:
    sides = [(pad, pad) for pad in (operator.pad_h, operator.pad_w)]
    strides = (operator.stride_h, operator.stride_w)
    return lax.conv_general_dilated(x, kernel, strides, sides, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _attention(operator: products.Attention, query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """Attend with JAX's function, which takes (batch, time, heads, head_size): XLA removes the transposes."""
    parts = (part.swapaxes(1, 2) for part in (query, key, value))
    return jax.nn.dot_product_attention(*parts, is_causal=operator.causal).swapaxes(1, 2)


def _lstm(operator: recurrent.Lstm, x: jax.Array, input_kernel: jax.Array, hidden_kernel: jax.Array) -> jax.Array:
    """Run Flax's layer. XLA removes the sum with its bias of zeros."""
    common = {"dtype": x.dtype, "param_dtype": x.dtype, "rngs": nnx.Rngs(0)}
    cell = nnx.OptimizedLSTMCell(operator.inputs, operator.hidden, **common)
    cell.dense_i.kernel = nnx.Param(input_kernel)
    cell.dense_h.kernel = nnx.Param(hidden_kernel)
    return nnx.RNN(cell, rngs=common["rngs"])(x)


_Step = Callable[[jax.Array, jax.Array, List[jax.Array]], List[jax.Array]]


def _recurrence(step: _Step, states: int) -> Function:
    """Return a scan over time; `step` maps x_t, U h and the states to the new states."""

    def function(operator: Any, x: jax.Array, kernel: jax.Array) -> jax.Array:
        def advance(state: List[jax.Array], x_t: jax.Array) -> Tuple[List[jax.Array], jax.Array]:
            state = step(x_t, jnp.matmul(state[0], kernel), state)
            return state, state[0]

        start = [jnp.zeros((operator.batch, operator.hidden), x.dtype)] * states
        return lax.scan(advance, start, x.swapaxes(0, 1))[1].swapaxes(0, 1)

    return function


def _rnn_step(x: jax.Array, product: jax.Array, state: List[jax.Array]) -> List[jax.Array]:
    return [jax.nn.relu(x + product)]


def _lstm_step(x: jax.Array, product: jax.Array, state: List[jax.Array]) -> List[jax.Array]:
    entered, forgotten, candidate, shown = jnp.split(x + product, 4, 1)
    cell = jax.nn.sigmoid(forgotten) * state[1] + jax.nn.sigmoid(entered) * jnp.tanh(candidate)
    return [jax.nn.sigmoid(shown) * jnp.tanh(cell), cell]


def _gru_step(x: jax.Array, product: jax.Array, state: List[jax.Array]) -> List[jax.Array]:
    (x_r, x_z, x_n), (u_r, u_z, u_n) = jnp.split(x, 3, 1), jnp.split(product, 3, 1)
    update, new = jax.nn.sigmoid(x_z + u_z), jnp.tanh(x_n + jax.nn.sigmoid(x_r + u_r) * u_n)
    return [(1 - update) * new + update * state[0]]


def _layer_norm(operator: normalization.LayerNorm, x: jax.Array, scale: jax.Array, offset: jax.Array) -> jax.Array:
    layer = nnx.LayerNorm(operator.features, **_norm(x))
    layer.scale, layer.bias = nnx.Param(scale), nnx.Param(offset)
    return layer(x)


def _batch_norm(
    operator: normalization.BatchNorm, x: jax.Array, scale: jax.Array, offset: jax.Array, **running: jax.Array
) -> jax.Array:
    layer = nnx.BatchNorm(operator.c, use_running_average=not operator.training, **_norm(x))
    layer.scale, layer.bias = nnx.Param(scale), nnx.Param(offset)
    if not operator.training:
        layer.mean, layer.var = (nnx.BatchStat(running[name]) for name in ("mean", "variance"))
    return layer(x)


def _norm(x: jax.Array) -> Dict[str, Any]:
    return {"epsilon": normalization.EPSILON, "dtype": x.dtype, "param_dtype": x.dtype, "rngs": nnx.Rngs(0)}


def _running(operator: normalization.BatchNorm, seed: int, dtype: Any) -> Arrays:
    if operator.training:
        return {}
    running = {"mean": normalization.RUNNING_MEAN, "variance": normalization.RUNNING_VARIANCE}
    return {name: jnp.full(operator.c, value, dtype) for name, value in running.items()}


def _pooling(operator: reductions.Pooling, x: jax.Array) -> jax.Array:
    if operator.mode == reductions.GLOBAL_AVERAGE:
        return x.mean((1, 2))
    pool = nnx.max_pool if operator.mode == reductions.MAX else nnx.avg_pool
    return pool(x, (operator.kernel,) * 2, (operator.stride,) * 2, [(operator.pad,) * 2] * 2)


def _cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def _dropout(operator: pointwise.Dropout, x: jax.Array, key: jax.Array) -> jax.Array:
    """Drop elements by random numbers, which are drawn from the same key in each call."""
    return nnx.Dropout(operator.rate)(x, deterministic=False, rngs=nnx.Rngs(key))


def _flatten(x: jax.Array) -> jax.Array:
    return x.transpose(0, 3, 1, 2).reshape(len(x), -1)


FUNCTIONS: Dict[Type[Operator], Function] = {
    products.Gemm: _gemm,
    products.SparseGemm: _of(_sparse_gemm),
    products.Bmm: _of(lambda a, b: jnp.matmul(a, b)),
    products.Linear: _of(lambda x, weight, bias: jnp.matmul(x, weight) + bias),
    products.Conv2d: _conv2d,
    products.Attention: _attention,
    recurrent.Lstm: _lstm,
    recurrent.RnnCell: _recurrence(_rnn_step, 1),
    recurrent.LstmCell: _recurrence(_lstm_step, 2),
    recurrent.GruCell: _recurrence(_gru_step, 1),
    normalization.Softmax: _of(lambda x: jax.nn.softmax(x)),
    normalization.LayerNorm: _layer_norm,
    normalization.BatchNorm: _batch_norm,
    reductions.Pooling: _pooling,
    reductions.Sum: _of(lambda x: x.sum(1)),
    reductions.CrossEntropy: _of(_cross_entropy),
    reductions.Mse: _of(lambda x, target: optax.squared_error(x, target).mean()),
    pointwise.Relu: _of(lambda x: jax.nn.relu(x)),
    pointwise.Gelu: _of(lambda x: jax.nn.gelu(x, approximate=False)),
    pointwise.Tanh: _of(lambda x: jnp.tanh(x)),
    pointwise.Add: _of(lambda a, b: jnp.add(a, b)),
    pointwise.Dropout: _dropout,
    movement.Embedding: _of(lambda indices, table: jnp.take(table, indices, axis=0)),
    movement.Transpose: _of(lambda x: x.T),
    movement.Concat: _of(lambda a, b: jnp.concatenate([a, b], -1)),
    movement.Flatten: _of(_flatten),
}
STATES: Dict[Type[Operator], State] = {
    normalization.BatchNorm: _running,
    pointwise.Dropout: lambda operator, seed, dtype: {"key": jax.random.key(seed)},
}
WITHOUT_FLOAT64: Dict[Type[Operator], str] = {
    products.Attention: "jax.nn.dot_product_attention computes its softmax in float32",
}
