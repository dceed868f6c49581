"""LSTM layers of TensorFlow."""

import tensorflow as tf

from ....models import layers
from .dense import Arrays, Dense, Formats, Tensor, in_dtype_of
from .recurrence import LSTM, over_time


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
        kernel = in_dtype_of(sequence, self.kernel)
        return over_time(LSTM, self.inward.product(sequence), kernel, self.backward)
