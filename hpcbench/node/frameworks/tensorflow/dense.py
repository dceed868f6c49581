"""Fully connected layers of TensorFlow, and the dtypes of a network."""

from typing import Any, Dict, NamedTuple, Optional

import numpy
import tensorflow as tf

Arrays = Dict[str, numpy.ndarray]
Tensor = Any


class Formats(NamedTuple):
    """The dtypes of a network: of its weights, and of its arithmetic."""

    weights: tf.DType
    arithmetic: tf.DType

    def variable(self, array: "numpy.ndarray") -> tf.Variable:
        """Return a variable with the values of `array`, in the dtype of weights."""
        return tf.Variable(array, dtype=self.weights)


class Dense(tf.Module):
    """A fully connected layer over the last dimension."""

    def __init__(self, kernel: "numpy.ndarray", bias: "Optional[numpy.ndarray]", formats: Formats) -> None:
        """Create the layer with a `kernel` (outputs, inputs) and a `bias` (outputs,), or None."""
        super().__init__()
        self.kernel = formats.variable(kernel.T)
        self.bias = None if bias is None else formats.variable(bias)

    def __call__(self, batch: Tensor, training: bool) -> Tensor:
        return self.product(batch)

    def product(self, batch: Tensor) -> Tensor:
        """Return kernel * batch + bias, for a batch (..., inputs)."""
        rows = tf.reshape(batch, (-1, batch.shape[-1]))
        result = tf.matmul(rows, in_dtype_of(batch, self.kernel))
        if self.bias is not None:
            result = tf.nn.bias_add(result, in_dtype_of(batch, self.bias))
        return tf.reshape(result, (*batch.shape[:-1], result.shape[-1]))


def in_dtype_of(batch: Tensor, other: Any) -> Tensor:
    """Return `other` in the dtype of `batch`."""
    return tf.cast(other, batch.dtype)
