"""The losses by name, of outputs in float32, in the operations of Keras for all of its backends."""

from typing import Any, Callable, Dict

import keras
from keras import ops

from ....models.losses import BINARY_CROSS_ENTROPY, CROSS_ENTROPY, L1, MSE

Tensor = Any


def cross_entropy(output: Tensor, labels: Tensor) -> Tensor:
    """Return the mean softmax cross entropy of logits and class indices."""
    return ops.mean(keras.losses.sparse_categorical_crossentropy(labels, output, from_logits=True))


def _binary_cross_entropy(output: Tensor, targets: Tensor) -> Tensor:
    return ops.mean(ops.binary_crossentropy(targets, output, from_logits=True))


LOSSES: Dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    CROSS_ENTROPY: cross_entropy,
    MSE: lambda output, targets: ops.mean(ops.square(output - targets)),
    L1: lambda output, targets: ops.mean(ops.abs(output - targets)),
    BINARY_CROSS_ENTROPY: _binary_cross_entropy,
}
