"""LSTM layers of TensorFlow."""

from typing import Any

import tensorflow as tf

from ....models import layers
from .dense import Arrays, Dense, Formats, Tensor, in_dtype_of


class Lstm(tf.Module):
    """A stacked LSTM, forward or in both directions."""

    def __init__(self, layer: layers.Lstm, arrays: Arrays, formats: Formats) -> None:
        super().__init__()
        self.directions = []
        for depth in range(layer.layers):
            places = ["%d_%d" % (depth, direction) for direction in range(layer.directions)]
            self.directions.append([LstmDirection(arrays, place, formats) for place in places])

    def __call__(self, batch: Tensor, training: bool) -> Tensor:
        sequence = tf.transpose(batch, (1, 0, 2))
        for directions in self.directions:
            sequence = tf.concat([direction.run(sequence) for direction in directions], 2)
        return tf.transpose(sequence, (1, 0, 2))


class LstmDirection(tf.Module):
    """One layer in one direction over (time, batch, features). One product covers the inputs of all time steps.

    On CPUs it is faster than the fused operation BlockLSTMV2, which XLA does not support.
    """

    def __init__(self, arrays: Arrays, place: str, formats: Formats) -> None:
        super().__init__()
        self.inward = Dense(arrays["input_kernel_" + place], arrays["bias_" + place], formats)
        self.kernel = formats.variable(arrays["hidden_kernel_" + place].T)
        self.backward = place.endswith("_1")

    def run(self, sequence: Tensor) -> Tensor:
        """Return (time, batch, hidden) for (time, batch, features)."""
        inward, kernel = self.inward.product(sequence), in_dtype_of(sequence, self.kernel)
        steps = inward.shape[0]
        start = tf.zeros((inward.shape[1], kernel.shape[0]), inward.dtype)
        if tf.executing_eagerly():
            return self._listed(inward, kernel, start)
        incoming = tf.TensorArray(inward.dtype, steps, element_shape=inward.shape[1:]).unstack(inward)
        results = tf.TensorArray(inward.dtype, steps, element_shape=start.shape)

        def advance(step: Tensor, hidden: Tensor, cell: Tensor, results: Tensor) -> Any:
            place = steps - 1 - step if self.backward else step
            hidden, cell = _cell(incoming.read(place) + tf.matmul(hidden, kernel), cell)
            return step + 1, hidden, cell, results.write(place, hidden)

        done = tf.while_loop(
            lambda step, *state: step < steps, advance, (0, start, start, results), maximum_iterations=steps
        )
        return done[-1].stack()

    def _listed(self, inward: Tensor, kernel: Tensor, start: Tensor) -> Tensor:
        """Run the steps in a Python loop, which is faster in eager execution."""
        hidden, cell, results = start, start, []
        for incoming in tf.unstack(inward)[:: -1 if self.backward else 1]:
            hidden, cell = _cell(incoming + tf.matmul(hidden, kernel), cell)
            results.append(hidden)
        return tf.stack(results[:: -1 if self.backward else 1])


def _cell(gates: Tensor, cell: Tensor) -> Any:
    inward, forget, new, outward = tf.split(gates, 4, 1)
    cell = tf.sigmoid(forget) * cell + tf.sigmoid(inward) * tf.tanh(new)
    return tf.sigmoid(outward) * tf.tanh(cell), cell
